/** Clients: how they are found, how they authenticate, and what their registered metadata says of impersonation. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Client, errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider'
import {
  MANAGEMENT_SCOPES,
  type ManagementScope,
  TOKEN_EXCHANGE,
  TOKEN_EXCHANGE_AUDIENCES,
  TOKEN_EXCHANGE_RESOURCES,
} from '../base/constants.ts'
import { secretInBody } from '../base/errors.ts'
import { isResourceIndicator, isStorableName } from '../base/json.ts'

/**
 * The client that is registered under this id. One whose metadata is no longer valid, or whose metadata document
 * cannot be fetched, counts as not registered; the provider would fail the request with an error about it.
 */
export async function findClient(provider: Provider, clientId: string): Promise<Client | undefined> {
  try {
    return await provider.Client.find(clientId)
  } catch (error) {
    if (isOfClient(error)) return undefined
    throw error
  }
}

/** The mark of a look-up in which no metadata document may describe the client. */
const withoutDocuments = new AsyncLocalStorage<true>()

/** Runs a look-up of clients that fetches no metadata document, and uses none. */
export const withoutDocument = <Result>(find: () => Promise<Result>): Promise<Result> =>
  withoutDocuments.run(true, find)

/** The client, unless only its metadata document could describe it: none is fetched. */
export const findRegisteredClient = (provider: Provider, clientId: string): Promise<Client | undefined> =>
  withoutDocument(() => findClient(provider, clientId))

/** Whether this look-up may use metadata documents. The provider asks before it fetches one, and before it uses one. */
export const mayUseDocument = (): boolean => !withoutDocuments.getStore()

/** Whether a client is registered under this id, whatever its metadata. */
export async function isClientId(provider: Provider, id: string): Promise<boolean> {
  try {
    const client = await provider.Client.find(id)
    return client !== undefined
  } catch (error) {
    if (isOfClient(error)) return true
    throw error
  }
}

/** Whether it is about the metadata of a client, and not about storage. */
const isOfClient = (error: unknown): boolean => error instanceof errors.OIDCProviderError && error.expose

/**
 * Refuses a client that is registered with `client_secret_basic` and sent its secret in the body. Called once the
 * provider has authenticated the client: it compares the secret wherever it came, but takes it from one place only.
 */
export function assertSecretInHeader({ oidc: { client, params } }: KoaContextWithOIDC): void {
  if (client?.tokenEndpointAuthMethod === 'client_secret_basic' && params?.client_secret) throw secretInBody()
}

/** No member has been checked for its type yet. */
export type RawMetadata = { readonly [member: string]: unknown }

/** The management scopes among those that `scope` metadata names. */
export function managementScopesIn(scope: unknown): readonly ManagementScope[] {
  const names = typeof scope === 'string' ? scope.split(' ') : []
  return MANAGEMENT_SCOPES.filter((name) => names.includes(name))
}

type IsList = (value: unknown) => value is readonly string[]

export const isResourceList: IsList = (value) => Array.isArray(value) && value.every(isResourceIndicator)

export const isAudienceList: IsList = (value) => Array.isArray(value) && value.every(isStorableName)

/** A malformed list allows nothing. */
const readList = (isList: IsList, value: unknown): readonly string[] | undefined =>
  value === undefined || isList(value) ? value : []

/** The resources that a registered client is limited to; `undefined` if it may request any. */
export const registeredResources = ({ [TOKEN_EXCHANGE_RESOURCES]: resources }: RawMetadata) =>
  readList(isResourceList, resources)

/** The audiences that a registered client is known by as an API, `[]` receives no token; `undefined` if it is no API. */
export const registeredAudiences = ({ [TOKEN_EXCHANGE_AUDIENCES]: audiences }: RawMetadata) =>
  readList(isAudienceList, audiences)

/** Whether a registered client may exchange subject tokens. An API exchanges only what it has received. */
export const mayExchange = (client: Client): boolean =>
  (client.grantTypes ?? []).includes(TOKEN_EXCHANGE) && registeredAudiences(client) === undefined

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
