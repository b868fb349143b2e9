/** Names from the specifications, spelled once. */

/** The grant type of a token exchange request (RFC 8693 §2.1). */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** The grant type by which a client gets a token for itself (RFC 6749 §4.4). */
export const CLIENT_CREDENTIALS = 'client_credentials'

/** The type of every token this service takes and gives at the exchange (RFC 8693 §3). */
export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token'

/** The scopes of the management API; a client has them only if its `scope` metadata names them (RFC 7591 §2). */
export const MANAGEMENT_SCOPES = [
  'subject-tokens:create',
  'subject-tokens:read',
  'subject-tokens:revoke',
] as const
export type ManagementScope = (typeof MANAGEMENT_SCOPES)[number]

/** The initial access token policy that lets a self-registering client have the scopes above and the grant. */
export const IMPERSONATION_POLICY = 'impersonation'

/** Client metadata: the only resources a client may exchange for. */
export const TOKEN_EXCHANGE_RESOURCES = 'token_exchange_resources'

/** Client metadata: the audiences that a client is known by as an API. It exchanges the access tokens it receives. */
export const TOKEN_EXCHANGE_AUDIENCES = 'token_exchange_audiences'

/**
 * Claims that no function of the deployment may return: those that the provider or this plugin sets (RFC 7519 §4.1,
 * RFC 8693 §4, RFC 9068 §2.2, RFC 7800 §3.1, draft-ietf-oauth-status-list §6.1), and those that introspection sets itself (RFC 7662 §2.2). The last two
 * are not claims: the provider would set a prototype with one, and fail to save the token with the other.
 */
export const RESERVED_CLAIMS: ReadonlySet<string> = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'nbf',
  'iat',
  'jti',
  'client_id',
  'scope',
  'act',
  'read_only',
  'may_act',
  'cnf',
  'status',
  'authorization_details',
  'auth_time',
  'acr',
  'amr',
  'sid',
  'active',
  'token_type',
  '__proto__',
  'constructor',
])
