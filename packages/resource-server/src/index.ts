/** For APIs: who calls, for whom, and whether that still holds. */
export type { Actor, Caller } from './caller.ts'
export type { Claims } from './claims.ts'
export {
  type ErrorBody,
  type ErrorHeaders,
  Forbidden,
  ProviderUnavailable,
  type ResourceServerError,
  Unauthorized,
} from './errors.ts'
export { assertInPerson, assertMayWrite, assertScope } from './guards.ts'
export type { StatusListReport, VerifierOptions } from './options.ts'
export {
  type KoaContext,
  type NodeResponse,
  type ReadOnlyGuard,
  type ReadOnlyOptions,
  readOnly,
} from './read-only.ts'
export type { ApiRequest, Effect, NodeRequest, WebRequest } from './request.ts'
export type { Seconds } from './time.ts'
export { createVerifier, type Verifier, type VerifyOptions } from './verifier.ts'
