import type { Seconds } from './time.ts'

/** The options of `createVerifier`. Nothing is fetched before the first request. */
export interface VerifierOptions {
  /**
   * The issuer of the access tokens, exactly as their `iss` has it (RFC 9068 §4): an `https:` URL without query and
   * fragment. `http:` is accepted for loopback hosts (`localhost`, `127.0.0.0/8`, `[::1]`). Metadata and keys are
   * found by it (OpenID Connect Discovery §4). Required.
   */
  readonly issuer: string

  /** The value that the `aud` of the tokens must be or hold: the resource indicator of this API (RFC 9068 §4). Required. */
  readonly audience: string

  /**
   * The client this API introspects opaque tokens as (RFC 7662), by HTTP Basic. Without it opaque tokens are refused.
   * Each request with an opaque token is one request to the provider; nothing is remembered. Default: none.
   */
  readonly introspection?: { readonly clientId: string; readonly clientSecret: string }

  /**
   * The base under which the issuer publishes its status lists, if it does (draft-ietf-oauth-status-list): an http(s)
   * URL without query and fragment. A list is at `/` and a number under it; a token that refers to any other list is
   * refused. `false`: no list is fetched, and a revoked JWT is valid until its `exp`. Either way, any `status` marks an
   * impersonation.
   * Default: the issuer with a trailing `/` and `/oidc` replaced by `/api/status-lists`.
   */
  readonly statusLists?: string | false

  /**
   * Refuse an impersonated JWT that has no `status`, and so cannot be revoked. `TypeError` together with
   * `statusLists: false`. Default `false`.
   */
  readonly requireStatus?: boolean

  /**
   * How far the provider's clock may be from this one when `exp` and `nbf` of tokens are checked, in whole seconds,
   * 0 … 300. It prolongs every token by as much. Default 0.
   */
  readonly clockTolerance?: Seconds

  /**
   * Time limit of each request to the provider, body included, in whole seconds, 1 … 60. After it the verifier throws
   * `ProviderUnavailable`, unless it still has what it asked for. Default 5.
   */
  readonly timeout?: Seconds

  /**
   * Sends the requests to the provider, for a proxy or a certificate authority of your own. It is given `method`,
   * `headers`, `body`, `signal` and `redirect: 'manual'`, and must honour all of them. Default: the global `fetch`.
   */
  readonly fetch?: typeof fetch

  /**
   * Scheme, host and port under which clients reach this API, `https://api.example.com`: what the `htu` of their DPoP
   * proofs is compared with (RFC 9449 §4.3). Set it wherever tokens are DPoP-bound: without it the request's own `Host`
   * is believed, and TLS that ends in front of this process is not seen. Default: the request's own.
   */
  readonly origin?: string

  /**
   * Called after each attempt to fetch a status list, for metrics and alerts: if `age` goes far beyond `ttl`, stops do not
   * arrive here, and from 10 × `ttl` on every token that refers to the list is refused with 503. It is not awaited, and what
   * it throws is ignored. Default: none.
   */
  readonly onStatusList?: (report: StatusListReport) => void | Promise<void>
}

/** The outcome of an attempt to fetch a status list. */
export interface StatusListReport {
  /** The address of the list. There are few: one for 131,072 access tokens. */
  readonly uri: string
  /**
   * How long ago the list that serves now was signed, in seconds, not whole. Absent if none serves: tokens that refer to it are
   * refused with 503.
   */
  readonly age?: Seconds
  /** `failed`: nothing came, or nothing that could be used. */
  readonly outcome: 'fetched' | 'failed'
}

/** The options behind the door: complete, checked and frozen. */
export interface ResolvedOptions
  extends Required<Omit<VerifierOptions, 'introspection' | 'origin' | 'onStatusList'>>,
    Pick<VerifierOptions, 'introspection' | 'origin' | 'onStatusList'> {}

