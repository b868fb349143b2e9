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
import { readSettings, type Settings } from './provider/settings.ts'

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
}

/**
 * Makes the impersonation service: issue single-use subject tokens, exchange them for access tokens.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function createImpersonation(given: ImpersonationOptions): Impersonation {
  const options = resolveOptions(given)
  const store = reportOutage(options.store)
  let settings: Settings | undefined
  let extended: ExtendedConfiguration | undefined
  let provider: Provider | undefined

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
      given.registerGrantType(
        TOKEN_EXCHANGE,
        exchangeHandler({ store, options, settings }),
        PARAMETERS,
        REPEATABLE,
      )
      refuseSimultaneousReplays(given)
      provider = given
    },

    router(given) {
      const { prefix } = resolveMounting(given)
      if (!settings || !provider) throw new TypeError('call attach(provider) before router()')
      return managementRouter({ provider, store, options, settings }, prefix)
    },
  }
}
