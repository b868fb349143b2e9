/**
 * What a client may register (CONTRACT §2.3). The provider calls its metadata validator for static, stored and
 * dynamic clients, with `ctx` for the last only: those describe themselves, the others the administrator wrote.
 * The metadata is raw: no member has been checked for its type yet.
 */
import type { KoaContextWithOIDC } from 'oidc-provider'
import {
  IMPERSONATION_POLICY,
  MANAGEMENT_SCOPES,
  TOKEN_EXCHANGE,
  TOKEN_EXCHANGE_RESOURCES,
} from '../constants.ts'
import { invalidClientMetadata } from '../refusals.ts'
import { isResourceIndicator } from '../resource-indicator.ts'

type RawMetadata = { readonly [member: string]: unknown }

/** What a client can do with impersonation, as its metadata says. */
interface Privileges {
  readonly scopes: readonly string[]
  /** The provider's scopes it may ask for; `undefined`: any. */
  readonly requestable: readonly string[] | undefined
  readonly mayExchange: boolean
  /** `undefined`: any resource. */
  readonly resources: readonly string[] | undefined
}

/** @throws {errors.InvalidClientMetadata} when the metadata is malformed, or a self-registered client takes more than it was given. */
export function validateClientMetadata(ctx: KoaContextWithOIDC | undefined, metadata: RawMetadata): void {
  const wanted = privilegesOf(metadata)
  if (!ctx) return
  if (ctx.oidc.route === 'client_update') {
    assertNotWidened(wanted, privilegesOf(ctx.oidc.client?.metadata() ?? {}))
  } else if (!ctx.oidc.entities.InitialAccessToken?.policies?.includes(IMPERSONATION_POLICY)) {
    assertNotWidened(wanted, NO_PRIVILEGES)
  }
}

const NO_PRIVILEGES: Privileges = {
  scopes: [],
  requestable: undefined,
  mayExchange: false,
  resources: undefined,
}

function assertNotWidened(wanted: Privileges, held: Privileges): void {
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

function privilegesOf(metadata: RawMetadata): Privileges {
  const { scope, grant_types: grantTypes, [TOKEN_EXCHANGE_RESOURCES]: resources } = metadata
  if (resources !== undefined && !isResourceList(resources)) {
    throw invalidClientMetadata(`${TOKEN_EXCHANGE_RESOURCES} must be an array of absolute URIs`)
  }
  const requestable = typeof scope === 'string' && scope !== '' ? scope.split(' ') : undefined
  return {
    scopes: MANAGEMENT_SCOPES.filter((name) => requestable?.includes(name)),
    requestable,
    mayExchange: Array.isArray(grantTypes) && grantTypes.includes(TOKEN_EXCHANGE),
    resources,
  }
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

/** The management scopes a client is registered for; absent `scope` metadata means none. */
export function registeredManagementScopes(client: {
  readonly scope?: unknown
  readonly clientIdMetadataDocument?: unknown
}): Set<string> {
  // A client that describes itself in a metadata document is self-registered, always.
  if (client.clientIdMetadataDocument || typeof client.scope !== 'string') return new Set()
  const registered = new Set(client.scope.split(' '))
  return new Set(MANAGEMENT_SCOPES.filter((scope) => registered.has(scope)))
}