/**
 * Fills in defaults and checks every option.
 *
 * @throws {TypeError} naming the option that is missing, unknown, of a wrong type or out of range.
 */
export function resolveOptions(given: VerifierOptions): ResolvedOptions {
  if (typeof given !== 'object' || given === null)
    throw new TypeError('createVerifier takes an options object')
  const { issuer, audience, introspection, origin, onStatusList } = given
  const { requireStatus = false, clockTolerance = 0, timeout = 5 } = given
  // The global one is looked up at each request: tests and instrumentation replace it.
  const { fetch: send = (...request) => fetch(...request) } = given
  assertIssuer(issuer)
  assert(isText(audience), 'audience', 'a non-empty string')
  const { statusLists = defaultStatusLists(issuer) } = given
  assertStatusLists(statusLists)
  assertIntrospection(introspection)
  assert(typeof requireStatus === 'boolean', 'requireStatus', 'a boolean')
  assert(!(requireStatus && statusLists === false), 'requireStatus', 'false where statusLists is false')
  assertWhole('clockTolerance', clockTolerance, { from: 0, to: 300 })
  assertWhole('timeout', timeout, { from: 1, to: 60 })
  assert(typeof send === 'function', 'fetch', 'a function')
  assert(origin === undefined || isOrigin(origin), 'origin', 'an origin such as https://api.example.com')
  assert(onStatusList === undefined || typeof onStatusList === 'function', 'onStatusList', 'a function')
  const options = {
    ...{ issuer, audience, introspection: introspection && Object.freeze({ ...introspection }), statusLists },
    ...{ requireStatus, clockTolerance, timeout, fetch: send, origin, onStatusList },
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(options, name)) throw new TypeError(`unknown option: ${name}`)
  }
  return Object.freeze(options)
}

/** As the provider derives its `managementResource` from the issuer. */
const defaultStatusLists = (issuer: string): string =>
  `${issuer.replace(/\/$/, '').replace(/\/oidc$/, '')}/api/status-lists`

/** Whether no one on the way can read or change what is sent: TLS, or a connection that stays on this machine. */
export function isProtected(value: unknown): value is string {
  if (!isPlainUrl(value)) return false
  const { protocol, hostname } = new URL(value)
  return protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

/** An http(s) URL without credentials, query, fragment, or a character that a header or a comparison could trip over. */
function isPlainUrl(value: unknown): value is string {
  if (typeof value !== 'string' || !/^https?:\/\/[\w\-.~:/[\]!$&'()*+,;=%]+$/.test(value)) return false
  return URL.canParse(value)
}

const isOrigin = (value: unknown): boolean => isPlainUrl(value) && new URL(value).origin === value

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

function assert(condition: boolean, option: string, expected: string): asserts condition {
  if (!condition) throw new TypeError(`option ${option} must be ${expected}`)
}

function assertIssuer(value: unknown): asserts value is string {
  const expected = 'an https: URL without query and fragment (http: on loopback hosts only)'
  assert(isProtected(value), 'issuer', expected)
}

function assertStatusLists(value: unknown): void {
  const expected = 'an http(s) URL without query and fragment, or false'
  assert(value === false || isPlainUrl(value), 'statusLists', expected)
}

function assertIntrospection(value: unknown): void {
  if (value === undefined) return
  assert(typeof value === 'object' && value !== null, 'introspection', 'an object')
  for (const name of ['clientId', 'clientSecret'])
    assert(isText(Reflect.get(value, name)), `introspection.${name}`, 'a non-empty string')
  const unknown = Object.keys(value).find((name) => name !== 'clientId' && name !== 'clientSecret')
  if (unknown !== undefined) throw new TypeError(`unknown option: introspection.${unknown}`)
}

function assertWhole(option: string, value: unknown, { from, to }: { from: number; to: number }): void {
  const fits = Number.isSafeInteger(value) && Number(value) >= from && Number(value) <= to
  assert(fits, option, `a whole number from ${from} to ${to}`)
}
