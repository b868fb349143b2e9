import { channel } from 'node:diagnostics_channel'
import Router from '@koa/router'
import type { Configuration, Provider } from 'oidc-provider'
import { onceASecond } from './base/clock.ts'
import { TOKEN_EXCHANGE } from './base/constants.ts'
import { PARAMETERS, REPEATABLE } from './exchange/request.ts'
import { emitEarlyFailures, exchangeHandler } from './exchange/token-exchange.ts'
import { beginMetrics, countFailure } from './metrics/metrics.ts'
import { type ImpersonationOptions, resolveOptions } from './options.ts'
import { extendConfiguration, Probe } from './provider/configuration.ts'
import { assertGrantFunctions, refuseSimultaneousReplays } from './provider/lib-grants.ts'
import { reportOutage } from './provider/outage.ts'
import { keepDecided } from './provider/reserved-claims.ts'
import { readSettings, type Service } from './provider/settings.ts'
import { resolveStatusLists } from './provider/status-claim.ts'
import { type Records, recordsOf } from './records/records.ts'
import { type NodeHandler, routerHandler, servedAsSent } from './router/handler.ts'
import { healthRouter } from './router/health.ts'
import { managementRouter } from './router/management.ts'
import { type Mounting, resolveMounting } from './router/mounting.ts'
import { type PublishedLists, publishLists } from './router/status-lists/lists.ts'
import { statusListRouter } from './router/status-lists/router.ts'
import { createSessions } from './sessions/sessions.ts'
import { storeReady } from './tokens/store.ts'

/** The impersonation service of one provider. Call `configure`, build the provider, call `attach`, then `router`. */
export interface Impersonation {
  /**
   * Returns the configuration to build the provider from: the given one, with client credentials, resource indicators,
   * the management resource and the management scopes added. docs/integrate.md lists all it changes.
   *
   * @throws {TypeError} when `jwks` holds no signing key, when a static client that does not authenticate names a
   *   management scope, when one has a `URL` object for a resource, or when called a second time.
   * @example
   * const provider = new Provider(issuer, impersonation.configure({ adapter, clients, findAccount, jwks }))
   */
  configure(configuration: Configuration): Configuration

  /**
   * Registers the token exchange grant (RFC 8693) with the provider.
   *
   * @throws {TypeError} when the provider was not built from what `configure` returned, when its version lacks a
   *   function that the exchange needs, or when the address of the status lists would follow from a management resource
   *   that is not an http or https URL.
   * @example
   * impersonation.attach(provider)
   */
  attach(provider: Provider): void

  /**
   * Koa routes: the management API at `{prefix}/subject-tokens` and `{prefix}/subject-tokens/{id}`, to issue, list,
   * show and revoke, and the public status lists at `{prefix}/status-lists/{m}`, unless the option `statusList` is
   * `false`; and with the option `sessions` its door, at exactly the path of `door`. `prefix` (default `/api`, `''` for the root) only says where they are mounted; the resource that
   * management tokens must be for is the option `managementResource`. Paths match case-sensitively and without a
   * trailing slash; every other path is passed to `next`. `only` leaves routes out.
   *
   * @throws {TypeError} before `attach`; for a prefix that no path can match, an unknown option, or `only` status lists
   *   where there are none.
   * @example
   * app.use(impersonation.router().routes())
   */
  router(options?: Mounting): Router

  /**
   * The routes for hosts that are not Koa applications: Express, Connect, Fastify with middie, NestJS,
   * `node:http`. Responds to its own paths, also if the host has parsed the body or mounts it at its prefix, and calls
   * `next` for all others; without `next`, they get a 404 in JSON. Cookies, and what a proxy says of the client, are
   * read by the `keys` and `proxy` of the provider, which emits `server_error` for what goes wrong.
   *
   * @throws {TypeError} before `attach`; for a prefix that no path can match, an unknown option, or `only` status lists
   *   where there are none.
   * @example
   * app.use(impersonation.handler())
   * @example
   * createServer(impersonation.handler({ prefix: '/internal' }))
   */
  handler(options?: Mounting): NodeHandler

  /**
   * The operations of the management API, without a request: to issue, list, show, stop and acknowledge from the process of the
   * provider, for pages and jobs of your own. docs/support-tool.md has one.
   *
   * @example
   * const { items } = await impersonation.records.list({ userId, live: true })
   */
  readonly records: Records

  /**
   * Whether impersonation can work: resolves when the store responds and its tables fit this version, and rejects when
   * they do not, or when the store has not responded after 5 s. A store of your own is asked for its `ready()`, or
   * without one for a token that does not exist. Not for the readiness probe of the provider: logins work without it.
   * `router({ only: 'health' })` is a route that says the same to a probe.
   *
   * @example
   * await impersonation.ready() // in a job after the deployment
   *
   * @throws {TypeError} before `attach`.
   * @throws {Error} with the reason, for your log and not for the response.
   */
  ready(): Promise<void>
}

