/**
 * The option `sessions`: what it adds to the configuration of the provider, and to the provider itself. Each part hangs on a
 * documented function of the configuration; what else it needs is in `provider/sessions.ts`.
 */
import type {
  AccessToken,
  Account,
  AuthorizationCode,
  Configuration,
  KoaContextWithOIDC,
} from 'oidc-provider'
import { DOOR_CLIENT, IMPERSONATION_SESSIONS, IMPERSONATION_SESSIONS_UNENDED } from '../base/constants.ts'
import { sessionRefused } from '../base/errors.ts'
import type { ResolvedSessions } from '../options.ts'
import { askAbout } from '../provider/decided.ts'
import {
  assertSessionFacts,
  gives,
  hideHeadlessSessions,
  rememberSessions,
  showHeadlessGrants,
} from '../provider/sessions.ts'
import type { Service, Settings } from '../provider/settings.ts'
import { type Attempt, arrive, tellRefused } from './arrival.ts'
import { TO_ARRIVE } from './door.ts'
import { askAboutEngineer, followSignOuts } from './engineer.ts'
import { logoutOfSessions } from './logout.ts'
import { recordIdOf } from './names.ts'
import { doorClient, isOpen, validateOptIn } from './opt-in.ts'
import { followGrants, sessionGrantPolicy } from './replay.ts'
import {
  armedCookie,
  findArmed,
  isOver,
  keptCookie,
  keysOf,
  sealOf,
  writeArmedCookie,
  writeDoorCookie,
} from './seal.ts'
import { spend } from './spend.ts'
import {
  accountOfSession,
  assertIssuedAsConfigured,
  assertOfSession,
  claimsOfSession,
  type Kind,
  markStage,
  type SessionService,
  ttlOf,
} from './tokens.ts'
import { watchSessions } from './watch.ts'

type ExtraClientMetadata = NonNullable<Configuration['extraClientMetadata']>

/** @throws {TypeError} that names what of the configuration is missing, or in the way. */
export function assertSessionConfiguration(given: Configuration, { door }: ResolvedSessions): void {
  const { features = {}, cookies = {}, clients = [] } = given
  const needs = (what: string) => new TypeError(`option sessions needs configuration.${what}`)
  if (keysOf(given).length === 0) throw needs('cookies.keys')
  if (!features.backchannelLogout?.enabled) throw needs('features.backchannelLogout')
  if (features.rpInitiatedLogout?.enabled === false) throw needs('features.rpInitiatedLogout')
  if (!given.findAccount) throw needs('findAccount')
  if (!covers(cookies.long?.path ?? '/', door.pathname))
    throw needs('cookies.long.path to cover the door: there the session of the engineer is read')
  if (clients.some(({ client_id: id }) => id === DOOR_CLIENT))
    throw new TypeError(`configuration.clients: "${DOOR_CLIENT}" is the client of the option sessions`)
}

/** Whether a browser sends a cookie of one path to another (RFC 6265 §5.1.4). */
const covers = (path: string, to: string): boolean =>
  path === to || to.startsWith(path.endsWith('/') ? path : `${path}/`)

/** Authorization requests that are answered for the user, or were refused. */
const attempts = new WeakMap<object, Attempt>()

/** The given configuration, with every function that decides about a session. `service` throws before `attach`. */
export function extendForSessions(
  given: Configuration,
  { sessions, settings }: { readonly sessions: ResolvedSessions; readonly settings: Settings },
  service: () => SessionService,
): Configuration {
  const { claims, formats, responseTypes, ttl } = given
  const ends = (kind: Kind) => ({ [kind]: ttlOf(given, kind) })
  return {
    ...given,
    clients: [...(given.clients ?? []), doorClient(DOOR_CLIENT, sessions.door, settings.signingAlgorithm)],
    ...(responseTypes && { responseTypes: [...new Set([...responseTypes, 'none' as const])] }),
    claims: { ...claims, openid: withAct(claims?.openid) },
    ttl: { ...ttl, ...ends('AccessToken'), ...ends('AuthorizationCode'), ...ends('IdToken') },
    formats: {
      ...formats,
      customizers: { ...formats?.customizers, jwt: jwtOfSession(formats?.customizers?.jwt) },
    },
    extraClientMetadata: extendClientMetadata(given.extraClientMetadata),
    revokeGrantPolicy: sessionGrantPolicy(given.revokeGrantPolicy, service),
    ...decisions(given, service),
  }
}

/** The provider shows only claims that a scope lists. */
function withAct(claims: unknown): string[] {
  if (Array.isArray(claims)) return [...new Set([...claims, 'act'])]
  return [...Object.keys(Object(claims ?? { sub: null })), 'act']
}

