/**
 * All errors are built here. The caller of the API reads `body`, one fixed text for each kind; the API's own log may keep
 * `reason`. Neither contains any part of a token, but for the `iss` and `aud` that its issuer has signed, and no error has a
 * `cause`: errors of jose carry the claims.
 */

/** The JSON body that an API sends (RFC 6750 §3.1 names the codes). */
export interface ErrorBody {
  readonly error: string
  readonly error_description: string
}

/** Header names are lower-case. */
export type ErrorHeaders = Readonly<Record<string, string>>

/** The members that all errors of this package have. */
export class ResourceServerError extends Error {
  /** Headers to send: a challenge, or when to come back. */
  readonly headers: ErrorHeaders
  /** The JSON body to send. */
  readonly body: ErrorBody
  /** For the API's own log: which rule refused, or what failed. */
  readonly reason: string
  constructor({
    error,
    error_description,
    headers,
    reason,
  }: ErrorBody & Pick<ResourceServerError, 'headers' | 'reason'>) {
    super(error_description)
    this.headers = headers
    this.body = { error, error_description }
    this.reason = reason
  }
}

/**
 * 401: the request carries no access token, or none that is valid here. `headers` holds the challenge
 * (RFC 6750 §3, RFC 9449 §7.1).
 *
 * @example
 * ```ts
 * if (error instanceof Unauthorized) return Response.json(error.body, error)
 * ```
 */
export class Unauthorized extends ResourceServerError {
  override readonly name = 'Unauthorized'
  readonly status = 401
}

/** 403: the token is valid, and not enough for this: a scope is missing, it is read-only, or someone acts for the user. */
export class Forbidden extends ResourceServerError {
  override readonly name = 'Forbidden'
  readonly status = 403
}

/**
 * 503: whether the token is valid cannot be told, because the provider does not respond or responds with something
 * unusable. Never the caller's fault, and never a reason to let the request pass. `reason` says what failed.
 */
export class ProviderUnavailable extends ResourceServerError {
  override readonly name = 'ProviderUnavailable'
  readonly status = 503
  constructor(reason: string) {
    super({
      error: 'temporarily_unavailable',
      error_description: 'access tokens cannot be verified at the moment',
      headers: { 'retry-after': '1' },
      reason,
    })
  }
}

type RefusalCode = 'missing' | 'invalid_token' | 'invalid_dpop_proof'

/** Inside the room: a token or a proof is refused. The verifier turns it into `Unauthorized`. */
export class Refused extends Error {
  readonly code: RefusalCode
  constructor(reason: string, code: RefusalCode = 'invalid_token') {
    super(reason)
    this.code = code
  }
}

/** For `reason` alone. As JSON, so that no value reads as a part of the text. */
export const difference = (expected: string, got: unknown): string =>
  `expected ${JSON.stringify(expected)}, got ${String(JSON.stringify(got)).slice(0, 200)}`

const DESCRIPTIONS: Readonly<Record<RefusalCode, string>> = {
  missing: 'an access token is required',
  invalid_token: 'the access token is invalid',
  invalid_dpop_proof: 'the DPoP proof is invalid',
}

/** How the request authenticated, or would have to. */
export type Scheme = 'Bearer' | 'DPoP'

interface Challenger {
  readonly realm: string
  /** The algorithms of DPoP proofs that are accepted. */
  readonly algs: string
  /** The scheme of the request, where it had one of ours. */
  readonly scheme?: Scheme
}

/** A request without credentials gets a challenge without error code, for each scheme (RFC 6750 §3.1, RFC 9449 §7.2). */
export function unauthorized(
  { code, message: reason }: Refused,
  { realm, algs, scheme = 'Bearer' }: Challenger,
): Unauthorized {
  const error_description = DESCRIPTIONS[code]
  const proofs = `DPoP realm="${realm}", algs="${algs}"`
  if (code === 'missing') {
    const headers = { 'www-authenticate': `Bearer realm="${realm}", ${proofs}` }
    return new Unauthorized({ error: 'invalid_token', error_description, headers, reason })
  }
  const start = scheme === 'DPoP' ? proofs : `Bearer realm="${realm}"`
  const challenge = `${start}, error="${code}", error_description="${error_description}"`
  return new Unauthorized({
    error: code,
    error_description,
    headers: { 'www-authenticate': challenge },
    reason,
  })
}

/** `scope` is one RFC 6749 scope name, which has no character that could end the challenge. */
export const insufficientScope = (scope: string, scheme: Scheme): Forbidden =>
  insufficient(`the access token lacks the scope ${scope}`, scheme, `, scope="${scope}"`)

/** No scope would help: the challenge names none. */
export const readOnlyRefused = (scheme: Scheme): Forbidden => insufficient('the token is read-only', scheme)

function insufficient(error_description: string, scheme: Scheme, more = ''): Forbidden {
  const error = 'insufficient_scope'
  const challenge = `${scheme} error="${error}", error_description="${error_description}"${more}`
  return new Forbidden({
    error,
    error_description,
    headers: { 'www-authenticate': challenge },
    reason: error_description,
  })
}

export function accessDenied(error_description: string): Forbidden {
  return new Forbidden({ error: 'access_denied', error_description, headers: {}, reason: error_description })
}
