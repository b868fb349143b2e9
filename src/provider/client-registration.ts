/**
 * The rules for what a client may register (protocol.md §2.3). The provider calls its metadata validator for static, stored and
 * dynamic clients, with `ctx` for the last only: those describe themselves, while an administrator wrote the others.
 * The metadata is raw: no member has been checked for its type yet.
 */
import { type ClientMetadata, type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider'
import {
  CLIENT_CREDENTIALS,
  IMPERSONATION_POLICY,
  type ManagementScope,
  TOKEN_EXCHANGE,
  TOKEN_EXCHANGE_AUDIENCES,
  TOKEN_EXCHANGE_RESOURCES,
} from '../base/constants.ts'
import { isAudienceList, isResourceList, managementScopesIn, type RawMetadata } from './client-metadata.ts'

/** The text is public: the sender of the registration reads it (RFC 7591 §3.2.2). */
export const invalidClientMetadata = (text: string) => new errors.InvalidClientMetadata(text)

/** The privileges that a client has by its metadata. */
interface Privileges {
  readonly scopes: readonly ManagementScope[]
  /** The provider's scopes it may ask for; `undefined`: any. */
  readonly requestable: readonly string[] | undefined
  /** Its grants among those that are reserved. */
  readonly grants: readonly string[]
  /** `undefined`: any resource; for a client that has audiences: none. */
  readonly resources: readonly string[] | undefined
  /** The audiences whose access tokens it may exchange; `undefined`: it is no such client. */
  readonly audiences: readonly string[] | undefined
  /** Whether it proves who it is: a client id is no secret. */
  readonly authenticates: boolean
  /** The metadata that binds its access tokens to a key. */
  readonly bindings: readonly string[]
  readonly subjectType: unknown
}

/**
 * `reservedGrants` are those that no client may give itself.
 *
 * @throws {errors.InvalidClientMetadata} when the metadata is malformed, or a self-registered client takes more than
 * it was given.
 */
export function validateClientMetadata(
  ctx: KoaContextWithOIDC | undefined,
  metadata: RawMetadata,
  reservedGrants: readonly string[],
): void {
  const wanted = privilegesOf(metadata, reservedGrants)
  if (!ctx) return
  const before = metadataBefore(ctx)
  if (before) {
    const held = privilegesOf(before, reservedGrants)
    assertNotWidened(wanted, held)
    // Its present privileges decide: one update cannot both give them up and weaken it.
    if (mayExchange(held) || held.scopes.length > 0) assertNotWeakened(wanted, held)
  }
  const [scope] = wanted.authenticates ? [] : managementScopesIn(metadata.scope)
  if (scope) throw invalidClientMetadata(`scope ${scope} is only for clients that authenticate`)
}

/**
 * The metadata of a client that registered itself: only an administrator adds to it, and an update repeats it. `undefined` where
 * an administrator has let a new client have anything.
 */
export function metadataBefore({ oidc }: KoaContextWithOIDC): RawMetadata | undefined {
  if (oidc.route === 'client_update') return oidc.client?.metadata() ?? {}
  return oidc.entities.InitialAccessToken?.policies?.includes(IMPERSONATION_POLICY) ? undefined : {}
}

function assertNotWidened(wanted: Privileges, held: Privileges): void {
  const scope = wanted.scopes.find((name) => !held.scopes.includes(name))
  if (scope) throw invalidClientMetadata(`scope ${scope} is not for self-registered clients`)
  const grant = wanted.grants.find((name) => !held.grants.includes(name))
  if (grant) throw invalidClientMetadata(`grant type ${grant} is not for self-registered clients`)
  // Which scopes a client that impersonates may request is a privilege too.
  if (mayExchange(wanted)) assertWithin('scope', wanted.requestable, held.requestable)
  assertWithin(TOKEN_EXCHANGE_RESOURCES, wanted.resources, held.resources)
  assertAudiences(wanted, held)
}

/** Which tokens of others a client may exchange: an update leaves it at least one, so that it does not change sides. */
function assertAudiences(wanted: Privileges, held: Privileges): void {
  if (held.audiences === undefined) {
    if (wanted.audiences !== undefined)
      throw invalidClientMetadata(`${TOKEN_EXCHANGE_AUDIENCES} is not for self-registered clients`)
    return
  }
  assertWithin(TOKEN_EXCHANGE_AUDIENCES, wanted.audiences, held.audiences)
  if (wanted.audiences?.length === 0 && held.audiences.length > 0)
    throw invalidClientMetadata(`${TOKEN_EXCHANGE_AUDIENCES} may not become empty`)
  // Absent resources allow such a client none.
  if (held.resources === undefined && wanted.resources !== undefined)
    assertWithin(TOKEN_EXCHANGE_RESOURCES, wanted.resources, [])
}

/** An absent list allows everything, so leaving it out widens. */
export function assertWithin(
  member: string,
  wanted: readonly string[] | undefined,
  held: readonly string[] | undefined,
): void {
  if (held === undefined || wanted?.every((name) => held.includes(name))) return
  throw invalidClientMetadata(`${member} may only be narrowed`)
}

function assertNotWeakened(wanted: Privileges, held: Privileges): void {
  if (held.authenticates && !wanted.authenticates) {
    throw invalidClientMetadata('token_endpoint_auth_method may not become none')
  }
  const dropped = held.bindings.find((binding) => !wanted.bindings.includes(binding))
  if (dropped) throw invalidClientMetadata(`${dropped} may not be dropped`)
  if (wanted.subjectType !== held.subjectType) throw invalidClientMetadata('subject_type may not change')
}

/** An update of a client that has another privilege: no wider `scope`, and nothing weaker. */
export function assertAsStrong(metadata: RawMetadata, held: RawMetadata): void {
  const [next, now] = [privilegesOf(metadata, []), privilegesOf(held, [])]
  assertWithin('scope', next.requestable, now.requestable)
  assertNotWeakened(next, now)
}

const mayExchange = ({ grants }: Privileges): boolean => grants.includes(TOKEN_EXCHANGE)

const BINDINGS = ['dpop_bound_access_tokens', 'tls_client_certificate_bound_access_tokens']

function privilegesOf(metadata: RawMetadata, reservedGrants: readonly string[]): Privileges {
  const { scope, grant_types: grantTypes } = metadata
  const { [TOKEN_EXCHANGE_RESOURCES]: resources, [TOKEN_EXCHANGE_AUDIENCES]: audiences } = metadata
  if (resources !== undefined && !isResourceList(resources)) {
    throw invalidClientMetadata(`${TOKEN_EXCHANGE_RESOURCES} must be an array of absolute URIs`)
  }
  if (audiences !== undefined && !isAudienceList(audiences)) {
    throw invalidClientMetadata(`${TOKEN_EXCHANGE_AUDIENCES} must be an array of strings`)
  }
  const requestable = typeof scope === 'string' && scope !== '' ? scope.split(' ') : undefined
  const isPublic = mayBePublic(metadata)
  return {
    scopes: isPublic ? [] : managementScopesIn(scope),
    requestable,
    grants: Array.isArray(grantTypes) ? reservedGrants.filter((grant) => grantTypes.includes(grant)) : [],
    resources,
    audiences,
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

/**
 * The provider validates static clients when they are first used. A deployment should learn of a mistake at start-up.
 *
 * @throws {TypeError} naming the static client that would get management scopes without credentials, or whose resources are
 *   no text.
 */
export function assertStaticClients({ clients = [], clientDefaults = {} }: Configuration): void {
  for (const client of clients) {
    const resources: unknown = client[TOKEN_EXCHANGE_RESOURCES]
    // The provider fails to copy an object, and does not say of which client.
    if (Array.isArray(resources) && resources.some((resource) => resource instanceof URL))
      throw new TypeError(
        `configuration.clients: "${client.client_id}" has a URL object in ${TOKEN_EXCHANGE_RESOURCES}: write its text`,
      )
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
  return client.scope ?? (grantTypes?.includes(CLIENT_CREDENTIALS) ? defaults.scope : undefined)
}
