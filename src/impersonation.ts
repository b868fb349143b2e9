import Router from '@koa/router'
import type { Configuration, Provider } from 'oidc-provider'
import { TOKEN_EXCHANGE } from './constants.ts'
import { exchangeHandler } from './exchange/handler.ts'
import { PARAMETERS, REPEATABLE } from './exchange/request.ts'
import { type Mounting, resolveMounting } from './management/mounting.ts'
import { managementRouter } from './management/router.ts'
import { type ImpersonationOptions, resolveOptions } from './options.ts'
import { reportOutage } from './outage.ts'
import { type ExtendedConfiguration, extendConfiguration } from './provider/configuration.ts'
import { refuseSimultaneousReplays } from './provider/replay-detection.ts'
import { readSettings, type Settings } from './provider/settings.ts'
import { resolveStatusLists, type StatusLists } from './provider/status-reference.ts'
import { statusListRouter } from './status-lists/router.ts'
import { storeReady } from './subject-tokens/ready.ts'

/** The impersonation service of one provider. Call `configure`, build the provider, call `attach`, then `router`. */
export interface Impersonation {
  /**
   * Returns the configuration to build the provider from: the given one, with client credentials, resource indicators,
   * the management resource and the management scopes added. docs/integrate.md lists all it changes.
   *
   * @throws {TypeError} when `jwks` holds no signing key, when a static client that does not authenticate names a
   *   management scope, or when called a second time.
   * @example
   * const provider = new Provider(issuer, impersonation.configure({ adapter, clients, findAccount, jwks }))
   */
  configure(configuration: Configuration): Configuration

  /**
   * Registers the token exchange grant (RFC 8693) with the provider.
   *
   * @throws {TypeError} when the provider was not built from what `configure` returned, or when the address of the
   *   status lists would follow from a management resource that is no http or https URL.
   * @example
   * impersonation.attach(provider)
   */
  attach(provider: Provider): void

  /**
   * Koa routes: the management API at `{prefix}/subject-tokens` and `{prefix}/subject-tokens/{id}`, to issue, list,
   * show and revoke, and the public status lists at `{prefix}/status-lists/{m}`, unless the option `statusList` is
   * `false`. `prefix` (default `/api`, `''` for the root) only says where they are mounted; the resource that
   * management tokens must be for is the option `managementResource`. Paths match case-sensitively and without a
   * trailing slash; every other path is passed to `next`.
   *
   * @throws {TypeError} before `attach`; for a prefix that no path can match, or an unknown option.
   * @example
   * app.use(impersonation.router().routes())
   */
  router(options?: Mounting): Router

  /**
   * For the readiness probe of the host: resolves when the store responds and its tables fit this version, and
   * rejects when they do not, or when the store has not responded after 5 s. A store of your own is asked for its
   * `ready()`, or without one for a token that does not exist.
   *
   * @example
   * app.use(async (ctx, next) => {
   *   if (ctx.path !== '/ready') return next()
   *   ctx.status = await impersonation.ready().then(() => 204, () => 503)
   * })
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
  let settings: Settings | undefined
  let extended: ExtendedConfiguration | undefined
  let provider: Provider | undefined
  let statusLists: StatusLists | undefined

  return {
    configure(configuration) {
      if (settings)
        throw new TypeError('configure() may be called only once; create one impersonation per provider')
      settings = readSettings(configuration, options.managementResource)
      extended = extendConfiguration(configuration, settings)
      return extended.configuration
    },

    attach(given) {
      if (!settings || !extended?.configured(given)) {
        throw new TypeError('the provider was not built from impersonation.configure()')
      }
      statusLists = resolveStatusLists(options.statusList, settings.managementResource(given))
      given.registerGrantType(
        TOKEN_EXCHANGE,
        exchangeHandler({ store, options, settings, statusLists }),
        PARAMETERS,
        REPEATABLE,
      )
      refuseSimultaneousReplays(given)
      provider = given
    },

    router(given) {
      const { prefix } = resolveMounting(given)
      if (!settings || !provider) throw new TypeError('call attach(provider) before router()')
      const routes = [managementRouter({ provider, store, options, settings }, prefix)]
      const { issuer } = provider
      if (statusLists) routes.push(statusListRouter({ issuer, store, settings, statusLists }, prefix))
      return new Router().use(...routes.map((router) => router.routes()))
    },

    async ready() {
      if (!provider) throw new TypeError('call attach(provider) before ready()')
      // Not the store that turns failures into a 503, whose public text holds no reason.
      await storeReady(options.store, provider.issuer)
    },
  }
}
