/**
 * What `configure` adds to a deployment's configuration. Everything is wrapped before the provider is built,
 * because that is the only documented way in.
 */
import {
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type Provider,
  type ResourceServer,
} from 'oidc-provider'
import {
  CLIENT_CREDENTIALS,
  IMPERSONATION_POLICY,
  MANAGEMENT_SCOPES,
  TOKEN_EXCHANGE,
  TOKEN_EXCHANGE_AUDIENCES,
  TOKEN_EXCHANGE_RESOURCES,
} from '../base/constants.ts'
import { misconfigured, targetRefused } from '../base/errors.ts'
import { readClaims } from './access-token.ts'
import {
  assertSecretInHeader,
  authenticates,
  mayUseDocument,
  type RawMetadata,
  registeredManagementScopes,
} from './clients.ts'
import { validateClientMetadata } from './registration.ts'
import type { Settings } from './settings.ts'

type Features = NonNullable<Configuration['features']>
type ExtraClientMetadata = NonNullable<Configuration['extraClientMetadata']>
type MetadataDocuments = NonNullable<Features['clientIdMetadataDocument']>
type GetResourceServerInfo = NonNullable<NonNullable<Features['resourceIndicators']>['getResourceServerInfo']>

/** The provider's own default, which any list replaces. */
const DEFAULT_SCOPES = ['openid', 'offline_access']

export type ExtendedConfiguration = ReturnType<typeof extendConfiguration>

/** An extended configuration, and a way to recognise the providers that were built from it. docs/integrate.md lists what is on. */
export function extendConfiguration(given: Configuration, settings: Settings) {
  const probe = new Probe()
  const configured = (provider: Provider): boolean => probe.recognizes(provider)
  return { configuration: extend(given, settings, probe), configured }
}

function extend(configuration: Configuration, settings: Settings, probe: Probe): Configuration {
  const { features = {}, scopes = DEFAULT_SCOPES } = configuration
  const { clientIdMetadataDocument, registration } = features
  // What `configure` switches on must not give anything to clients that register themselves.
  const withheld = features.clientCredentials?.enabled ? [] : [CLIENT_CREDENTIALS]
  return {
    ...configuration,
    scopes: [...new Set([...scopes, ...MANAGEMENT_SCOPES])],
    extraTokenClaims: (ctx, token) => readClaims(token) ?? configuration.extraTokenClaims?.(ctx, token),
    extraClientMetadata: withMembers(
      configuration.extraClientMetadata,
      [TOKEN_EXCHANGE_RESOURCES, TOKEN_EXCHANGE_AUDIENCES],
      (ctx, metadata) => {
        probe.catch(metadata[TOKEN_EXCHANGE_RESOURCES])
        validateClientMetadata(ctx, metadata, [TOKEN_EXCHANGE, ...withheld])
      },
    ),
    features: {
      ...features,
      clientCredentials: { ...features.clientCredentials, enabled: true },
      resourceIndicators: {
        ...features.resourceIndicators,
        enabled: true,
        getResourceServerInfo: guardResources(settings, features.resourceIndicators?.getResourceServerInfo),
      },
      ...(registration && { registration: extendRegistration(registration) }),
      ...(clientIdMetadataDocument && {
        clientIdMetadataDocument: limitDocuments(clientIdMetadataDocument, withheld),
      }),
    },
  }
}

/** A mark on the context of a request whose resources were resolved here. */
const RESOLVED = Symbol('resolved by the configuration of configure()')

/**
 * Adds the management resource, for client_credentials only, and refuses any other resource with its audience.
 */
function guardResources(
  settings: Settings,
  getResourceServerInfo?: GetResourceServerInfo,
): GetResourceServerInfo {
  return async (ctx, resource, client) => {
    Reflect.defineProperty(ctx, RESOLVED, { value: true })
    const managementResource = settings.managementResource(ctx.oidc.provider)
    if (resource === managementResource) {
      if (ctx.oidc.route !== 'token' || ctx.oidc.params?.grant_type !== CLIENT_CREDENTIALS) {
        throw targetRefused({ private: 'the management resource is for client_credentials only' })
      }
      if (!authenticates(client)) throw targetRefused({ private: 'the client does not authenticate' })
      assertSecretInHeader(ctx)
      return managementServer(settings, managementResource, [...registeredManagementScopes(client)])
    }
    if (!getResourceServerInfo) throw new errors.InvalidTarget()
    const info = await getResourceServerInfo(ctx, resource, client)
    if (info?.audience === managementResource) {
      throw misconfigured({
        private: 'getResourceServerInfo gave the audience of the management API to another resource',
      })
    }
    return info
  }
}

function managementServer(settings: Settings, audience: string, scopes: readonly string[]): ResourceServer {
  return {
    audience,
    scope: scopes.join(' '),
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: settings.signingAlgorithm } },
  }
}

/** Refuses a provider whose resources were not resolved through `configure`, before anything is spent. */
export function assertConfigured(ctx: KoaContextWithOIDC): void {
  if (!Reflect.has(ctx, RESOLVED))
    throw misconfigured({ private: 'the provider was not built from impersonation.configure()' })
}

/** Adds members of client metadata, which are validated together: when the provider asks about the first of them. */
export const withMembers = (
  given: ExtraClientMetadata | undefined,
  members: readonly [string, string],
  validate: (ctx: KoaContextWithOIDC | undefined, metadata: RawMetadata) => void,
): ExtraClientMetadata => ({
  ...given,
  // Ours come first, so that what is refused here is refused before the deployment's own validator has an effect.
  properties: [...members, ...(given?.properties ?? [])],
  validator(ctx, key, value, metadata) {
    if (key === members[0]) return validate(ctx, metadata)
    if (key !== members[1]) return given?.validator?.(ctx, key, value, metadata)
  },
})

function extendRegistration<Registration extends NonNullable<Features['registration']>>(
  registration: Registration,
): Registration {
  // oidc-provider refuses policies unless initial access tokens are stored.
  if (registration.initialAccessToken !== true) return registration
  return { ...registration, policies: { [IMPERSONATION_POLICY]: () => {}, ...registration.policies } }
}

/**
 * Takes grants away from clients that describe themselves in a metadata document. The provider calls `allowClient`
 * for these clients only, each time before it uses one, and reads `grantTypes` afterwards.
 */
function limitDocuments(documents: MetadataDocuments, withheld: readonly string[]): MetadataDocuments {
  return {
    ...documents,
    // `?? true` would hide from the provider that the deployment's own returned no boolean.
    allowFetch(ctx, id) {
      if (!mayUseDocument()) return false
      return documents.allowFetch ? documents.allowFetch(ctx, id) : true
    },
    allowClient(ctx, client) {
      if (!mayUseDocument()) return false
      Object.assign(client, { grantTypes: client.grantTypes?.filter((grant) => !withheld.includes(grant)) })
      return documents.allowClient ? documents.allowClient(ctx, client) : true
    },
  }
}

/**
 * oidc-provider keeps no reference to the configuration that it was built from. Whether it was this one shows when it
 * validates metadata with a value that only the validator of this configuration recognizes. Validation starts
 * synchronously, and nothing is stored.
 */
class Probe {
  readonly #value: string[] = []
  #caught = false

  recognizes(provider: Provider): boolean {
    this.#caught = false
    // Always rejects: metadata that holds the probe is never valid.
    provider.Client.validate({ client_id: 'probe', [TOKEN_EXCHANGE_RESOURCES]: this.#value }).catch(() => {})
    return this.#caught
  }

  catch(value: unknown): void {
    if (value !== this.#value) return
    this.#caught = true
    throw new Error('probe')
  }
}
