/**
 * The content of a session's tokens, and whether they are issued at all: the record decides, in each request anew. It is
 * looked up once for a request.
 */
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { decodeJwt } from 'jose'
import {
  type AccessToken,
  type Account,
  type AuthorizationCode,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import { epochTime, type Seconds } from '../base/clock.ts'
import { RETRY_AFTER } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import { subjectIdentifier } from '../provider/access-token.ts'
import { isAccountOf } from '../provider/accounts.ts'
import { getWithheldScopes } from '../provider/configuration.ts'
import { emitFailureAt } from '../provider/failures.ts'
import type { GrantContext } from '../provider/lib-grants.ts'
import { noticeUndone } from '../provider/notices.ts'
import { decide, jsonOf, unreserved } from '../provider/reserved-claims.ts'
import type { Service } from '../provider/settings.ts'
import { statusClaim } from '../provider/status-claim.ts'
import { revokeSubjectToken } from '../records/stop.ts'
import { isLive, isOfSession, isSpent, type SubjectToken } from '../tokens/subject-token.ts'
import { type OpenClient, obeysReadOnly } from './client-opt-in.ts'
import { endOfGone } from './engineer.ts'
import { recordIdOf, sessionName } from './provider.ts'
import { type Kind, remember, requestState, type SessionFacts } from './request.ts'
import type { SessionService } from './service.ts'

function findRecord(ctx: KoaContextWithOIDC, { provider, store }: Service, id: string) {
  const { records } = requestState(ctx)
  const record =
    records.get(id) ?? store.find(provider.issuer, id).catch((thrown: unknown) => fail(ctx, thrown))
  records.set(id, record)
  return record
}

/** Without the record, no one knows. */
function fail(ctx: KoaContextWithOIDC, thrown: unknown): never {
  const { provider, route } = ctx.oidc
  // The provider has redeemed the code by now: a client that sends it again would be taken for someone with a copy.
  if (route !== 'token') ctx.set('Retry-After', String(RETRY_AFTER))
  emitFailureAt({ provider, door: 'session' }, ctx, { status: 503, error: 'temporarily_unavailable', thrown })
  throw thrown
}

/** The session that a Grant belongs to, if it lives. */
async function liveSession(ctx: KoaContextWithOIDC, service: SessionService, id: string) {
  const record = await findRecord(ctx, service, id)
  if (!record || !isSpent(record) || !isOfSession(record) || !isLive(record, epochTime())) return undefined
  const { clientId, actor, accessToken } = record.use
  if (!actor) return undefined
  const facts = { record, actorId: actor.sub, clientId, endsAt: accessToken.expiresAt }
  remember(ctx, facts)
  return facts
}

/** The account of a token of a session; `undefined` when the session has ended, as if there were no such account. */
export async function accountOfSession(
  ctx: KoaContextWithOIDC,
  service: SessionService,
  recordId: string,
  { id, source }: { readonly id: string; readonly source: AuthorizationCode },
): Promise<Account | undefined> {
  const session = await liveSession(ctx, service, recordId)
  if (!session || session.record.userId !== id) return undefined
  const { findAccount } = service.configuration
  const { actorId } = session
  if (!isAccountOf(await findAccount?.(ctx, actorId), actorId)) {
    // A session that fails to end here is found again, once a minute.
    await endOfGone(service, recordId).catch(() => {})
    return undefined
  }
  const account = await findAccount?.(ctx, id, source)
  return isAccountOf(account, id) ? actedFor(ctx, service, account, session) : undefined
}

/**
 * The account, with `act` and `read_only` among its claims. It stays what the deployment made of it in everything else, which may be frozen,
 * and its claims an instance of any class: the provider spreads what it gets.
 */
export function actedFor(
  ctx: KoaContextWithOIDC,
  service: SessionService,
  account: Account,
  facts: SessionFacts,
): Account {
  const { record } = facts
  const claims: Account['claims'] = async (use, scope, requested, rejected) => {
    // Its changes in place have no effect: `sid` is among what is requested, and ours are not rejected.
    const [asked, left] = [structuredClone(requested), [...rejected]]
    const own: Readonly<Record<string, unknown>> = {
      ...Object(await account.claims(use, scope, asked, left)),
    }
    if (!isDeepStrictEqual([asked, left], [requested, rejected]))
      noticeUndone('claims() of an account', ['what is requested and rejected'])
    const ours = { act: await actOf(ctx, service, facts), read_only: record.readOnly === true }
    return { ...unreserved(own), sub: record.userId, ...ours }
  }
  return new Proxy(Object.create(Object.getPrototypeOf(account)), {
    get(_, member) {
      if (member === 'claims') return claims
      // A getter may answer otherwise the next time.
      if (member === 'accountId') return record.userId
      const value: unknown = Reflect.get(account, member, account)
      return typeof value === 'function' ? value.bind(account) : value
    },
    has: (_, member) => Reflect.has(account, member),
  })
}

/** Who acts (RFC 8693 §4.1), by the identifier that the client knows: pairwise like `sub`. */
async function actOf(ctx: KoaContextWithOIDC, { settings }: Service, { actorId }: SessionFacts) {
  const { client } = ctx.oidc
  if (!client) throw new Error('a token of a session without its client')
  return { sub: await subjectIdentifier(ctx as GrantContext, settings, { accountId: actorId, client }) }
}

/**
 * The claims of a session's access token beyond those that the provider writes. It is not issued if the session has ended, or
 * is read-only and the application or the resource no longer obeys that.
 */
export async function claimsOfSession(
  ctx: KoaContextWithOIDC,
  service: SessionService,
  { token, recordId, own }: { token: AccessToken; recordId: string; own: unknown },
): Promise<Record<string, unknown>> {
  const session = await liveSession(ctx, service, recordId)
  if (!session) throw new errors.InvalidGrant('the session has ended')
  assertObeyed(ctx, session.record, token)
  const name = sessionName(recordId)
  const headless = requestState(ctx).sessions.get(name) ?? (await service.provider.Session.findByUid(name))
  requestState(ctx).stages.add('claims')
  return {
    ...unreserved(jsonOf(own)),
    ...(headless?.state?.claims as JsonObject | undefined),
    ...reservedOf(service, session),
    act: await actOf(ctx, service, session),
  }
}

/** What was declared at the arrival may have been withdrawn since. */
function assertObeyed(ctx: KoaContextWithOIDC, record: SubjectToken, token: AccessToken): void {
  if (record.readOnly && !obeysReadOnly(ctx.oidc.client as OpenClient))
    throw new errors.InvalidGrant('read-only, which the client no longer obeys')
  const resource = token.resourceServer?.identifier()
  const withheld = resource && getWithheldScopes(ctx, record, resource)
  if (withheld && token.scope?.split(' ').some((name) => withheld.has(name)))
    throw new errors.InvalidGrant('read-only, and one of the scopes writes now')
}

const reservedOf = ({ statusLists }: Service, { record }: SessionFacts): JsonObject => ({
  ...(statusLists && { status: statusClaim(statusLists, record.statusIndex) }),
  ...(record.readOnly && { read_only: true }),
})

/** A JWT that is about to be signed: who acts stands in it, and its id leads to its record. */
export function assertOfSession(
  token: { jti: string },
  { payload }: { payload: Record<string, unknown> },
  recordId: string,
): void {
  if (payload.act === undefined) throw new Error('a token of a session without act')
  // Random, because a session may have several.
  token.jti = `${recordId}.${randomBytes(16).toString('base64url')}`
  payload.jti = token.jti
}

interface Issued {
  readonly grantId?: string
  readonly resourceServer?: { readonly accessTokenTTL?: number }
  exp?: Seconds
}

/** Whatever the deployment says: the application is told a second time for as long as it may be redeeming the code. */
const LONGEST_CODE: Seconds = 60

/** The provider's own. */
const DEFAULT_TTL: Readonly<Record<Kind, (token: Issued) => Seconds>> = {
  AccessToken: ({ resourceServer }) => resourceServer?.accessTokenTTL || 3600,
  AuthorizationCode: () => 60,
  IdToken: () => 3600,
}

/** The life of a token, which ends with its session if it is of one. */
export function ttlOf(
  { ttl }: Configuration,
  kind: Kind,
): (ctx: KoaContextWithOIDC, token: Issued, client: unknown) => Seconds {
  const own: unknown = ttl?.[kind]
  return (ctx, token, client) => {
    const recordId = recordIdOf(token.grantId)
    // First, because the function is of the deployment.
    if (recordId !== undefined) decide(token as AccessToken)
    const life: Seconds =
      typeof own === 'function'
        ? own(ctx, token, client)
        : typeof own === 'number'
          ? own
          : DEFAULT_TTL[kind](token)
    const facts = ctx && requestState(ctx).facts
    if (facts) requestState(ctx).stages.add(kind)
    if (kind === 'IdToken') return facts ? within(life, facts.endsAt - 1) : life
    if (recordId === undefined) return life
    // Fails closed: no token of a session without its record.
    if (facts?.record.id !== recordId) throw new Error('a token of a session whose record was not read')
    const left = within(kind === 'AuthorizationCode' ? Math.min(life, LONGEST_CODE) : life, facts.endsAt)
    token.exp = epochTime() + left
    return left
  }
}

function within(life: Seconds, endsAt: Seconds): Seconds {
  const left = endsAt - epochTime()
  if (left < 1) throw new errors.InvalidGrant('the session has ended')
  return Math.min(life, left)
}

/**
 * Tokens of a session leave only if all that decides about them was asked. A deployment that replaces what `configure`
 * returned would get tokens that name no one who acts.
 */
export const assertIssuedAsConfigured =
  (service: Service) =>
  async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await next()
    const { route, entities } = ctx.oidc ?? {}
    const id = recordIdOf(entities?.AuthorizationCode?.grantId)
    if (route !== 'token' || ctx.status !== 200 || id === undefined || isAsConfigured(ctx)) return
    Object.assign(ctx, { status: 500, body: '' })
    await revokeSubjectToken(service, id, {
      cause: 'host',
      reason: 'its tokens were not issued as configured',
    })
    throw new Error('tokens of a session need the configuration that impersonation.configure() returned')
  }

function isAsConfigured(ctx: KoaContextWithOIDC): boolean {
  const { id_token: idToken, access_token: accessToken, refresh_token: refreshToken } = Object(ctx.body)
  const { stages } = requestState(ctx)
  const isJwt = String(accessToken).includes('.')
  // An ID token that is encrypted for the client cannot be read here.
  const isReadable = String(idToken).split('.').length === 3
  return (
    refreshToken === undefined &&
    (['IdToken', 'AccessToken', 'claims'] as const).every((stage) => stages.has(stage)) &&
    (!isJwt || stages.has('jwt')) &&
    (!isReadable || hasClaims(idToken))
  )
}

function hasClaims(idToken: string): boolean {
  const { act, read_only: readOnly } = decodeJwt(idToken)
  return act !== undefined && readOnly !== undefined
}
