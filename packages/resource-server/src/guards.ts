/** Guards that a route may call beyond a valid token. */
import type { Caller } from './caller.ts'
import { accessDenied, insufficientScope, readOnlyRefused, type Scheme } from './errors.ts'
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
  if (!caller.scopes.includes(scope)) throw insufficientScope(scope, schemeOfCaller(caller))
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

/**
 * For what hides in a route that reads as well, such as a mutation of GraphQL or a message of a socket: refuses every caller
 * whose token is read-only.
 *
 * @throws {Forbidden} `insufficient_scope`, as `verify` does.
 * @throws {TypeError} for anything but a caller.
 * @example
 * ```ts
 * const caller = await verify(request, { effect: 'read' }) // POST /graphql
 * if (operation === 'mutation') assertMayWrite(caller)
 * ```
 */
export function assertMayWrite(caller: Caller): void {
  assertCaller(caller)
  if (caller.readOnly) throw readOnlyRefused(schemeOfCaller(caller))
}

const schemeOfCaller = ({ claims }: Caller): Scheme => (claims.cnf === undefined ? 'Bearer' : 'DPoP')

/** A forgotten `await` would make everyone a caller that is neither impersonated nor read-only. */
function assertCaller(caller: unknown): void {
  const { impersonated, readOnly, scopes } = isObject(caller) ? caller : {}
  if (typeof impersonated === 'boolean' && typeof readOnly === 'boolean' && Array.isArray(scopes)) return
  throw new TypeError('a guard takes the caller that verify() resolved to')
}
