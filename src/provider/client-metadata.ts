/**
 * What a client may register (CONTRACT §2.3). The provider calls its metadata validator for static, stored and
 * dynamic clients, with `ctx` for the last only: those describe themselves, the others the administrator wrote.
 * The metadata is raw: no member has been checked for its type yet.
 */
import { type ClientMetadata, type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider'
import {
  IMPERSONATION_POLICY,
  MANAGEMENT_SCOPES,
  type ManagementScope,
  TOKEN_EXCHANGE,
  TOKEN_EXCHANGE_RESOURCES,
} from '../constants.ts'
import { isResourceIndicator } from '../resource-indicator.ts'

type RawMetadata = { readonly [member: string]: unknown }

/** Who registers a client reads this text (RFC 7591 §3.2.2). */
const invalidClientMetadata = (text: string) => new errors.InvalidClientMetadata(text)

/** What a client can do with impersonation, as its metadata says. */
interface Privileges {
  readonly scopes: readonly ManagementScope[]
  /** The provider's scopes it may ask for; `undefined`: any. */
  readonly requestable: readonly string[] | undefined
  readonly mayExchange: boolean
  /** `undefined`: any resource. */
  readonly resources: readonly string[] | undefined
  /** Whether it proves who it is: a client id is no secret. */
  readonly authenticates: boolean
  /** What binds its access tokens to a key. */
  readonly bindings: readonly string[]
  readonly subjectType: unknown
}

/** @throws {errors.InvalidClientMetadata} when the metadata is malformed, or a self-registered client takes more than it was given. */
export function validateClientMetadata(ctx: KoaContextWithOIDC | undefined, metadata: RawMetadata): void {
  const wanted = privilegesOf(metadata)
  if (!ctx) return
  if (ctx.oidc.route === 'client_update') {
    const held = privilegesOf(ctx.oidc.client?.metadata() ?? {})
    assertNotWidened(wanted, held)
    assertNotWeakened(wanted, held)
  } else if (!ctx.oidc.entities.InitialAccessToken?.policies?.includes(IMPERSONATION_POLICY)) {
    assertNotWidened(wanted, NO_PRIVILEGES)
  }
  const [scope] = wanted.authenticates ? [] : managementScopesIn(metadata.scope)
  if (scope) throw invalidClientMetadata(`scope ${scope} is only for clients that authenticate`)
}

type Wideable = Pick<Privileges, 'scopes' | 'requestable' | 'mayExchange' | 'resources'>

const NO_PRIVILEGES: Wideable = {
  scopes: [],
  requestable: undefined,
  mayExchange: false,
  resources: undefined,
}

function assertNotWidened(wanted: Wideable, held: Wideable): void {
  const added = wanted.scopes.find((scope) => !held.scopes.includes(scope))
  if (added) throw invalidClientMetadata(`scope ${added} is not for self-registered clients`)
  if (wanted.mayExchange && !held.mayExchange) {
    throw invalidClientMetadata('the token exchange grant is not for self-registered clients')
  }
  // What an impersonator may ask for is his privilege too.
  if (wanted.mayExchange) assertWithin('scope', wanted.requestable, held.requestable)
  assertWithin(TOKEN_EXCHANGE_RESOURCES, wanted.resources, held.resources)
}

/** An absent list allows everything, so leaving it out widens. */
function assertWithin(
  member: string,
  wanted: readonly string[] | undefined,
  held: readonly string[] | undefined,
): void {
  if (held === undefined || wanted?.every((name) => held.includes(name))) return
  throw invalidClientMetadata(`${member} may only be narrowed`)
}

/** What the client has now decides: one update cannot give its privileges up and weaken it. */
function assertNotWeakened(wanted: Privileges, held: Privileges): void {
  if (!held.mayExchange && held.scopes.length === 0) return
  if (held.authenticates && !wanted.authenticates) {
    throw invalidClientMetadata('token_endpoint_auth_method may not become none')
  }
  const dropped = held.bindings.find((binding) => !wanted.bindings.includes(binding))
  if (dropped) throw invalidClientMetadata(`${dropped} may not be dropped`)
  if (wanted.subjectType !== held.subjectType) throw invalidClientMetadata('subject_type may not change')
}

const BINDINGS = ['dpop_bound_access_tokens', 'tls_client_certificate_bound_access_tokens']

function privilegesOf(metadata: RawMetadata): Privileges {
  const { scope, grant_types: grantTypes, [TOKEN_EXCHANGE_RESOURCES]: resources } = metadata
  if (resources !== undefined && !isResourceList(resources)) {
    throw invalidClientMetadata(`${TOKEN_EXCHANGE_RESOURCES} must be an array of absolute URIs`)
  }
  const requestable = typeof scope === 'string' && scope !== '' ? scope.split(' ') : undefined
  const isPublic = mayBePublic(metadata)
  return {
    scopes: isPublic ? [] : managementScopesIn(scope),
    requestable,
    mayExchange: Array.isArray(grantTypes) && grantTypes.includes(TOKEN_EXCHANGE),
    resources,
    authenticates: !isPublic,
    bindings: BINDINGS.filter((binding) => metadata[binding] === true),
    subjectType: metadata.subject_type,
  }
}

/**
 * Whether the client will send no credentials. The provider has filled in its defaults; but where
 * `features.rpMetadataChoices` lets a client list methods, it chooses one only later.
 */
function mayBePublic(metadata: RawMetadata): boolean {
  const { token_endpoint_auth_method: method, token_endpoint_auth_methods_supported: choices } = metadata
  return method === 'none' || (method === undefined && Array.isArray(choices) && choices.includes('none'))
}

function managementScopesIn(scope: unknown): readonly ManagementScope[] {
  const names = typeof scope === 'string' ? scope.split(' ') : []
  return MANAGEMENT_SCOPES.filter((name) => names.includes(name))
}

function isResourceList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isResourceIndicator)
}

