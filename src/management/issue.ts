import { type Account, errors, type Provider } from 'oidc-provider'
import { assertPolicyAllows } from '../callbacks/policy.ts'
import { epochTime } from '../clock.ts'
import { emit } from '../events.ts'
import { isStorableName, MAX_NAME_LENGTH } from '../plain-json.ts'
import { emitRefusal } from '../provider/notices.ts'
import { checkOf, misconfigured, reasonOf } from '../refusals.ts'
import { mintId, secondOf } from '../subject-tokens/id.ts'
import { hashToken, mintToken, type SubjectTokenText } from '../subject-tokens/secret.ts'
import type { SubjectTokenDraft } from '../subject-tokens/subject-token.ts'
import { userNotFound } from './errors.ts'
import type { IssueRequest } from './issue-request.ts'
import type { Caller, ManagementService } from './service.ts'

interface Issued {
  /** Shown once: only its hash is stored. */
  readonly subjectToken: SubjectTokenText
  readonly record: SubjectTokenDraft
}

/** Issues a subject token for an account that exists, where the policy allows it. */
export async function issueSubjectToken(
  service: ManagementService,
  caller: Caller,
  request: IssueRequest,
): Promise<Issued> {
  const { provider, store } = service
  const account = await caller.findAccount(request.userId)
  if (!account) throw userNotFound()
  assertStorable(caller, account)
  await assertIssuanceAllowed(service, { createdBy: caller.clientId, account, request })

  const { expiresIn, ...constraints } = request
  const id = mintId()
  // The time in the id, by which lists select. It may be a little ahead of the clock, and must not prolong the life.
  const createdAt = secondOf(id)
  const record: SubjectTokenDraft = {
    ...constraints,
    id,
    issuer: provider.issuer,
    purpose: 'exchange',
    // What findAccount returns, not what was asked for: an alias must not become a `sub`.
    userId: account.accountId,
    createdBy: caller.clientId,
    createdAt,
    expiresAt: Math.min(createdAt, epochTime()) + expiresIn,
  }
  const subjectToken = mintToken(id)
  await store.insert({ ...record, tokenHash: hashToken(subjectToken) })
  emitIssued(provider, record)
  return { subjectToken, record }
}

/** What is stored and comes from the deployment. The store would fail over it each time. */
function assertStorable({ clientId }: Caller, { accountId }: Account): void {
  if (!isStorableName(accountId)) {
    throw misconfigured({
      private: `findAccount returned an accountId of more than ${MAX_NAME_LENGTH} characters, or with NUL`,
    })
  }
  if (!isStorableName(clientId)) {
    throw misconfigured({ private: `the id of the client has more than ${MAX_NAME_LENGTH} characters` })
  }
}

interface Issuance {
  readonly createdBy: string
  readonly account: Account
  readonly request: IssueRequest
}

async function assertIssuanceAllowed(
  { provider, options }: ManagementService,
  { createdBy, account, request }: Issuance,
): Promise<void> {
  const { actorId, clientId, context, resource, scope } = request
  try {
    await assertPolicyAllows(options, {
      stage: 'issuance',
      use: 'exchange',
      userId: account.accountId,
      account,
      ...(actorId !== undefined && { actor: { sub: actorId, verified: false } }),
      ...(clientId !== undefined && { client: { id: clientId } }),
      createdBy: { id: createdBy },
      context,
      resource,
      scope,
    })
  } catch (error) {
    if (error instanceof errors.AccessDenied) {
      emitRefusal(provider, 'subject_token.refused', {
        stage: 'issuance',
        error: error.error,
        check: checkOf(error) ?? error.error,
        reason: reasonOf(error),
        clientId: createdBy,
        userId: account.accountId,
        actor: actorId === undefined ? undefined : { sub: actorId },
        resource,
        scope,
      })
    }
    throw error
  }
}

function emitIssued(provider: Provider, token: SubjectTokenDraft): void {
  const { id, userId, createdBy, clientId, actorId, resource, scope, expiresAt } = token
  emit(provider, 'subject_token.issued', {
    id,
    userId,
    createdBy,
    clientId,
    actorId,
    resource,
    scope,
    expiresAt,
  })
}
