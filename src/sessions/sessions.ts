/**
 * The option `sessions`: what it adds to the configuration of the provider, and to the provider itself. Each part hangs on a
 * documented function of the configuration; what else it needs is in `provider.ts`.
 */
import type {
  AccessToken,
  AuthorizationCode,
  ClientMetadata,
  Configuration,
  KoaContextWithOIDC,
} from 'oidc-provider'
import type { ResolvedOptions, ResolvedSessions } from '../options.ts'
import { withMembers } from '../provider/configuration.ts'
import { askAbout } from '../provider/reserved-claims.ts'
import type { Service, Sessions } from '../provider/settings.ts'
import { answerFor, tellOnce } from './arrival.ts'
import { DOOR_CLIENT, doorClient, isOpen, OPT_IN, obeysReadOnly, validateOptIn } from './client-opt-in.ts'
import { followGrants, sessionGrantPolicy } from './code-replay.ts'
import { doorPaths, doorRouter } from './door.ts'
import { askAboutEngineer, followSignOuts } from './engineer.ts'
import { logoutOfSessions } from './logout.ts'
import {
  assertSessionFacts,
  endHeadlessSession,
  hideHeadlessSessions,
  recordIdOf,
  sendsCookie,
  showHeadlessGrants,
} from './provider.ts'
import { type Kind, rememberSessions, requestState } from './request.ts'
import { keysOf, sealOf } from './seal.ts'
import type { SessionService } from './service.ts'
import {
  accountOfSession,
  assertIssuedAsConfigured,
  assertOfSession,
  claimsOfSession,
  ttlOf,
} from './session-tokens.ts'
import { spend } from './spend.ts'
import { watchSessions } from './watch.ts'

/** The part that every deployment has: without the option, sessions that another process has opened end here, too (protocol.md §10.5). */
export function createSessions({ sessions, store: { sessions: known } }: ResolvedOptions): Sessions {
  if (sessions) return openedSessions(sessions)
  let service: Service | undefined
  return {
    extend(given) {
      if (!known) return given
      const policy = sessionGrantPolicy(given.revokeGrantPolicy, () => assertAttached(service))
      return { ...given, revokeGrantPolicy: policy }
    },
    attach(attached) {
      service = attached
      if (known) endSessions(attached)
    },
    end: endHeadlessSession,
  }
}

function assertAttached<Attached>(service: Attached | undefined): Attached {
  if (!service) throw new TypeError('call attach(provider) before the provider serves')
  return service
}

/** The option is on. */
function openedSessions(sessions: ResolvedSessions): Sessions {
  let attached: SessionService | undefined
  let isServed = false
  return {
    isOpen,
    obeysReadOnly,
    get isServed() {
      return isServed
    },

    extend(given, settings) {
      assertSessionConfiguration(given, sessions)
      const door = doorClient(sessions.door, settings.signingAlgorithm)
      return extendForSessions(given, door, () => assertAttached(attached))
    },

    /** Asserts that the provider can have sessions, and adds what they need. Every process watches over the sessions of all. */
    attach(service) {
      const { provider, options, configuration } = service
      if (sessions.door.origin !== new URL(provider.issuer).origin)
        throw new TypeError('option sessions.door must be on the origin of the issuer')
      assertSessionFacts(provider)
      const watch = watchSessions(service, (open) => askAboutEngineer(service, open))
      const seal = sealOf(provider.issuer, configuration)
      attached = { ...service, options: { ...options, sessions }, seal, watch }
      rememberSessions(provider)
      showHeadlessGrants(provider)
      provider.on('authorization.error', tellOnce)
      provider.on('server_error', tellOnce)
      provider.use(neverACookie)
      provider.use(assertIssuedAsConfigured(service))
      endSessions(service)
    },

    /** An end that fails here is tried again before the application is told. */
    end: (provider, name) => endHeadlessSession(provider, name).finally(() => attached?.watch.wake()),

    routes() {
      const service = assertAttached(attached)
      isServed = true
      return { router: doorRouter(service), paths: doorPaths(service) }
    },

    countOpen: () => attached?.watch.countOpen(),
    stopWatching: () => attached?.watch.stop(),
  }
}