function extendClientMetadata(given: ExtraClientMetadata | undefined): ExtraClientMetadata {
  return {
    ...given,
    properties: [IMPERSONATION_SESSIONS, IMPERSONATION_SESSIONS_UNENDED, ...(given?.properties ?? [])],
    validator(ctx, key, value, metadata) {
      // Validated with the other, at once.
      if (key === IMPERSONATION_SESSIONS_UNENDED) return
      if (key !== IMPERSONATION_SESSIONS) return given?.validator?.(ctx, key, value, metadata)
      validateOptIn(ctx, metadata)
    },
  }
}

type Customizer = NonNullable<NonNullable<NonNullable<Configuration['formats']>['customizers']>['jwt']>

/** A JWT of a session, before the customizer of the deployment gets a copy of it. */
const jwtOfSession =
  (given: Customizer = () => {}): Customizer =>
  async (ctx, token, jwt) => {
    const recordId = recordOf(token)
    if (recordId !== undefined) {
      assertOfSession(token, jwt, recordId)
      markStage(ctx, 'jwt')
    }
    await given(ctx, token, jwt)
  }

const recordOf = (source: unknown): string | undefined => recordIdOf(Reflect.get(Object(source), 'grantId'))

type Decisions = Required<
  Pick<Configuration, 'findAccount' | 'loadExistingGrant' | 'expiresWithSession' | 'extraTokenClaims'>
> &
  Pick<Configuration, 'issueRefreshToken'>

/** In the order in which the provider asks. */
function decisions(given: Configuration, service: () => SessionService): Decisions {
  return {
    /** The first, once every parameter was checked. */
    async findAccount(ctx, id, source) {
      const recordId = recordOf(source)
      if (recordId !== undefined)
        return accountOfSession(ctx, service(), {
          recordId,
          accountId: id,
          source: source as AuthorizationCode,
        })
      const answered = source ? undefined : await answerFor(ctx, service(), id)
      return answered ?? given.findAccount?.(ctx, id, source)
    },

    async loadExistingGrant(ctx) {
      const grant = attempts.get(ctx)?.arrival?.grant ?? grantOfDoor(ctx)
      if (grant) return grant
      if (given.loadExistingGrant) return given.loadExistingGrant(ctx)
      const { client, result, session, provider } = ctx.oidc
      const grantId = result?.consent?.grantId ?? session?.grantIdFor(client?.clientId ?? '')
      return grantId ? provider.Grant.find(grantId) : undefined
    },

    /** The last, before the code is saved. */
    async expiresWithSession(ctx, source) {
      const attempt = attempts.get(ctx)
      const arrival = attempt?.arrival
      if (arrival) {
        await told(ctx, attempt, async () => {
          await spend(ctx, service(), arrival, source as AuthorizationCode)
          service().opened(arrival.endsAt)
        })
        return true
      }
      return given.expiresWithSession
        ? given.expiresWithSession(ctx, source)
        : !source.scopes.has('offline_access')
    },

    ...(mayRefresh(given) && { issueRefreshToken: neverOfSession(given.issueRefreshToken) }),

    async extraTokenClaims(ctx, token) {
      const recordId = recordOf(token)
      if (recordId === undefined) return given.extraTokenClaims?.(ctx, token)
      const about = { ctx, token: token as AccessToken }
      const own = await askAbout('extraTokenClaims', about, (copy) => given.extraTokenClaims?.(ctx, copy))
      return claimsOfSession(ctx, service(), { recordId, own })
    },
  }
}

/** Where no refresh token can be issued, a function of ours would make the provider offer the grant. */
const mayRefresh = ({ issueRefreshToken, scopes = ['offline_access'] }: Configuration): boolean =>
  issueRefreshToken !== undefined || [...scopes].includes('offline_access')

type RefreshPolicy = NonNullable<Configuration['issueRefreshToken']>

const providersOwn: RefreshPolicy = (_ctx, client, source) =>
  client.grantTypeAllowed('refresh_token') && source.scopes.has('offline_access')

/** A session is not prolonged. */
const neverOfSession =
  (given = providersOwn): RefreshPolicy =>
  (ctx, client, source) =>
    recordOf(source) === undefined && given(ctx, client, source)

