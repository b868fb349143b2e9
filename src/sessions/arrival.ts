/**
 * An application arrives with an armed browser: everything that decides whether its authorization request is answered for
 * the user. Nothing is written here.
 */
import type { Context } from 'koa'
import {
  type Account,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type Provider,
} from 'oidc-provider'
import { epochTime, type Seconds } from '../base/clock.ts'
import { TOKEN_EXCHANGE } from '../base/constants.ts'
import { checkOf, reasonOf, refusalOf, sessionRefused, userCannotSignIn } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import type { ImpersonationPolicyRequest } from '../options.ts'
import { subjectIdentifier } from '../provider/access-token.ts'
import { getAccount } from '../provider/accounts.ts'
import { askCustomClaims, recordInClaims } from '../provider/claims-functions.ts'
import { getWithheldScopes } from '../provider/configuration.ts'
import { requestOf } from '../provider/failures.ts'
import { assertPolicyAllows, recordInPolicy } from '../provider/is-allowed.ts'
import type { GrantContext } from '../provider/lib-grants.ts'
import { emitRefusal } from '../provider/notices.ts'
import { findRead } from '../tokens/store.ts'
import { type SubjectToken, stateOf } from '../tokens/subject-token.ts'
import { DOOR_CLIENT, isOpen, obeysReadOnly } from './client-opt-in.ts'
import { armedCookie, findArmed, keptCookie, writeArmedCookie, writeDoorCookie } from './cookies.ts'
import type { SignIn } from './engineer.ts'
import { answerFrom, headlessSession, type Session, sessionName } from './provider.ts'
import { type Attempt, remember, requestState } from './request.ts'
import { isOver, type Sealed, TO_ARRIVE } from './seal.ts'
import type { SessionService } from './service.ts'
import { actedFor } from './session-tokens.ts'

/** The account for which an authorization request of an armed browser is answered; `undefined` for every other request. */
export async function answerFor(
  ctx: KoaContextWithOIDC,
  service: SessionService,
  actorId: string,
): Promise<Account | undefined> {
  const { session, client, route } = ctx.oidc ?? {}
  const state = requestState(ctx)
  if (!session || session.accountId !== actorId || state.attempt) return undefined
  if ((route !== 'authorization' && route !== 'resume') || !client || client.clientId === DOOR_CLIENT)
    return undefined
  // A silent renewal, of another tab perhaps, and a request that shows no one anything.
  if (ctx.oidc.prompts.has('none') || ctx.method === 'HEAD') return undefined
  const { clientId } = client
  return telling(ctx, async () => {
    state.attempt = { actorId, clientId }
    const all = await findArmed(ctx, service, clientId)
    if (all.length === 0) {
      state.attempt = undefined
      return undefined
    }
    const armed = all.find((one) => !isOver(one))
    const others = all.filter((one) => one !== armed)
    // Which one this tab means cannot be known, so they stay until none of them opens anything.
    if (armed && others.some(({ until }) => armed.until - until < TO_ARRIVE))
      throw sessionRefused({ private: 'armed more than once' })
    const takeAway = (name: string) => ({ name, value: null, life: 0 })
    for (const { id } of armed && others.length === 0 ? [armed] : others)
      writeArmedCookie(ctx, service, takeAway(armedCookie(clientId, id)))
    // This may be the tab of one that is over: it does not get the user of the one that is not.
    if (!armed || others.length > 0) throw sessionRefused({ private: 'armed too long ago' })
    writeDoorCookie(ctx, service, takeAway(keptCookie(clientId)))
    return arrive(ctx, service, armed, state.attempt)
  })
}

/**
 * Does a part of the answer to an authorization request, and tells what refuses it. The provider's own events come later: until
 * then another error may take its place, and it emits none about a rejection without an error.
 */
export async function telling<Result>(ctx: KoaContextWithOIDC, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    tellOnce(ctx, error)
    throw error
  }
}

/** One event about an authorization request that was to be answered for the user, by whatever it was refused. */
export function tellOnce(ctx: KoaContextWithOIDC, error: unknown): void {
  const { attempt, isTold } = requestState(ctx)
  if (attempt && !isTold) tellRefused(ctx, ctx.oidc.provider, { ...attempt, error })
}

