import type Router from '@koa/router'
import type { Client, Configuration, Provider } from 'oidc-provider'
import type { ResolvedOptions } from '../options.ts'
import type { SubjectTokenStore } from '../tokens/store.ts'
import { assertStaticClients } from './client-registration.ts'
import { createAccessTokenVerifier, rememberVerified } from './jwt-verification.ts'
import { assertSigningKeys, jwtSigner } from './keys.ts'
import type { StatusLists } from './status-claim.ts'

/** Everything that the rooms need: complete once `attach` has returned. */
export interface Service {
  /** Names the issuer, emits the events, and ends access tokens. */
  readonly provider: Provider
  /** Its failures are outages. */
  readonly store: SubjectTokenStore
  readonly options: ResolvedOptions
  /** The deployment's configuration, with its own functions, before they were wrapped. */
  readonly configuration: Configuration
  readonly settings: Settings
  /** Absent where the deployment has none. */
  readonly statusLists: StatusLists | undefined
  readonly sessions: Sessions
  /** Prefixes that the management API is mounted at, in the order of the calls. */
  readonly prefixes: readonly string[]
}

/**
 * Sign-ins as the user (protocol.md §10): all that other rooms know of them. `src/sessions/` builds it. The optional members
 * are there with the option `sessions` only.
 */
export interface Sessions {
  /**
   * The configuration, with every function that has a say in a session.
   *
   * @throws {TypeError} that names what of it is missing, or in the way.
   */
  extend(configuration: Configuration, settings: Settings): Configuration
  /** Adds what ends a session to the provider, and with the option what opens one. */
  attach(service: Service): void
  /** Ends the Session and the Grant of this name. Its application is told later, by a process with the option. */
  end(provider: Provider, name: string): Promise<void>
  /** The door, which is served at exactly these paths. */
  routes?(): { readonly router: Router; readonly paths: readonly string[] }
  /** Whether `routes` was called. */
  readonly isServed?: boolean
  /** Whether a registered client is open to sessions. */
  isOpen?(client: Client): boolean
  /** Whether it has declared that it obeys a read-only session. */
  obeysReadOnly?(client: Client): boolean
  /** How many are open, as was found last; `undefined` while no one knows. */
  countOpen?(): number | undefined
  /** This process ends no session any more. */
  stopWatching?(): void
}

export type Settings = ReturnType<typeof readSettings>

/** The parts of the deployment's configuration that the plugin keeps, because the provider does not expose them. */
export function readSettings(configuration: Configuration, managementResource: string | undefined) {
  const { keys, signingKey, signingAlgorithm } = assertSigningKeys(configuration.jwks)
  assertStaticClients(configuration)
  const mTLS = configuration.features?.mTLS
  return {
    /** The deployment's own function, before it was wrapped. */
    extraTokenClaims: configuration.extraTokenClaims,
    pairwiseIdentifier: configuration.pairwiseIdentifier,
    /** The client certificate of a request, if mTLS is enabled; also for clients that are not bound to one. */
    getCertificate: mTLS?.enabled ? mTLS.getCertificate : undefined,
    verifyAccessToken: rememberVerified(createAccessTokenVerifier(keys)),
    /** The algorithm of the first signing key; management tokens are signed with it. */
    signingAlgorithm,
    /** Signs with the first signing key. */
    signJwt: jwtSigner(signingKey, signingAlgorithm),
    managementResource: (provider: Provider): string =>
      managementResource ?? defaultManagementResource(provider.issuer),
  }
}

/** The default of the option `managementResource` for an issuer. */
export function defaultManagementResource(issuer: string): string {
  return `${issuer.replace(/\/$/, '').replace(/\/oidc$/, '')}/api`
}
