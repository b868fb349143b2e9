/**
 * The only place errors are built. The client reads one fixed text; the operator reads the reason, in
 * `error_detail` (which oidc-provider logs and never sends) and in the events.
 */
import { errors } from 'oidc-provider'

/** What refused: a stage of the exchange, or a named rule of the policy. Goes to events, never to the client. */
export type Check =
  | 'request'
  | 'sender'
  | 'subject_token'
  | 'actor_token'
  | 'maxDelegationDepth'
  | 'actorIsNotSubject'
  | 'requireActor'
  | 'requiredContext'
  | 'target'
  | 'scope'
  | 'findAccount'
  | 'isAllowed'
  | 'getCustomJwtClaims'
  | 'extraTokenClaims'
  | 'issue'
  | 'storage'

/** Thrown by `isAllowed` or `getCustomJwtClaims` to deny. Its message is for the operator: it goes to the event. */
export class AccessDenied extends Error {
  override readonly name = 'AccessDenied'
  constructor(reason = 'denied by the deployment', options?: ErrorOptions) {
    super(reason, options)
  }
}

const checks = new WeakMap<Error, Check>()
/** Errors that say nothing but fixed texts, ours or the provider's. */
const quotable = new WeakSet<Error>()

/** The check an error names; `undefined` for errors that come from the provider. */
export const checkOf = (error: Error): Check | undefined => checks.get(error)

/** The private reason of an error, for operators. Only what has fixed texts is quoted. */
export function reasonOf(error: Error): string {
  if (!quotable.has(error)) return nameOf(error)
  if (!(error instanceof errors.OIDCProviderError)) return error.message
  return error.error_detail ?? error.error_description ?? error.message
}

/**
 * What an error that is not of our making is called: its code, else its class. Never its message, which may hold
 * what the caller sent: a library names the headers of a token, a database the values of a row.
 */
export function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'not an error'
  const code: unknown = Reflect.get(error, 'code')
  return [code, error.name].find(isCode) ?? 'Error'
}

const isCode = (value: unknown): value is string =>
  typeof value === 'string' && /^([A-Z0-9_]{1,64}|[A-Z][A-Za-z]{0,63})$/.test(value)

function named<Thrown extends Error>(check: Check, error: Thrown): Thrown {
  checks.set(error, check)
  quotable.add(error)
  return error
}

/** The provider's errors about a proof; a function of the deployment would throw others. */
const PROOF_ERRORS: readonly Kind[] = [errors.InvalidDpopProof, errors.InvalidGrant, errors.UseDpopNonce]
type Kind = abstract new (...parameters: never) => Error

/** What the provider threw about the proof of a key: its own texts are fixed, the library's behind them are not. */
export function proofRefused(thrown: unknown, fixed = PROOF_ERRORS): unknown {
  let error = thrown
  if (error instanceof errors.InvalidDpopProof && error.cause !== undefined) {
    error = new errors.InvalidDpopProof(error.error_description, { detail: nameOf(error.cause) })
  }
  if (error instanceof Error && fixed.some((kind) => error instanceof kind)) quotable.add(error)
  return error
}

/** A parameter breaks a rule of its own (RFC 8693 §2.2.2); the text names it. */
export function invalidParameter(description: string, check: Check = 'request'): Error {
  return named(check, new errors.InvalidRequest(description))
}

/** One text for every bad subject token, so that nobody learns which tokens exist. */
export function subjectTokenRefused(reason: string): Error {
  return named(
    'subject_token',
    new errors.InvalidRequest('subject_token is invalid', 400, { detail: reason }),
  )
}

/** One text for every bad actor token. */
export function actorTokenRefused(reason: string, check: Check = 'actor_token'): Error {
  return named(check, new errors.InvalidRequest('actor_token is invalid', 400, { detail: reason }))
}

/** RFC 8707 §2, RFC 8693 §2.2.2. */
export function targetRefused(reason: string): Error {
  return named('target', new errors.InvalidTarget(undefined, { detail: reason }))
}

/** RFC 8693 §2.1 has two ways to name a target. Which of them is offered is no secret. */
export function audienceRefused(): Error {
  return named('target', new errors.InvalidTarget('audience is not supported: send resource instead'))
}

