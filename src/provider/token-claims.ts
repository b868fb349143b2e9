/**
 * The bridge that carries finished claims into an access token. When it saves a token, oidc-provider overwrites
 * `token.extra` with what `extraTokenClaims` returns, so the exchange attaches the claims to the token, and the
 * wrapped `extraTokenClaims` reads them there.
 */
import type { JsonObject } from '../plain-json.ts'

const CLAIMS = Symbol('claims')

interface Attached {
  readonly claims: JsonObject
  read: boolean
}
const attachedTo = (token: object): Attached | undefined => Reflect.get(token, CLAIMS)

export function attachClaims(token: object, claims: JsonObject): void {
  const attached: Attached = { claims, read: false }
  // Not enumerable: the provider must not take it for a member of the token.
  Reflect.defineProperty(token, CLAIMS, { value: attached })
}

/** The claims attached to this token; `undefined` for tokens of other grants. */
export function readClaims(token: object): JsonObject | undefined {
  const attached = attachedTo(token)
  if (!attached) return undefined
  attached.read = true
  return attached.claims
}

/** Whether the claims went into the token: one that was saved without its `act` must never be returned. */
export const claimsWereRead = (token: object): boolean => attachedTo(token)?.read === true
