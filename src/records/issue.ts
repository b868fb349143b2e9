import { type Account, errors } from 'oidc-provider'
import { epochTime, type Seconds } from '../base/clock.ts'
import { functionFailed, invalidRequest, misconfigured, notFound, refusalOf } from '../base/errors.ts'
import {
  isPlainJson,
  isPlainObject,
  isResourceIndicator,
  isStorableName,
  type JsonObject,
  MAX_NAME_LENGTH,
} from '../base/json.ts'
import { emit } from '../events.ts'
import { timed, timedLookup } from '../metrics/metrics.ts'
import { findRegisteredClient, mayExchange } from '../provider/client-metadata.ts'
import { assertPolicyAllows, missingContext } from '../provider/is-allowed.ts'
import { emitRefusal } from '../provider/notices.ts'
import { orOutage } from '../provider/outage.ts'
import type { Service } from '../provider/settings.ts'
import { mintId, secondOf } from '../tokens/id.ts'
import { hashToken, mintToken, type SubjectTokenPurpose } from '../tokens/secret.ts'
import type { SubjectTokenDraft } from '../tokens/subject-token.ts'
import type { Caller } from './accounts.ts'
import { assertKnown, mustBe, parseFlag, parseName, required } from './fields.ts'

/** Issues a subject token for an account that exists, where the policy allows it. */
export const issueSubjectToken = timed('issue', issueTo)

async function issueTo(service: Service, caller: Caller, request: IssueRequest) {
  const { provider, store } = service
  // Whatever its class: a RecordError of the deployment would read as a refusal of this API.
  const account = await timedLookup(() => caller.findAccount(request.userId)).catch((cause: unknown) => {
    throw functionFailed({ check: 'findAccount', private: 'failed', cause })
  })
  if (!account) throw notFound({ public: 'user not found' })
  assertStorable(caller, account)
  if (request.use === 'session') assertSomeoneElse(request, account)
  await assertUsableBy(service, request)
  await assertIssuanceAllowed(service, { caller, account, request })

  const { expiresIn, use, ...constraints } = request
  const id = mintId()
  // The time in the id, by which lists select. It may be a little ahead of the clock, and must not prolong the life.
  const createdAt = secondOf(id)
  const record: SubjectTokenDraft = {
    ...constraints,
    id,
    issuer: provider.issuer,
    purpose: use,
    // The id that findAccount returns, not the requested one: an alias must not become a `sub`.
    userId: account.accountId,
    createdBy: caller.id,
    createdAt,
    expiresAt: Math.min(createdAt, epochTime()) + expiresIn,
  }
  const subjectToken = mintToken(id, use)
  await store.insert({ ...record, tokenHash: hashToken(subjectToken) })
  const { userId, createdBy, clientId, actorId, resource, scope, readOnly, expiresAt } = record
  emit(provider, 'subject_token.issued', {
    id,
    use: use === 'session' ? use : undefined,
    userId,
    createdBy,
    clientId,
    actorId,
    resource,
    scope,
    readOnly,
    expiresAt,
    request: caller.request,
  })
  // Shown once: only its hash is stored.
  return { subjectToken, record }
}

/** The values come from the deployment: with a bad one, the store would fail each time. */
function assertStorable({ id }: Caller, { accountId }: Account): void {
  if (!isStorableName(accountId)) {
    throw misconfigured({
      private: `findAccount returned an accountId of more than ${MAX_NAME_LENGTH} characters, or with NUL`,
    })
  }
  if (!isStorableName(id)) {
    throw misconfigured({ private: `the id of the client has more than ${MAX_NAME_LENGTH} characters` })
  }
}

/** A constraint that no client meets would be noticed only at the exchange, where the text says nothing of it. */
async function assertUsableBy(
  { provider, sessions }: Service,
  { clientId, use, readOnly }: IssueRequest,
): Promise<void> {
  if (clientId === undefined) return
  const client = await orOutage(findRegisteredClient(provider, clientId))
  const isUsable = use === 'session' ? sessions.isOpen : mayExchange
  if (!client || !isUsable?.(client)) {
    const is = use === 'session' ? 'is open to sessions' : 'may exchange subject tokens'
    throw mustBe('clientId', `a client that ${is}`)
  }
  if (use === 'session' && readOnly && !sessions.obeysReadOnly?.(client))
    throw invalidRequest({ field: 'readOnly', public: 'readOnly is not obeyed by the client' })
}

async function assertIssuanceAllowed(
  { provider, options }: Service,
  { caller, account, request }: { caller: Caller; account: Account; request: IssueRequest },
): Promise<void> {
  const { id: createdBy } = caller
  const { actorId, clientId, context, resource, scope, readOnly, use } = request
  try {
    await assertPolicyAllows(options, {
      stage: 'issuance',
      use,
      userId: account.accountId,
      account,
      ...(actorId !== undefined && { actor: { sub: actorId, verified: false } }),
      ...(clientId !== undefined && { client: { id: clientId } }),
      createdBy: { id: createdBy },
      context,
      resource,
      scope,
      ...(readOnly && { readOnly }),
    })
  } catch (error) {
    if (error instanceof errors.AccessDenied) {
      emitRefusal(provider, 'subject_token.refused', {
        stage: 'issuance',
        ...refusalOf(error),
        clientId: createdBy,
        userId: account.accountId,
        actor: actorId === undefined ? undefined : { sub: actorId },
        resource,
        scope,
        request: caller.request,
      })
    }
    throw error
  }
}

