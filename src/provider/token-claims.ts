/**
 * The bridge that carries finished claims into an access token. oidc-provider overwrites `token.extra` at save
 * with what `extraTokenClaims` answers, so the exchange attaches the claims to the token and the wrapped
 * `extraTokenClaims` reads them there.
 */
import type { JsonObject } from '../plain-json.ts'

const attached = new WeakMap<object, { readonly claims: JsonObject; read: boolean }>()

export function attachClaims(token: object, claims: JsonObject): void {
  attached.set(token, { claims, read: false })
}

/** The claims attached to this token; `undefined` for tokens that are none of ours. */
export function readClaims(token: object): JsonObject | undefined {
  const entry = attached.get(token)
  if (!entry) return undefined
  entry.read = true
  return entry.claims
}

/** Whether the claims went into the token: one that was saved without its `act` must never leave. */
export const claimsWereRead = (token: object): boolean => attached.get(token)?.read === true