/** Never repeats what was asked for: a token that was sent as scope by mistake must not come back. */
export function scopeRefused(description: string): Error {
  return named('scope', Object.assign(new errors.InvalidScope(description, ''), { scope: undefined }))
}

/** The policy or the claims function says no. */
export function denied(check: Check, reason: string): Error {
  return named(check, new errors.AccessDenied('the request was denied by policy', { detail: reason }))
}

/** A deployment's function threw, took too long or answered what it may not: 500, and nothing of it leaves. */
export function functionFailed(
  check: 'findAccount' | 'isAllowed' | 'getCustomJwtClaims' | 'extraTokenClaims',
  reason: string,
  cause?: unknown,
): Error {
  return named(check, new Error(`${check} ${reason}`, { cause }))
}

/** The provider and this plugin were put together in a way that would issue wrong tokens: 500. */
export function misconfigured(reason: string): Error {
  return named('issue', new Error(reason))
}

/** Seconds a client is asked to wait when storage is down. */
export const RETRY_AFTER = 5

/** Storage cannot answer: an outage, and never "invalid token". */
export function storageUnavailable(cause: unknown): Error {
  const error = new errors.TemporarilyUnavailable('the service is temporarily unavailable', {
    detail: textForOperators(cause) ?? nameOf(cause),
  })
  return named('storage', Object.assign(error, { status: 503, statusCode: 503 }))
}

/** The fixed text in which a store tells operators what to do (see `SubjectTokenStore`). */
function textForOperators(cause: unknown): string | undefined {
  const given: unknown = cause instanceof Error ? Reflect.get(cause, 'forOperators') : undefined
  return typeof given === 'string' ? given : undefined
}

export const isStorageUnavailable = (error: unknown): boolean =>
  error instanceof Error && checks.get(error) === 'storage'

/** A client that may not exchange though it is registered for it; the text is the provider's own for the others. */
export function grantNotAllowed(reason: string): Error {
  return named(
    'request',
    new errors.InvalidRequest('requested grant type is not allowed for this client', 400, { detail: reason }),
  )
}

/** Client metadata that may not be registered (RFC 7591 §3.2.2). */
export function invalidClientMetadata(description: string): Error {
  return new errors.InvalidClientMetadata(description)
}

/** An error of the management API: JSON body, and a challenge on 401 and 403 (RFC 6750 §3). */
export class ManagementError extends Error {
  readonly status: number
  readonly code: string
  /** The scope a 403 asks for. */
  readonly scope?: string
  constructor(status: number, code: string, description: string, details: ManagementErrorDetails = {}) {
    super(description, { cause: details.cause })
    this.status = status
    this.code = code
    this.scope = details.scope
  }
}

interface ManagementErrorDetails {
  readonly scope?: string
  readonly cause?: unknown
}

/** No credentials: a bare challenge, without an error code (RFC 6750 §3.1). */
export class MissingCredentials extends ManagementError {
  constructor() {
    super(401, 'invalid_token', 'an access token is required')
  }
}

/** One text for every bad management token; the cause is for operators. */
export const invalidToken = (cause?: unknown) =>
  new ManagementError(401, 'invalid_token', 'the access token is invalid', { cause })

export const insufficientScope = (scope: string) =>
  new ManagementError(403, 'insufficient_scope', `the access token lacks the scope ${scope}`, { scope })

export const invalidField = (field: string, expected: string) =>
  new ManagementError(400, 'invalid_request', `${field} ${expected}`)

export const invalidBody = (status: 400 | 413 | 415, description: string) =>
  new ManagementError(status, 'invalid_request', description)

export const notFound = (what: string) => new ManagementError(404, 'not_found', `${what} not found`)

export const methodNotAllowed = () => new ManagementError(405, 'invalid_request', 'method not allowed')

/** What the management API answers for an error that was not made for it. */
export function managementErrorOf(error: unknown): ManagementError {
  if (error instanceof ManagementError) return error
  if (isStorageUnavailable(error)) {
    return new ManagementError(503, 'temporarily_unavailable', 'the service is temporarily unavailable', {
      cause: error,
    })
  }
  if (error instanceof errors.AccessDenied) {
    return new ManagementError(403, 'access_denied', 'the request was denied by policy', { cause: error })
  }
  return new ManagementError(500, 'server_error', 'something went wrong', { cause: error })
}
