/** What a route asks of its caller, beyond a valid token. */
import type { Caller } from './caller.ts'
import { accessDenied, insufficientScope } from './errors.ts'
import { isObject } from './json.ts'

/**
 * Lets a caller pass whose token has the scope.
 *
 * @param scope One scope name (RFC 6749 §3.3), case-sensitive.
 * @throws {Forbidden} `insufficient_scope` (RFC 6750 §3.1), with a challenge that names the scope.
 * @throws {TypeError} for anything but a caller and one scope name.
 * @example
 * ```ts
 * assertScope(await verify(request), 'orders:write')
 * ```
 */
export function assertScope(caller: Caller, scope: string): void {
  assertCaller(caller)
  if (typeof scope !== 'string' || !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) {
    throw new TypeError('assertScope takes one scope name')
  }
  const { scopes, claims } = caller
  if (!scopes.includes(scope)) throw insufficientScope(scope, claims.cnf === undefined ? 'Bearer' : 'DPoP')
}

/**
 * For what no one may do in someone else's name: refuses every caller that is `impersonated`. An API that exchanged
 * the user's own token on the way does not count.
 *
 * @throws {Forbidden} `access_denied`.
 * @throws {TypeError} for anything but a caller, such as a promise of one.
 * @example
 * ```ts
 * assertInPerson(caller) // before an e-mail address is changed
 * ```
 */
export function assertInPerson(caller: Caller): void {
  assertCaller(caller)
  if (caller.impersonated) throw accessDenied('only the user can do this')
}

const READING = ['GET', 'HEAD', 'OPTIONS']

/**
 * Lets people who act for the user look, and change nothing: an impersonated caller passes with GET, HEAD and OPTIONS,
 * everyone else with any method.
 *
 * @param method The method of the request, as it came.
 * @throws {Forbidden} `access_denied`.
 * @throws {TypeError} for anything but a caller.
 * @example
 * ```ts
 * assertReadOnly(caller, request.method) // once, in front of all routes
 * ```
 */
export function assertReadOnly(caller: Caller, method: string): void {
  assertCaller(caller)
  if (caller.impersonated && !READING.includes(method)) throw accessDenied('only the user can change this')
}

/** A forgotten `await` would make everyone a caller that is not impersonated. */
function assertCaller(caller: unknown): void {
  if (isObject(caller) && typeof caller.impersonated === 'boolean' && Array.isArray(caller.scopes)) return
  throw new TypeError('a guard takes the caller that verify() resolved to')
}
