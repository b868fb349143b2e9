/** Which clients a subject token may open: those that the administrator has registered for it. */
import type { Client, ClientMetadata, KoaContextWithOIDC } from 'oidc-provider'
import { TOKEN_EXCHANGE_AUDIENCES } from '../base/constants.ts'
import type { RawMetadata } from '../provider/client-metadata.ts'
import {
  assertAsStrong,
  assertWithin,
  invalidClientMetadata,
  metadataBefore,
} from '../provider/client-registration.ts'

/** Client metadata: whether a subject token may open this client, and where its sign-in starts. */
const IMPERSONATION_SESSIONS = 'impersonation_sessions'

/** Client metadata: sessions may open a client that cannot be told of their end (OpenID Connect Back-Channel Logout 1.0). */
const IMPERSONATION_SESSIONS_UNENDED = 'impersonation_sessions_unended'

/** Client metadata: the application refuses, while a session is read-only, what changes something. */
const IMPERSONATION_READ_ONLY = 'impersonation_read_only'

/** The client of the provider by which engineers sign in at the door of sessions. It gets no token. */
export const DOOR_CLIENT = 'impersonation-door'

/** The metadata of a registered client. */
export type OpenClient = Pick<Client, 'clientId'> & Partial<Client>

/** The metadata that a client registers. */
export const OPT_IN = [
  IMPERSONATION_SESSIONS,
  IMPERSONATION_SESSIONS_UNENDED,
  IMPERSONATION_READ_ONLY,
] as const

/**
 * The metadata is raw: no member has been checked for its type yet. `ctx` is there for clients that register themselves.
 *
 * @throws {errors.InvalidClientMetadata} whose text the sender of a registration reads.
 */
export function validateOptIn(ctx: KoaContextWithOIDC | undefined, metadata: RawMetadata): void {
  if (ctx) assertGiven(ctx, metadata)
  const flag = [IMPERSONATION_SESSIONS_UNENDED, IMPERSONATION_READ_ONLY].find(
    (name) => metadata[name] !== undefined && typeof metadata[name] !== 'boolean',
  )
  if (flag) throw invalidClientMetadata(`${flag} must be a boolean`)
  if (metadata[IMPERSONATION_SESSIONS] === undefined) return
  const [rule] = RULES.filter(([, holds]) => !holds(metadata)).map(([text]) => text)
  if (rule !== undefined) throw invalidClientMetadata(`${IMPERSONATION_SESSIONS} ${rule}`)
}

/** Only an administrator gives it, and takes it: an update repeats what the client has. */
function assertGiven(ctx: KoaContextWithOIDC, metadata: RawMetadata): void {
  const held = metadataBefore(ctx)
  if (!held) return
  if (held[IMPERSONATION_SESSIONS] !== undefined) assertOpenAsBefore(metadata, held)
  const changed = OPT_IN.find((name) => metadata[name] !== held[name])
  if (!changed) return
  throw invalidClientMetadata(
    held[changed] === undefined
      ? `${changed} is not for self-registered clients`
      : `${changed} may not change`,
  )
}

/** The name that engineers see, where they are sent, who is told of the end, by which keys and subjects: the administrator's. */
const KEPT_WHILE_OPEN = [
  'client_name',
  'initiate_login_uri',
  'backchannel_logout_uri',
  'jwks_uri',
  'sector_identifier_uri',
]
const NARROWED_WHILE_OPEN = ['redirect_uris', 'post_logout_redirect_uris']

/** The members that open it stay, too, or one update could close it, and the next change all of this. */
function assertOpenAsBefore(wanted: RawMetadata, held: RawMetadata): void {
  assertAsStrong(wanted, held)
  const changed = KEPT_WHILE_OPEN.find((member) => wanted[member] !== held[member])
  if (changed) throw invalidClientMetadata(`${changed} may not change`)
  for (const member of NARROWED_WHILE_OPEN)
    assertWithin(member, addressesIn(wanted[member]), addressesIn(held[member]))
}