/** The resources a registered client is held to; `undefined` when it may ask for any. */
export function registeredResources(client: RawMetadata): readonly string[] | undefined {
  const resources = client[TOKEN_EXCHANGE_RESOURCES]
  if (resources === undefined) return undefined
  // A list that cannot be read allows nothing.
  return isResourceList(resources) ? resources : []
}

interface ManagementClient {
  readonly scope?: unknown
  readonly tokenEndpointAuthMethod?: unknown
  readonly clientIdMetadataDocument?: unknown
}

/** Whether a registered client sends credentials with its requests. */
export const authenticates = (client: ManagementClient): boolean => client.tokenEndpointAuthMethod !== 'none'

/** The management scopes a client is registered for; absent `scope` metadata means none. */
export function registeredManagementScopes(client: ManagementClient): Set<string> {
  // A client that describes itself in a metadata document is self-registered, always.
  if (client.clientIdMetadataDocument || !authenticates(client)) return new Set()
  return new Set(managementScopesIn(client.scope))
}

/**
 * The provider validates static clients when they are first used; a deployment should know before.
 *
 * @throws {TypeError} naming the static client that would get management scopes without credentials.
 */
export function assertStaticClients({ clients = [], clientDefaults = {} }: Configuration): void {
  for (const client of clients) {
    const method = client.token_endpoint_auth_method ?? clientDefaults.token_endpoint_auth_method
    const [scope] = method === 'none' ? managementScopesIn(scopeOf(client, clientDefaults)) : []
    if (!scope) continue
    throw new TypeError(
      `configuration.clients: "${client.client_id}" does not authenticate (token_endpoint_auth_method: none), so its scope cannot name ${scope}`,
    )
  }
}

/** Every client inherits a default scope; it matters for those that could ask for a token with it. */
function scopeOf(client: ClientMetadata, defaults: Partial<ClientMetadata>): string | undefined {
  const grantTypes = client.grant_types ?? defaults.grant_types
  return client.scope ?? (grantTypes?.includes('client_credentials') ? defaults.scope : undefined)
}
