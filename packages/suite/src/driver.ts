/** The driver that you write to run the suite against a server: a few facts, and a few functions that get tokens. */

/**
 * The features that a server claims to support. Checks of a profile run only if the configuration names it.
 *
 * - `management-token`: the subject token is a permission that a management API issued, not an access token
 * - `access-token`: the subject token is an access token of the user
 * - `on-behalf-of`: an API exchanges the access token it received, and becomes the actor itself
 * - `delegation`: an actor token may be sent, and the new token names the actor in `act`
 * - `chains`: an actor token (or, with `on-behalf-of`, a subject token) may name earlier actors
 * - `single-use`: a subject token can be exchanged once
 * - `resource`: the parameter `resource` (RFC 8707) chooses the target
 * - `jwt`, `opaque`: the format of the tokens that are issued; each has a target of its own
 * - `introspection`: RFC 7662; needed to look into opaque tokens
 * - `dpop`, `mtls`: sender-constrained tokens (RFC 9449, RFC 8705)
 * - `metadata`: the server publishes its metadata (RFC 8414)
 */
export const PROFILES = [
  'management-token',
  'access-token',
  'on-behalf-of',
  'delegation',
  'chains',
  'single-use',
  'resource',
  'jwt',
  'opaque',
  'introspection',
  'dpop',
  'mtls',
  'metadata',
] as const

/** The features that a server claims. */
export type Profile = (typeof PROFILES)[number]

/** A client of the server, and how it authenticates. */
export interface Client {
  readonly id: string
  /** Sent by Basic. Absent: a public client, which sends `client_id`. */
  readonly secret?: string
  /** Another method than Basic, such as `private_key_jwt`: what to add to a request. */
  readonly authenticate?: () => Promise<{
    readonly headers?: Readonly<Record<string, string>>
    readonly parameters?: Readonly<Record<string, string>>
  }>
}

/** The purpose of a token. */
export interface Target {
  /** The parameters that choose it, such as `{ resource: 'https://api.example.com' }`. `{}`: the server's default. */
  readonly parameters: Readonly<Record<string, string>>
  /** The `aud` of its tokens. */
  readonly audience: string
  /** Scopes that an exchange with a `valid` subject token may have. At least one; two or more let more checks run. */
  readonly scopes: readonly string[]
}

/**
 * The tokens that checks ask for.
 *
 * - `valid`: usable now. Called often; a token may be returned again unless it is single-use
 * - `expired`: ended at least ten minutes ago
 * - `just-expired`: ended one to five seconds ago
 * - `revoked`: valid until it was revoked
 * - `other-client`: the subject token may be exchanged only by another client
 * - `other-audience`: an access token that is meant for another API than the client
 * - `other-issuer`: valid at another issuer, signed or stored there, such as a second tenant
 * - `other-actor`: the subject token names an actor (`may_act`) who is not the one of `actorToken`
 * - `other-resource`: the subject token is limited to another resource
 * - `narrow`: permits the first scope of the target and no other
 * - `user-gone`: of an account that was deleted or disabled since
 * - `chain`: a valid token that names an earlier actor in `act`
 * - `bound`: a valid token bound to the DPoP key of the request
 * - `id-token`, `refresh-token`: these tokens of the same person
 * - `client`: the access token of a client that acts for itself (client credentials)
 */
export type TokenKind =
  | 'valid'
  | 'expired'
  | 'just-expired'
  | 'revoked'
  | 'other-client'
  | 'other-audience'
  | 'other-issuer'
  | 'other-actor'
  | 'other-resource'
  | 'narrow'
  | 'user-gone'
  | 'chain'
  | 'bound'
  | 'id-token'
  | 'refresh-token'
  | 'client'

/** The token that a check needs. */
export interface TokenRequest {
  readonly kind: TokenKind
  /** The thumbprint (RFC 7638) of the key that a `bound` token must be bound to. */
  readonly jkt?: string
  /** Makes a DPoP proof of that key, for drivers that get the bound token over HTTP. */
  readonly proof?: (method: string, url: string) => Promise<string>
}

/** A token, and of what type it is presented. */
export interface Token {
  readonly token: string
  /** Its type URI. Default: `urn:ietf:params:oauth:token-type:access_token`. */
  readonly type?: string
}

/** A server under test: where it is, and how tokens for it are made. */
export interface Driver {
  readonly issuer: string
  readonly tokenEndpoint: string
  /** The server's public keys, to verify JWTs and to forge them. */
  readonly jwksUri?: string
  /** For the profile `introspection`. */
  readonly introspectionEndpoint?: string
  /** The address of its metadata, for the profile `metadata`. */
  readonly metadata?: string
  readonly clients: {
    /** May exchange, and confidential if the server knows such clients. */
    readonly main: Client
    /** Is registered, and may not exchange. */
    readonly withoutGrant?: Client
    /** May exchange only with a DPoP proof. */
    readonly dpop?: Client
    /** May exchange only with the certificate of `certificate`. */
    readonly mtls?: Client
    /** May introspect. */
    readonly introspecting?: Client
  }
  /** A target for each format that the server issues. At least one. */
  readonly targets: { readonly jwt?: Target; readonly opaque?: Target }
  /** The `sub` that a token of the `valid` subject has for the main client. */
  readonly subject: string
  /** The `sub` in `act` for the `valid` actor token. */
  readonly actor?: string
  /** The `sub` of the earlier actor in a `chain` token. */
  readonly earlierActor?: string
  /** The `sub` in `act` that names the main client, for `on-behalf-of`. Default: its id. */
  readonly clientAsActor?: string
  /** The server accepts no exchange without an actor token. */
  readonly actorRequired?: boolean
  /** Returns `undefined` for what it cannot make: the check is skipped, and the report says so. */
  subjectToken(request: TokenRequest): Promise<Token | string | undefined>
  /** For the profile `delegation`. */
  actorToken?(request: TokenRequest): Promise<Token | string | undefined>
  /** For the profile `mtls`: sends a request with a client certificate, whose SHA-256 thumbprint is `thumbprint`. */
  readonly certificate?: { readonly thumbprint: string; readonly fetch: typeof fetch }
  /** Instead of the global `fetch`, for example to go through a proxy. */
  readonly fetch?: typeof fetch
  close?(): Promise<void>
}

/** One run: what the module that you name on the command line exports as `default`, alone or in an array. */
export interface Configuration {
  /** The heading in the report: the server and its version. */
  readonly name: string
  readonly profiles: readonly Profile[]
  /** Check ids that are known to fail, each with the reason. One that passes is an error. */
  readonly known?: Readonly<Record<string, string>>
  /** Starts or finds the server. */
  open(): Promise<Driver>
}
