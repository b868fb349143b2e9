import type { Client, Configuration, Provider } from 'oidc-provider'
import type { ResolvedOptions } from '../options.ts'
import type { SubjectTokenStore } from '../tokens/store.ts'
import { type AccessTokenVerifier, createAccessTokenVerifier, rememberVerified } from './access-token-jwt.ts'
import { assertSigningKeys, type JwtSigner, jwtSigner, type SigningAlgorithm } from './keys.ts'
import { assertStaticClients } from './registration.ts'
import type { StatusLists } from './status-reference.ts'

/** What the plugin keeps of the deployment's configuration, because the provider does not expose it. */
export interface Settings {
  /** The deployment's own function, before it was wrapped. */
  readonly extraTokenClaims: Configuration['extraTokenClaims']
  readonly pairwiseIdentifier: Configuration['pairwiseIdentifier']
  /** The client certificate of a request, if mTLS is enabled; also for clients that are not bound to one. */
  readonly getCertificate: MutualTls['getCertificate']
  readonly verifyAccessToken: AccessTokenVerifier
  /** The algorithm of the first signing key; management tokens are signed with it. */
  readonly signingAlgorithm: SigningAlgorithm
  /** Signs with the first signing key. */
  readonly signJwt: JwtSigner
  managementResource(provider: Provider): string
}

/** What `attach` brings together, and the rooms work with. */
export interface Service {
  /** Names the issuer, emits the events, and ends access tokens. */
  readonly provider: Provider
  /** Its failures are outages. */
  readonly store: SubjectTokenStore
  readonly options: ResolvedOptions
  readonly settings: Settings
  /** Absent where the deployment has none. */
  readonly statusLists: StatusLists | undefined
  /** Tells this process that a session was stopped. Absent unless the option `sessions` is on. */
  readonly wakeSessions?: () => void
  /** Whether a registered client is open to sessions. Absent unless the option `sessions` is on. */
  readonly isOpenToSessions?: (client: Client) => boolean
}

type MutualTls = NonNullable<NonNullable<Configuration['features']>['mTLS']>

export function readSettings(configuration: Configuration, managementResource: string | undefined): Settings {
  const { keys, signingKey, signingAlgorithm } = assertSigningKeys(configuration.jwks)
  assertStaticClients(configuration)
  const mTLS = configuration.features?.mTLS
  return {
    extraTokenClaims: configuration.extraTokenClaims,
    pairwiseIdentifier: configuration.pairwiseIdentifier,
    getCertificate: mTLS?.enabled ? mTLS.getCertificate : undefined,
    verifyAccessToken: rememberVerified(createAccessTokenVerifier(keys)),
    signingAlgorithm,
    signJwt: jwtSigner(signingKey, signingAlgorithm),
    managementResource: (provider) => managementResource ?? defaultManagementResource(provider.issuer),
  }
}

/** What the option `managementResource` is for an issuer unless it is given. */
export function defaultManagementResource(issuer: string): string {
  return `${issuer.replace(/\/$/, '').replace(/\/oidc$/, '')}/api`
}
