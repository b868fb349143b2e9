import type { ClientAuth, JWK } from 'oauth4webapi'
import type { Seconds } from './time.ts'

/** The options of `createImpersonationClient`, with exactly one way to authenticate. Nothing is sent before the first call. */
export interface ImpersonationClientOptions {
  /**
   * The provider's issuer, exactly as its metadata has it: an `https:` URL without query and fragment. `http:` is
   * accepted for loopback hosts (`localhost`, `127.0.0.0/8`, `[::1]`), here and in `managementUrl`. Required.
   */
  readonly issuer: string

  /** The id of this client. Required. */
  readonly clientId: string

  /** Authenticates by `client_secret_basic`. */
  readonly clientSecret?: string

  /**
   * Authenticates by `private_key_jwt` (RFC 7523), with this private key as a JWK. Its `alg` is needed for RSA keys; its
   * `kid` is sent, if it has one.
   */
  readonly privateKey?: JWK

  /** Authenticates by a function of oauth4webapi, such as `ClientSecretPost(secret)` or `TlsClientAuth()`. */
  readonly clientAuthentication?: ClientAuth

  /**
   * The provider's option of this name: the resource that management tokens are requested for. Default: the issuer with a
   * trailing `/` and `/oidc` replaced by `/api`.
   */
  readonly managementResource?: string

  /** Where the management API is reached, if under another address than its name. Default: `managementResource`. */
  readonly managementUrl?: string

  /** Time limit of each call, waiting included, in whole seconds, 1 … 60. Default 10. */
  readonly timeout?: Seconds

  /**
   * Sends the requests, for a proxy, client certificates or a certificate authority of your own. It must honour `signal`
   * and `redirect: 'manual'`. Default: the global `fetch`.
   */
  readonly fetch?: typeof fetch
}

/** The options behind the door: complete, checked and frozen. */
export interface ResolvedOptions
  extends Required<Omit<ImpersonationClientOptions, 'clientSecret' | 'privateKey' | 'clientAuthentication'>>,
    Pick<ImpersonationClientOptions, 'clientSecret' | 'privateKey' | 'clientAuthentication'> {}

/**
 * Fills in defaults and checks every option.
 *
 * @throws {TypeError} naming the option that is missing, unknown or wrong, and never its value.
 */
export function resolveOptions(given: ImpersonationClientOptions): ResolvedOptions {
  if (typeof given !== 'object' || given === null)
    throw new TypeError('createImpersonationClient takes an options object')
  const { issuer, clientId, clientSecret, privateKey, clientAuthentication, timeout = 10 } = given
  // The global one is looked up at each request: tests and instrumentation replace it.
  const { fetch: send = (...request) => fetch(...request) } = given
  const protectedUrl = 'an https: URL without query and fragment (http: on loopback hosts only)'
  assert(isProtected(issuer), 'issuer', protectedUrl)
  assert(isText(clientId), 'clientId', 'a non-empty string')
  const { managementResource = defaultManagementResource(issuer) } = given
  assert(isText(managementResource), 'managementResource', 'a non-empty string')
  const { managementUrl = managementResource } = given
  assert(isProtected(managementUrl), 'managementUrl', protectedUrl)
  assertAuthentication(given)
  const fits = Number.isSafeInteger(timeout) && timeout >= 1 && timeout <= 60
  assert(fits, 'timeout', 'a whole number from 1 to 60')
  assert(typeof send === 'function', 'fetch', 'a function')
  const options = {
    ...{ issuer, clientId, clientSecret, privateKey, clientAuthentication },
    ...{ managementResource, managementUrl: managementUrl.replace(/\/$/, ''), timeout, fetch: send },
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(options, name)) throw new TypeError(`unknown option: ${name}`)
  }
  return Object.freeze(options)
}

/** As the provider derives it from the issuer. */
const defaultManagementResource = (issuer: string): string =>
  `${issuer.replace(/\/$/, '').replace(/\/oidc$/, '')}/api`

const WAYS = ['clientSecret', 'privateKey', 'clientAuthentication'] as const

function assertAuthentication(given: ImpersonationClientOptions): void {
  const ways = WAYS.filter((name) => given[name] !== undefined)
  if (ways.length !== 1) throw new TypeError(`give exactly one of the options ${WAYS.join(', ')}`)
  const { clientSecret, privateKey, clientAuthentication } = given
  assert(clientSecret === undefined || isText(clientSecret), 'clientSecret', 'a non-empty string')
  assert(privateKey === undefined || isPrivateKey(privateKey), 'privateKey', 'a private key as a JWK')
  const isFunction = clientAuthentication === undefined || typeof clientAuthentication === 'function'
  assert(isFunction, 'clientAuthentication', 'a function of oauth4webapi')
}

const isPrivateKey = (value: unknown): boolean =>
  isText(Reflect.get(Object(value), 'kty')) &&
  (isText(Reflect.get(Object(value), 'd')) || isText(Reflect.get(Object(value), 'priv')))

/** Whether no one on the way can read or change what is sent: TLS, or a connection that stays on this machine. */
export function isProtected(value: unknown): value is string {
  if (typeof value !== 'string' || !/^https?:\/\/[\w\-.~:/[\]!$&'()*+,;=%]+$/.test(value)) return false
  if (!URL.canParse(value)) return false
  return value.startsWith('https:') || isLoopback(value)
}

export const isLoopback = (url: string): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

function assert(condition: boolean, option: string, expected: string): asserts condition {
  if (!condition) throw new TypeError(`option ${option} must be ${expected}`)
}
