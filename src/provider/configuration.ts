/**
 * The additions of `configure` to a deployment's configuration. Everything is wrapped before the provider is built,
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
import { misconfigured, readOnlyNotObeyed, targetRefused } from '../base/errors.ts'
import type { SubjectToken } from '../tokens/subject-token.ts'
import { readClaims } from './access-token.ts'
import {
  assertSecretInHeader,
  authenticates,
  mayUseDocument,
  type RawMetadata,
  registeredManagementScopes,
} from './client-metadata.ts'
import { validateClientMetadata } from './client-registration.ts'
import type { Settings } from './settings.ts'

declare module 'oidc-provider' {
  /** The members of `getResourceServerInfo`'s result about read-only tokens: a resource with neither gets none. */
  interface ResourceServer {
    /** Its API refuses a read-only token where the request changes something. */
    readonly readOnly?: boolean | undefined
    /** Names of its `scope` that no read-only token is granted. */
    readonly writeScopes?: readonly string[] | undefined
  }
}

type Features = NonNullable<Configuration['features']>
type ExtraClientMetadata = NonNullable<Configuration['extraClientMetadata']>
type MetadataDocuments = NonNullable<Features['clientIdMetadataDocument']>
type GetResourceServerInfo = NonNullable<NonNullable<Features['resourceIndicators']>['getResourceServerInfo']>

/** The provider's own default, which any list replaces. */
const DEFAULT_SCOPES = ['openid', 'offline_access']

/** `probe` recognizes the providers that are built from the result. docs/integrate.md lists what is on. */
export function extendConfiguration(
  configuration: Configuration,
  settings: Settings,
  probe: Probe,
): Configuration {
  const { features = {}, scopes = DEFAULT_SCOPES } = configuration
  const { clientIdMetadataDocument, registration } = features
  // Features that `configure` switches on must give nothing to clients that register themselves.
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

/**
 * On the context of a request whose resources were resolved here: the scopes of each that write, where it obeys read-only
 * tokens. The provider's own object of a resource has no place for them.
 */
const RESOLVED = Symbol('resolved by the configuration of configure()')

type Resolved = Map<string, ReadonlySet<string> | undefined>

/**
 * Adds the management resource, for client_credentials only, and refuses any other resource with its audience.
 */
function guardResources(
  settings: Settings,
  getResourceServerInfo?: GetResourceServerInfo,
): GetResourceServerInfo {
  return async (ctx, resource, client) => {
    const resolved: Resolved = Reflect.get(ctx, RESOLVED) ?? new Map()
    Reflect.defineProperty(ctx, RESOLVED, { value: resolved })
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
    if (info) resolved.set(resource, readWriteScopes(info))
    return info
  }
}

/** The scopes that a read-only token is not granted; `undefined` if the resource does not say that it obeys one. */
function readWriteScopes({ readOnly = false, writeScopes = [], scope }: ResourceServer) {
  // An empty setting that was split is a list of one name, and that is empty, too.
  const names = String(scope)
    .split(' ')
    .filter((name) => name !== '')
  if (
    typeof readOnly !== 'boolean' ||
    !Array.isArray(writeScopes) ||
    ![...writeScopes].every((name) => names.includes(name))
  )
    throw misconfigured({
      private:
        'getResourceServerInfo gave a readOnly that is no boolean, or writeScopes that its scope does not name',
    })
  return readOnly || writeScopes.length > 0 ? new Set(writeScopes) : undefined
}

const NONE: ReadonlySet<string> = new Set()

/**
 * The scopes of this resource that nothing which comes of a record is granted.
 *
 * @throws the refusal of a resource that does not obey what is read-only.
 */
export function getWithheldScopes(
  ctx: KoaContextWithOIDC,
  record: Pick<SubjectToken, 'readOnly'> | undefined,
  resource: string,
): ReadonlySet<string> {
  if (!record?.readOnly) return NONE
  const resolved: Resolved | undefined = Reflect.get(ctx, RESOLVED)
  const scopes = resolved?.get(resource)
  if (!scopes) throw readOnlyNotObeyed()
  return scopes
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
  members: readonly [string, ...string[]],
  validate: (ctx: KoaContextWithOIDC | undefined, metadata: RawMetadata) => void,
): ExtraClientMetadata => ({
  ...given,
  // Ours come first, so that what is refused here is refused before the deployment's own validator has an effect.
  properties: [...members, ...(given?.properties ?? [])],
  validator(ctx, key, value, metadata) {
    if (key === members[0]) return validate(ctx, metadata)
    if (!members.includes(key)) return given?.validator?.(ctx, key, value, metadata)
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
export class Probe {
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