/** Whether the request is answered for the user. From now on it is, and by no session of the browser. */
async function arrive(
  ctx: KoaContextWithOIDC,
  service: SessionService,
  armed: Sealed,
  attempt: Attempt,
): Promise<Account> {
  try {
    const { actorId } = attempt
    const record = await findRecord(ctx, service, armed, actorId)
    Object.assign(attempt, { record })
    const { client, session } = partiesOf(ctx)
    const { clientId } = client
    const account = await getUser(record, async (id) => service.configuration.findAccount?.(ctx, id))
    const { grant, scope, resources, claims: requested } = grantFor(ctx, service, record)
    Object.assign(attempt, { scope, resources })
    const granted = { ...(scope !== '' && { scope }), resources, claims: requested }
    await assertPolicyAllows(service.options, policyRequest({ record, account, session, granted }))
    const endsAt = epochTime() + service.options.sessions.ttl
    const claims = await askClaims(ctx, service, { record, granted, endsAt })
    const headless = headlessSession(service.provider, record, {
      clientId,
      authTime: session.loginTs,
      state: { claims, signIn: { uid: session.uid, exp: session.exp } satisfies SignIn },
    })
    answerFrom(ctx, headless)
    const arrival = { record, actorId, clientId, grant, session: headless, scope, resources, endsAt }
    remember(ctx, arrival)
    requestState(ctx).arrival = arrival
    return actedFor(ctx, service, account, arrival)
  } catch (error) {
    throw asRefused(error)
  }
}

/** The policy and the claims function deny with a text of their own, which would tell the application why. */
function asRefused(error: unknown): unknown {
  if (!(error instanceof errors.AccessDenied)) return error
  return sessionRefused({ check: checkOf(error) ?? 'isAllowed', private: reasonOf(error) })
}

/** The members that every authorization request has at this point. */
function partiesOf({ oidc: { client, session, params } }: KoaContextWithOIDC) {
  if (!client || !session || !params)
    throw new Error('an authorization request without client, session or parameters')
  return { client, session, params }
}

/** The record, if the cookie and then the request allow an answer for the user: only then it is looked up. */
async function findRecord(
  ctx: KoaContextWithOIDC,
  service: SessionService,
  armed: Sealed,
  actorId: string,
): Promise<SubjectToken> {
  const { client, session, params } = partiesOf(ctx)
  const refused = (reason: string) => sessionRefused({ private: reason })
  if (armed.session !== session.uid) throw refused('armed by another session')
  // The engineer has signed in again since, on the way here or in another tab, and must not arrive in place of the user.
  if (ctx.oidc.route !== 'authorization' || armed.loginTs !== session.loginTs)
    throw refused('signed in after it was armed')
  if (!isOpen(client)) throw refused('the client is not open to sessions')
  if (params.response_type !== 'code') throw refused('the response type is not code')
  if (params.authorization_details !== undefined) throw refused('authorization_details were requested')
  // Without an ID token, the application would get no `sid`, and could not be told of the end.
  if (!ctx.oidc.requestParamScopes.has('openid')) throw refused('openid was not requested')
  if (ctx.oidc.prompts.has('login')) throw userCannotSignIn()
  const record = await findSealed(service, armed)
  const state = stateOf(record, epochTime())
  if (state !== 'active') throw refused(state)
  if (record.clientId !== client.clientId) throw refused('bound to another client')
  if (record.actorId !== actorId) throw refused('bound to another actor')
  if (record.readOnly && !obeysReadOnly(client)) throw refused('read-only, which the client does not obey')
  return record
}

/** The record of the subject token that a browser carries, in any state. */
export async function findSealed(
  { provider, store }: SessionService,
  { id, hash }: Sealed,
): Promise<SubjectToken> {
  const found = await findRead(store, provider.issuer, { id, hash, purpose: 'session' })
  if (!found) throw sessionRefused({ private: 'unknown' })
  return found
}

/** The user's account. That of the engineer must exist, too. */
export async function getUser(
  { userId, actorId = '' }: SubjectToken,
  find: (id: string) => Promise<Account | undefined>,
): Promise<Account> {
  const gone = (who: string) => () =>
    sessionRefused({ check: 'findAccount', private: `${who} is gone or disabled` })
  await getAccount(actorId, find, gone('the account of the actor'))
  return getAccount(userId, find, gone('the user'))
}

/**
 * The requested scopes, within the client's own scope and the ceiling of the record. The others are rejected rather than
 * left out: it was decided, and no one is asked for consent.
 */