/** The account for which an authorization request of an armed browser is answered; `undefined` for every other request. */
async function answerFor(
  ctx: KoaContextWithOIDC,
  service: SessionService,
  accountId: string,
): Promise<Account | undefined> {
  const { session, client, route } = ctx.oidc ?? {}
  if (!session || session.accountId !== accountId || attempts.has(ctx)) return undefined
  if ((route !== 'authorization' && route !== 'resume') || !client || client.clientId === DOOR_CLIENT)
    return undefined
  // A silent renewal, of another tab perhaps, and a request that shows no one anything.
  if (ctx.oidc.prompts.has('none') || ctx.method === 'HEAD') return undefined
  const attempt: Attempt = { actorId: accountId }
  return told(ctx, attempt, async () => {
    const all = await findArmed(ctx, service, client.clientId)
    if (all.length === 0) return undefined
    attempts.set(ctx, attempt)
    const armed = all.find((one) => !isOver(one))
    const others = all.filter((one) => one !== armed)
    // Which one this tab means cannot be known, so they stay until none of them opens anything.
    if (armed && others.some(({ until }) => armed.until - until < TO_ARRIVE))
      throw sessionRefused({ private: 'armed more than once' })
    const takeAway = (name: string) => ({ name, value: null, life: 0 })
    for (const { id } of armed && others.length === 0 ? [armed] : others)
      writeArmedCookie(ctx, service, takeAway(armedCookie(client.clientId, id)))
    // This may be the tab of one that is over: it does not get the user of the one that is not.
    if (!armed || others.length > 0) throw sessionRefused({ private: 'armed too long ago' })
    writeDoorCookie(ctx, service, takeAway(keptCookie(client.clientId)))
    return arrive(ctx, service, { armed, actorId: accountId }, attempt)
  })
}

/** The engineer's sign-in at the door issues nothing: there is nothing to consent to. */
function grantOfDoor({ oidc: { client, account, provider, resourceServers = {} } }: KoaContextWithOIDC) {
  if (client?.clientId !== DOOR_CLIENT || !account) return undefined
  const grant = new provider.Grant({ accountId: account.accountId, clientId: DOOR_CLIENT })
  grant.addOIDCScope('openid')
  // Of a default resource, which may have a scope of that name, too.
  for (const resource of Object.keys(resourceServers)) grant.addResourceScope(resource, 'openid')
  return grant
}

/** Whether the provider can have sessions, and what it needs for them. Every process watches over the sessions of all. */
export function attachSessions(
  rest: Service,
  { sessions, given }: { readonly sessions: ResolvedSessions; readonly given: Configuration },
): SessionService {
  const { provider } = rest
  if (sessions.door.origin !== new URL(provider.issuer).origin)
    throw new TypeError('option sessions.door must be on the origin of the issuer')
  assertSessionFacts(provider)
  const watch = watchSessions(rest, (open) => askAboutEngineer(service, open))
  const service: SessionService = {
    ...rest,
    ...{ sessions, given, seal: sealOf(provider.issuer, given) },
    wakeSessions: () => watch.wake(),
    opened: (endsAt) => watch.opened(endsAt),
    stopWatching: () => watch.stop(),
    isOpenToSessions: isOpen,
  }
  rememberSessions(provider, isHeadless)
  showHeadlessGrants(provider, isHeadless)
  provider.on('authorization.error', (ctx, error) => tellOnce(ctx, error))
  provider.on('server_error', (ctx, error) => tellOnce(ctx, error))
  provider.use(neverACookie)
  provider.use(assertIssuedAsConfigured(service))
  endSessions(service, given)
  return service
}

const isHeadless = (name: string): boolean => recordIdOf(name) !== undefined

/**
 * What ends a session in any process, also in one without the option (protocol.md §10.5): nothing there opens one, or tells
 * its application. `given` is the configuration of the deployment.
 */
export function endSessions(service: Service, { routes, features }: Configuration): void {
  const { provider } = service
  hideHeadlessSessions(provider, isHeadless)
  followGrants(service)
  followSignOuts(service)
  if (features?.rpInitiatedLogout?.enabled !== false)
    provider.use(logoutOfSessions(service, routes?.end_session))
}

/** What must never happen, by whatever release of the provider, ends the session before the browser gets it. */
async function neverACookie(ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> {
  await next()
  const arrival = attempts.get(ctx)?.arrival
  if (!arrival || !gives(ctx, arrival.session)) return
  ctx.remove('Set-Cookie')
  ctx.remove('Location')
  Object.assign(ctx, { status: 500, body: '' })
  await Promise.all([arrival.session.destroy(), arrival.grant.destroy()])
  throw new Error('oidc-provider would have given the session to the browser')
}

async function told<Result>(ctx: KoaContextWithOIDC, attempt: Attempt, work: () => Promise<Result>) {
  try {
    return await work()
  } catch (error) {
    tellOnce(ctx, error, attempt)
    throw error
  }
}

/** One event about an authorization request that was to be answered for the user, by whatever it was refused. */
function tellOnce(ctx: KoaContextWithOIDC, error: unknown, attempt = attempts.get(ctx)): void {
  if (!attempt || attempt.isTold) return
  attempt.isTold = true
  const { provider, client } = ctx.oidc
  tellRefused(ctx, { provider }, { ...attempt, error, clientId: client?.clientId ?? '' })
}
