import { PROOF_ALGORITHMS } from './algorithms.ts'
import { type Caller, readCaller } from './caller.ts'
import { issuerOf } from './discovery.ts'
import { assertSender } from './dpop.ts'
import { Refused, readOnlyRefused, unauthorized } from './errors.ts'
import { sender } from './http.ts'
import { introspector } from './introspection.ts'
import { jwtVerifier } from './jwt.ts'
import { resolveOptions, type VerifierOptions } from './options.ts'
import { type ApiRequest, type Effect, isWrite, readPresented, schemeOfRequest } from './request.ts'
import { readStatus, statusLists } from './status-lists.ts'

/** The facts about the route that a request goes to. */
export interface VerifyOptions {
  /**
   * Whether the route reads or writes. Default: by the method, `read` for GET, HEAD, OPTIONS and TRACE, and `write` for everything else, and
   * for a request with `Upgrade`.
   */
  readonly effect?: Effect
}

/**
 * Resolves to the caller of a request. Call it behind everything that rewrites the method.
 *
 * @throws {Unauthorized} (401) without an access token that is valid for this API.
 * @throws {Forbidden} (403) with a read-only one, where the request writes or overrides its method by a header.
 * @throws {ProviderUnavailable} (503) when that cannot be told, because the provider does not respond.
 * @throws {TypeError} for an `effect` that is neither.
 */
export type Verifier = (request: ApiRequest, options?: VerifyOptions) => Promise<Caller>

const EFFECTS: readonly unknown[] = [undefined, 'read', 'write']

/**
 * Makes the verifier of an API. Make one and keep it: it holds the issuer's keys and status lists.
 *
 * @throws {TypeError} naming the option that is missing, unknown, of a wrong type or out of range.
 * @example
 * ```ts
 * const verify = createVerifier({ issuer: 'https://id.example.com/oidc', audience: 'https://api.example.com' })
 *
 * const caller = await verify(request)
 * assertScope(caller, 'orders:read')
 * audit.log({ user: caller.user, actor: caller.actor?.sub, client: caller.clientId, token: caller.tokenId })
 * ```
 */
export function createVerifier(given: VerifierOptions): Verifier {
  const options = resolveOptions(given)
  const { origin, requireStatus } = options
  const send = sender(options.fetch)
  const issuer = issuerOf(options, send)
  const verifyJwt = jwtVerifier(options, issuer)
  const introspect = introspector(options, issuer, send)
  const assertNotStopped = statusLists(options, issuer, send)

  async function verify(request: ApiRequest): Promise<Caller> {
    const presented = readPresented(request)
    // An opaque token is base64url: only a JWT has dots.
    const isJwt = presented.token.includes('.')
    const claims = await (isJwt ? verifyJwt : introspect)(presented.token)
    await assertSender({ claims, presented, request, origin })
    const caller = readCaller(claims, options.clockTolerance)
    // Introspection has said that an opaque token is not stopped: its `status` only marks an impersonation.
    if (!isJwt) return caller
    const status = readStatus(claims.status, options.statusLists)
    if (requireStatus && caller.impersonated && !status) throw new Refused('impersonated, and without status')
    // Last: a token that is not valid anyway makes no one fetch anything (draft-ietf-oauth-status-list §8.3).
    if (status) await assertNotStopped(status)
    return caller
  }

  const challenge = { realm: options.issuer, algs: PROOF_ALGORITHMS.join(' ') }
  return async (request, { effect } = {}) => {
    if (!EFFECTS.includes(effect)) throw new TypeError('effect must be read or write')
    const caller = await verify(request).catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error
      throw unauthorized(error, { ...challenge, scheme: schemeOfRequest(request) })
    })
    if (caller.readOnly && isWrite(request, effect)) throw readOnlyRefused(schemeOfRequest(request))
    return caller
  }
}