const addressesIn = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

const holds = (list: unknown, name: string): boolean => Array.isArray(list) && list.includes(name)

const RULES: readonly (readonly [text: string, (metadata: RawMetadata) => boolean])[] = [
  [
    'must be true or an https URL',
    ({ [IMPERSONATION_SESSIONS]: start }) => start === true || isAddress(start),
  ],
  [
    'needs initiate_login_uri, or the address of a sign-in in its place',
    ({ [IMPERSONATION_SESSIONS]: start, initiate_login_uri: uri }) =>
      start !== true || (typeof uri === 'string' && uri !== ''),
  ],
  ['needs the grant type authorization_code', ({ grant_types }) => holds(grant_types, 'authorization_code')],
  ['needs the response type code', ({ response_types }) => holds(response_types, 'code')],
  ['is not for native applications', ({ application_type }) => application_type !== 'native'],
  [
    `is not for clients with ${TOKEN_EXCHANGE_AUDIENCES}`,
    ({ [TOKEN_EXCHANGE_AUDIENCES]: audiences }) => audiences === undefined,
  ],
  [
    'needs backchannel_logout_session_required: without it, a logout token ends every session of the user',
    ({ backchannel_logout_uri: uri, backchannel_logout_session_required: required }) =>
      uri === undefined || required === true,
  ],
  [
    `needs backchannel_logout_uri, or ${IMPERSONATION_SESSIONS_UNENDED}`,
    ({ backchannel_logout_uri: uri, [IMPERSONATION_SESSIONS_UNENDED]: unended }) =>
      uri !== undefined || unended === true,
  ],
]

/** An absolute https URL, or http to this machine. */
function isAddress(value: unknown): value is string {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, hostname } = new URL(value)
  if (protocol === 'https:') return true
  return protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}

/** Whether a registered client is open to sessions. One that describes itself in a metadata document never is. */
export function isOpen(client: OpenClient): boolean {
  if (client.clientIdMetadataDocument) return false
  const start = client[IMPERSONATION_SESSIONS]
  return isAddress(start) || (start === true && isAddress(client.initiateLoginUri))
}

/** Whether the application has declared that it obeys a read-only session. */
export const obeysReadOnly = (client: OpenClient): boolean => client[IMPERSONATION_READ_ONLY] === true

/** Whether the application can be told when a session ends. */
export const canBeTold = (client: OpenClient): boolean =>
  client.backchannelLogoutUri !== undefined && client.backchannelLogoutSessionRequired === true

/**
 * Where the application begins a sign-in (OpenID Connect Core §4). Only what the administrator has registered, and a page of
 * the same origin as a parameter: no one can name another place.
 */
export function startOf(client: OpenClient, issuer: string, target: string | undefined): string {
  const registered = client[IMPERSONATION_SESSIONS]
  if (isAddress(registered)) return new URL(registered).href
  const start = new URL(String(client.initiateLoginUri))
  start.searchParams.set('iss', issuer)
  const page = target !== undefined && URL.canParse(target) ? new URL(target) : undefined
  // As it was understood here, because other readers of addresses may find another host in the text that came.
  if (page?.protocol === start.protocol && page.origin === start.origin && !page.username && !page.password)
    start.searchParams.set('target_link_uri', page.href)
  return start.href
}

/** The client by which engineers sign in at the door. It is issued nothing. */
export const doorClient = (door: URL, algorithm: string): ClientMetadata => ({
  client_id: DOOR_CLIENT,
  client_name: 'Impersonation',
  token_endpoint_auth_method: 'none',
  grant_types: [],
  response_types: ['none'],
  redirect_uris: [door.href],
  // Whatever `clientDefaults` say.
  require_pushed_authorization_requests: false,
  require_signed_request_object: false,
  id_token_signed_response_alg: algorithm as NonNullable<ClientMetadata['id_token_signed_response_alg']>,
})