type IssueRequest = ReturnType<typeof parseIssueRequest>

const FIELDS = [
  ...['userId', 'context', 'clientId', 'actorId', 'resource', 'scope'],
  ...['expiresIn', 'readOnly', 'use'],
]
export const MAX_CONTEXT_BYTES = 8 * 1024
export const MAX_CONTEXT_LEVELS = 16
const MAX_RESOURCES = 8

/** A request for a subject token, each member checked (protocol.md §2.1). */
export function parseIssueRequest(given: Readonly<Record<string, unknown>>, service: Service) {
  const { options } = service
  assertKnown(given, FIELDS)
  const { userId, context, clientId, actorId, resource, scope, expiresIn, readOnly, use } = given
  if (userId === undefined) throw required('userId')
  const request = {
    use: parseUse(use, service),
    userId: parseName('userId', userId),
    context: context === undefined ? {} : parseContext(context),
    ...(clientId !== undefined && { clientId: parseName('clientId', clientId) }),
    ...(actorId !== undefined && { actorId: parseName('actorId', actorId) }),
    ...(resource !== undefined && { resource: parseResource(resource) }),
    ...(scope !== undefined && { scope: parseScope(scope) }),
    // The record keeps what the option is now.
    ...((readOnly === undefined ? options.readOnly : parseFlag('readOnly', readOnly)) && {
      readOnly: true as const,
    }),
    expiresIn:
      expiresIn === undefined ? options.subjectTokenTTL : parseLife(expiresIn, options.maxSubjectTokenTTL),
  }
  if (request.use === 'session') assertSessionForm(request)
  const missing = missingContext(options, request.context)
  if (missing === undefined) return request
  const field = `context.${missing}`
  throw invalidRequest({ field, public: `${field} is required, and must not be blank` })
}

/** `session` is accepted only where the deployment has sessions. */
function parseUse(value: unknown, { sessions }: Service): SubjectTokenPurpose {
  if (value === undefined || value === 'exchange') return 'exchange'
  if (value === 'session' && sessions.isOpen) return 'session'
  throw mustBe('use', sessions.isOpen ? 'exchange or session' : 'exchange')
}

/** One application, and one other person. Its resources are those that the application asks for. */
function assertSessionForm({ userId, clientId, actorId, resource }: Partial<SubjectTokenDraft>): void {
  if (clientId === undefined) throw required('clientId')
  if (actorId === undefined) throw required('actorId')
  if (actorId === userId) throw actsAsSelf()
  if (resource !== undefined)
    throw invalidRequest({ field: 'resource', public: 'resource must not come with use session' })
}

/** Asked again once the account is known, because `userId` may be an alias of the actor's. */
function assertSomeoneElse({ actorId }: IssueRequest, { accountId }: Account): void {
  if (actorId === accountId) throw actsAsSelf()
}

const actsAsSelf = () => invalidRequest({ field: 'actorId', public: 'actorId must not be the user' })

function parseContext(value: unknown): JsonObject {
  if (isContext(value)) {
    const text = JSON.stringify(value)
    // The policy and the store get the copy that was measured: the caller may change its own object meanwhile.
    const copy: unknown = JSON.parse(text)
    if (Buffer.byteLength(text) <= MAX_CONTEXT_BYTES && isContext(copy)) return copy
  }
  throw mustBe(
    'context',
    `a JSON object of at most ${MAX_CONTEXT_BYTES} bytes and ${MAX_CONTEXT_LEVELS} levels`,
  )
}

const isContext = (value: unknown): value is JsonObject =>
  isPlainObject(value) && isPlainJson(value, MAX_CONTEXT_LEVELS)

/** One, or a list of different ones. */
function parseResource(value: unknown): string | readonly string[] {
  const resources: readonly unknown[] = Array.isArray(value) ? value : [value]
  const areDifferent = new Set(resources).size === resources.length
  if (resources.length < 1 || resources.length > MAX_RESOURCES || !areDifferent) throw notAResource()
  const parsed = resources.map((resource) => {
    if (typeof resource !== 'string') throw notAResource()
    if (isResourceIndicator(parseName('resource', resource))) return resource
    throw notAResource()
  })
  return Array.isArray(value) ? parsed : (parsed[0] ?? '')
}

const notAResource = () =>
  mustBe('resource', `an absolute URI without fragment, or a list of 1 to ${MAX_RESOURCES} different ones`)

/** One or more names of RFC 6749 §3.3, in any order. */
function parseScope(value: unknown): string {
  const scope = parseName('scope', value)
  if (!/^[!#-[\]-~]+( [!#-[\]-~]+)*$/.test(scope))
    throw invalidRequest({ field: 'scope', public: 'scope must hold scope names' })
  return [...new Set(scope.split(' '))].join(' ')
}

function parseLife(value: unknown, longest: Seconds): Seconds {
  const fits = Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= longest
  if (fits) return Number(value)
  throw mustBe('expiresIn', `whole seconds from 1 to ${longest}`)
}