/**
 * Creates the impersonation service of one provider: it issues single-use subject tokens, and exchanges them for access
 * tokens (RFC 8693).
 *
 * @throws {TypeError} that names the option that is missing, wrong or unknown.
 * @example
 * const impersonation = createImpersonation({ store: createSubjectTokenStore(sequelize) })
 * const provider = new Provider(issuer, impersonation.configure(configuration))
 * impersonation.attach(provider)
 * app.use(mount('/oidc', provider))
 * app.use(impersonation.router().routes())
 */
export function createImpersonation(given: ImpersonationOptions): Impersonation {
  const options = resolveOptions(given)
  const store = reportOutage(options.store)
  const sessions = createSessions(options)
  let configured: Pick<Service, 'configuration' | 'settings'> | undefined
  let attached: Service | undefined
  let lists: PublishedLists | undefined
  const prefixes: string[] = []
  const probe = new Probe()

  function attachedBefore(use: string): Service {
    if (!attached) throw new TypeError(`call attach(provider) before ${use}`)
    return attached
  }

  /** The routes that are to be served, for the method of this name. */
  function routes(method: 'router' | 'handler', given: Mounting | undefined) {
    const { prefix, only } = resolveMounting(method, given)
    const service = attachedBefore(`${method}()`)
    const { provider } = service
    if (only === 'status-lists' && !lists)
      throw new TypeError("option only is 'status-lists', but statusList is false: there are none")
    if (only === 'door' && !sessions.routes)
      throw new TypeError("option only is 'door', but sessions are off: there is none")
    const serves = (what: typeof only) => only === undefined || only === what
    const router = new Router()
    if (only === 'health') {
      router.use(healthRouter(provider, prefix, health).routes())
      return { provider, prefix, router, asSent: [] }
    }
    if (serves('management')) {
      prefixes.push(prefix)
      router.use(managementRouter(service, prefix).routes())
    }
    if (lists && serves('status-lists')) router.use(statusListRouter(provider, lists, prefix).routes())
    const door = serves('door') ? sessions.routes?.() : undefined
    if (door) router.use(door.router.routes())
    const asSent = door?.paths ?? []
    return { provider, prefix, router: servedAsSent(router, asSent), asSent }
  }

  const health = onceASecond(() => impersonation.ready())

  const impersonation: Impersonation = {
    configure(configuration) {
      if (configured)
        throw new TypeError('configure() may be called only once; create one impersonation per provider')
      const settings = readSettings(configuration, options.managementResource)
      const given = sessions.extend(keepDecided(configuration), settings)
      const extended = extendConfiguration(given, settings, probe)
      configured = { configuration, settings }
      return extended
    },

    attach(provider) {
      if (!configured || !probe.recognizes(provider)) {
        throw new TypeError('the provider was not built from impersonation.configure()')
      }
      assertGrantFunctions()
      const managementResource = configured.settings.managementResource(provider)
      const statusLists = resolveStatusLists(options.statusList, managementResource)
      const service: Service = { ...configured, provider, store, options, statusLists, sessions, prefixes }
      sessions.attach(service)
      provider.registerGrantType(TOKEN_EXCHANGE, exchangeHandler(service), PARAMETERS, REPEATABLE)
      emitEarlyFailures(provider)
      refuseSimultaneousReplays(provider)
      lists = statusLists && publishLists(service, statusLists)
      attached = service
      beginMetrics(provider, {
        measures: () => options.store.measures?.(),
        newestListAt: () => lists?.newestAt(),
        openSessions: () => sessions.countOpen?.(),
      })
      provider.on('impersonation.failed', countFailure)
      ATTACHED.publish({ issuer: provider.issuer, statusLists: statusLists?.base } satisfies AttachedIssuer)
    },

    router: (given) => routes('router', given).router,

    handler: (given) => routerHandler(routes('handler', given)),

    records: recordsOf(() => attachedBefore('using records')),

    async ready() {
      const { provider } = attachedBefore('ready()')
      // Not the store that turns failures into a 503, whose public text holds no reason.
      await storeReady(options.store, provider.issuer)
    },
  }
  insides.set(impersonation, () => {
    if (!attached) throw new TypeError('call configure() and attach() first')
    return attached
  })
  return impersonation
}

/** One provider of this process. */
export interface AttachedIssuer {
  readonly issuer: string
  /** The address of its status lists. */
  readonly statusLists: string | undefined
}

/** Tells of each provider that is attached, whichever copy of this package does it. */
export const ATTACHED = channel('oidc-provider-impersonation.attached')

/** Written once for each, read by packages of this repository. No member of the object, because a deployment must not rely on it. */
const insides = new WeakMap<Impersonation, () => Service>()

/** The inside of an impersonation. @throws {TypeError} for a copy of what `createImpersonation` returned, and before `attach`. */
export function insideOf(impersonation: Impersonation): Service {
  const inside = insides.get(impersonation)
  if (!inside) {
    throw new TypeError(
      'not what createImpersonation() returned: a copy of it, or of another installation of oidc-provider-impersonation',
    )
  }
  return inside()
}