/** @throws {TypeError} that names what of the configuration is missing, or in the way. */
function assertSessionConfiguration(given: Configuration, { door }: ResolvedSessions): void {
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

/** The given configuration, with every function that decides about a session. `service` throws before `attach`. */
function extendForSessions(
  given: Configuration,
  door: ClientMetadata,
  service: () => SessionService,
): Configuration {
  const { claims, formats, responseTypes, ttl } = given
  const ends = (kind: Kind) => ({ [kind]: ttlOf(given, kind) })
  return {
    ...given,
    clients: [...(given.clients ?? []), door],
    ...(responseTypes && { responseTypes: [...new Set([...responseTypes, 'none' as const])] }),
    claims: { ...claims, openid: withOurs(claims?.openid) },
    ttl: { ...ttl, ...ends('AccessToken'), ...ends('AuthorizationCode'), ...ends('IdToken') },
    formats: {
      ...formats,
      customizers: { ...formats?.customizers, jwt: jwtOfSession(formats?.customizers?.jwt) },
    },
    extraClientMetadata: withMembers(given.extraClientMetadata, OPT_IN, validateOptIn),
    revokeGrantPolicy: sessionGrantPolicy(given.revokeGrantPolicy, service),
    ...decisions(given, service),
  }
}

/** The provider shows only claims that a scope lists. */
function withOurs(claims: unknown): string[] {
  const listed = Array.isArray(claims) ? claims : Object.keys(Object(claims ?? { sub: null }))
  return [...new Set([...listed, 'act', 'read_only'])]
}

type Customizer = NonNullable<NonNullable<NonNullable<Configuration['formats']>['customizers']>['jwt']>

/** A JWT of a session, before the customizer of the deployment gets a copy of it. */
const jwtOfSession =
  (given: Customizer = () => {}): Customizer =>
  async (ctx, token, jwt) => {
    const recordId = recordOf(token)
    if (recordId !== undefined) {
      assertOfSession(token, jwt, recordId)
      requestState(ctx).stages.add('jwt')
    }
    await given(ctx, token, jwt)
  }

const recordOf = (source: unknown): string | undefined => recordIdOf(Reflect.get(Object(source), 'grantId'))

/** The functions that the provider asks, in its order. */
function decisions(given: Configuration, service: () => SessionService): Configuration {
  return {
    /** The first, once every parameter was checked. */
    async findAccount(ctx, id, source) {
      const recordId = recordOf(source)
      if (recordId !== undefined)
        return accountOfSession(ctx, service(), recordId, { id, source: source as AuthorizationCode })
      const answered = source ? undefined : await answerFor(ctx, service(), id)
      return answered ?? given.findAccount?.(ctx, id, source)
    },

    async loadExistingGrant(ctx) {
      const grant = requestState(ctx).arrival?.grant ?? grantOfDoor(ctx)
      if (grant) return grant
      if (given.loadExistingGrant) return given.loadExistingGrant(ctx)
      const { client, result, session, provider } = ctx.oidc
      const grantId = result?.consent?.grantId ?? session?.grantIdFor(client?.clientId ?? '')
      return grantId ? provider.Grant.find(grantId) : undefined
    },

    /** The last, before the code is saved. */
    async expiresWithSession(ctx, source) {
      const { arrival } = requestState(ctx)
      if (arrival) {
        await spend(ctx, service(), arrival, source as AuthorizationCode)
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
      return claimsOfSession(ctx, service(), { token: about.token, recordId, own })
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

/** The engineer's sign-in at the door issues nothing: there is nothing to consent to. */
function grantOfDoor({ oidc: { client, account, provider, resourceServers = {} } }: KoaContextWithOIDC) {
  if (client?.clientId !== DOOR_CLIENT || !account) return undefined
  const grant = new provider.Grant({ accountId: account.accountId, clientId: DOOR_CLIENT })
  grant.addOIDCScope('openid')
  // A default resource may have a scope of that name, too.
  for (const resource of Object.keys(resourceServers)) grant.addResourceScope(resource, 'openid')
  return grant
}

/** Ends a session in any process, also in one without the option, where nothing opens one or tells its application. */
function endSessions(service: Service): void {
  const { provider, configuration } = service
  const { routes, features } = configuration
  hideHeadlessSessions(provider)
  followGrants(service)
  followSignOuts(service)
  if (features?.rpInitiatedLogout?.enabled !== false)
    provider.use(logoutOfSessions(service, routes?.end_session))
}

/** A cookie that must never be sent, by whatever release of the provider, ends the session before the browser gets it. */
async function neverACookie(ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> {
  await next()
  const { arrival } = requestState(ctx)
  if (!arrival || !sendsCookie(ctx, arrival.session)) return
  ctx.remove('Set-Cookie')
  ctx.remove('Location')
  Object.assign(ctx, { status: 500, body: '' })
  await Promise.all([arrival.session.destroy(), arrival.grant.destroy()])
  throw new Error('oidc-provider would have given the session to the browser')
}