function grantFor(
  ctx: KoaContextWithOIDC,
  { provider, configuration }: SessionService,
  record: SubjectToken,
) {
  const {
    client,
    requestParamScopes,
    requestParamOIDCScopes,
    requestParamClaims,
    resourceServers = {},
  } = ctx.oidc
  const grant = new provider.Grant({ accountId: record.userId, clientId: String(client?.clientId) })
  grant.jti = sessionName(record.id)
  const limits = [client?.scope, record.scope].flatMap((names) => (names ? [new Set(names.split(' '))] : []))
  const isGranted = (name: string) =>
    name === 'openid' || (name !== 'offline_access' && limits.every((limit) => limit.has(name)))
  const granted = new Set<string>()
  const divide = (names: Iterable<string>, withheld?: ReadonlySet<string>) => {
    const [yes, no]: [string[], string[]] = [[], []]
    for (const name of names) (isGranted(name) && !withheld?.has(name) ? yes : no).push(name)
    for (const name of yes) granted.add(name)
    return [yes.join(' '), no.join(' ')] as const
  }
  const [added, rejected] = divide(requestParamOIDCScopes)
  grant.addOIDCScope(added)
  grant.rejectOIDCScope(rejected)
  const requested = [...requestParamClaims]
  const listed = record.scope ? claimsOf(configuration, added.split(' ')) : undefined
  const isBrought = (name: string) => isOfSignIn(name) || !listed || listed.has(name)
  grant.addOIDCClaims(requested.filter(isBrought))
  grant.rejectOIDCClaims(requested.filter((name) => !isBrought(name)))
  const claims = requested.filter((name) => isBrought(name) && !isOfSignIn(name))
  for (const [resource, server] of Object.entries(resourceServers)) {
    const named = [...requestParamScopes].filter((name) => server.scopes.has(name))
    const [added, rejected] = divide(named, getWithheldScopes(ctx, record, resource))
    grant.addResourceScope(resource, added)
    grant.rejectResourceScope(resource, rejected)
  }
  return { grant, scope: [...granted].join(' '), resources: Object.keys(resourceServers), claims }
}

/** Claims about the sign-in and not the user. The provider's own cannot be rejected, and ours must not be. */
const isOfSignIn = (name: string): boolean =>
  ['sub', 'sid', 'auth_time', 'acr', 'amr', 'iss', 'act', 'read_only'].includes(name)

/** The claims that these scopes list. */
const claimsOf = ({ claims }: Configuration, scopes: readonly string[]): ReadonlySet<string> =>
  new Set(
    scopes.flatMap((scope) => {
      const listed: unknown = claims?.[scope]
      return Array.isArray(listed) ? listed : Object.keys(Object(listed))
    }),
  )

/** The scopes to grant, and the claims that the parameter `claims` brings. */
type Granted = Pick<ImpersonationPolicyRequest, 'scope'> &
  Required<Pick<ImpersonationPolicyRequest, 'resources' | 'claims'>>

/** The policy's question, at the door and at the arrival. */
export const policyRequest = ({
  record,
  account,
  session: { loginTs, acr },
  granted,
}: {
  readonly record: SubjectToken
  readonly account: Account
  /** The engineer's. */
  readonly session: Pick<Session, 'loginTs' | 'acr'>
  /** Known at the arrival only. */
  readonly granted?: Granted
}) => ({
  stage: 'session' as const,
  userId: record.userId,
  account,
  actor: {
    sub: record.actorId ?? '',
    verified: true,
    ...(loginTs !== undefined && { authTime: loginTs }),
    ...(acr !== undefined && { acr }),
  },
  client: { id: record.clientId ?? '' },
  ...recordInPolicy(record),
  ...granted,
})

async function askClaims(
  ctx: KoaContextWithOIDC,
  { options, settings }: SessionService,
  {
    record,
    granted: { scope, resources },
    endsAt,
  }: {
    readonly record: SubjectToken
    readonly granted: Granted
    readonly endsAt: Seconds
  },
): Promise<JsonObject> {
  const { client } = partiesOf(ctx)
  const { clientId } = client
  const sub = await subjectIdentifier(ctx as GrantContext, settings, { accountId: record.userId, client })
  return askCustomClaims(options, {
    token: {
      sub,
      aud: resources,
      ...(scope !== undefined && { scope }),
      clientId,
      iat: epochTime(),
      exp: endsAt,
    },
    context: {
      grant: { type: TOKEN_EXCHANGE, kind: 'session', ...recordInClaims(record) },
      user: { id: record.userId },
      client: { id: clientId },
      actor: { sub: record.actorId ?? '' },
    },
  })
}

/** Tells of a refusal, at the door or at the arrival. */
export function tellRefused(
  ctx: Pick<Context, 'get'>,
  provider: Provider,
  { error, clientId, actorId, record, scope, resources = [] }: Attempt & { readonly error: unknown },
): void {
  requestState(ctx).isTold = true
  emitRefusal(provider, 'subject_token.refused', {
    stage: 'session',
    ...refusalOf(error),
    clientId,
    id: record?.id,
    userId: record?.userId,
    actor: { sub: actorId },
    resource: resources.length > 0 ? resources : undefined,
    scope: scope === '' ? undefined : scope,
    request: requestOf(ctx),
  })
}
