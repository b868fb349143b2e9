import type Router from '@koa/router'
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
import { type Host, readHost } from './provider/settings.ts'
import { storeReady } from './subject-tokens/ready.ts'

/** The impersonation service of one provider. */
export interface Impersonation {
  /**
   * Extends the configuration the provider is built from; docs/integrate.md lists what it switches on.
   *
   * @throws {TypeError} when `jwks` holds no signing key, when a static client that does not authenticate names a
   *   management scope, or when called again.
   */
  configure(configuration: Configuration): Configuration

  /**
   * Registers the token exchange grant (RFC 8693).
   *
   * @throws {TypeError} when the provider was not built from what `configure` answered.
   */
  attach(provider: Provider): void

  /**
   * The management API as Koa routes: `POST {prefix}/subject-tokens`. `prefix` (default `/api`, `''` for the
   * root) only mounts; what tokens are bound to is `managementResource`. Paths match case-sensitively and
   * without trailing slash; all others go to `next`.
   *
   * @throws {TypeError} before `attach`; for a prefix that no path can match, or an unknown option.
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
 * Makes the impersonation service: issue single-use subject tokens, exchange them for access tokens.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function createImpersonation(given: ImpersonationOptions): Impersonation {
  const options = resolveOptions(given)
  const store = reportOutage(options.store)
  let host: Host | undefined
  let extended: ExtendedConfiguration | undefined
  let provider: Provider | undefined

  return {
    configure(configuration) {
      if (host) throw new TypeError('configure was called before: one provider needs one impersonation')
      host = readHost(configuration, options.managementResource)
      extended = extendConfiguration(configuration, host)
      return extended.configuration
    },

    attach(given) {
      if (!host || !extended?.configured(given)) {
        throw new TypeError('the provider was not built from impersonation.configure()')
      }
      given.registerGrantType(
        TOKEN_EXCHANGE,
        exchangeHandler({ store, options, host }),
        PARAMETERS,
        REPEATABLE,
      )
      refuseSimultaneousReplays(given)
      provider = given
    },

    router(given) {
      const { prefix } = resolveMounting(given)
      if (!host || !provider) throw new TypeError('attach the provider before its router is made')
      return managementRouter({ provider, store, options, host }, prefix)
    },

    async ready() {
      if (!provider) throw new TypeError('attach the provider before it is asked whether it is ready')
      // Not the store that turns failures into a 503, whose public text holds no reason.
      await storeReady(options.store, provider.issuer)
    },
  }
}
