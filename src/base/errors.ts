/**
 * Every error, all in one shape: the client reads `public`, a fixed text; the operator reads `private`, in the events, the
 * `error_detail` of the token endpoint (which oidc-provider logs and never sends) and the `cause` of a `RecordError`, which
 * is that of every other route. Named members, so that neither can take the place of the other.
 */
import { errors } from 'oidc-provider'

/** The rule that refused: a stage of the exchange, or a rule of the policy by its name. In events only, never sent. */
export type Check =
  | 'request'
  | 'subject_token'
  | 'actor_token'
  | 'maxDelegationDepth'
  | 'hops'
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

/** The deployment's functions. */
export type CallbackName = Extract<
  Check,
  'findAccount' | 'isAllowed' | 'getCustomJwtClaims' | 'extraTokenClaims'
>

/**
 * Throw it in `isAllowed` or `getCustomJwtClaims` to deny, with a reason for the operator. The client reads
 * `access_denied` and a fixed text; the message becomes `reason` of the event `subject_token.refused`, or of
 * `access_token.refused`.
 *
 * @example
 * isAllowed({ context }) {
 *   if (!isOpen(context?.ticketId)) throw new AccessDenied('the ticket is closed')
 *   return true
 * }
 */
export class AccessDenied extends Error {
  override readonly name = 'AccessDenied'
  constructor(reason = 'denied by the deployment', options?: ErrorOptions) {
    super(reason, options)
  }
}

/** An error's texts, and who reads them. Fixed: neither repeats a caller's input. */
export interface Refusal {
  readonly check: Check
  /** The `error_description`, which the client reads. */
  readonly public: string
  /** The `error_detail`, and `reason` of the event, which operators read. Default: the public text. */
  readonly private?: string
}
type Private = Required<Pick<Refusal, 'private'>>
type Public = Pick<Refusal, 'public'>

/** The members of the event about an error. */
interface Note {
  readonly check?: Check
  readonly reason: string
}
const notes = new WeakMap<object, Note>()

function note<Thrown extends Error>(error: Thrown, about: Note): Thrown {
  notes.set(error, about)
  return error
}

/** The check an error names; `undefined` for errors that come from the provider. */
export const checkOf = (thrown: unknown): Check | undefined => notes.get(Object(thrown))?.check

/** The reason of an error, for operators: of one built here its text, of any other its name. */
export const reasonOf = (thrown: unknown): string => notes.get(Object(thrown))?.reason ?? nameOf(thrown)

/**
 * The name of an error that was not built here: its code, else its class. Never its message, which may hold
 * what the caller sent: a library names the headers of a token, a database the values of a row.
 */
export function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'not an error'
  const code: unknown = Reflect.get(error, 'code')
  return [code, error.name].find(isCode) ?? 'Error'
}

const isCode = (value: unknown): value is string =>
  typeof value === 'string' && /^([A-Z0-9_]{1,64}|[A-Z][A-Za-z]{0,63})$/.test(value)

/** The `error` that the client of a token endpoint reads. */
export const errorReadOf = (thrown: unknown): string =>
  thrown instanceof errors.OIDCProviderError && thrown.expose ? thrown.error : 'server_error'

type Build = (description: string, options: { readonly detail?: string }) => Error

/** The members of the event of a refusal that describe what was thrown. */
export function refusalOf(thrown: unknown) {
  const error = errorReadOf(thrown)
  return { error, check: checkOf(thrown) ?? error, reason: reasonOf(thrown) }
}

/** The one way to an error that a client reads. */
export function refusal(build: Build, { check, public: text, private: detail }: Refusal): Error {
  return note(build(text, { detail }), { check, reason: detail ?? text })
}

const invalidTokenRequest: Build = (text, options) => new errors.InvalidRequest(text, 400, options)
const unauthorizedClient: Build = (text, options) => new errors.UnauthorizedClient(text, options)
const invalidTarget: Build = (text, options) => new errors.InvalidTarget(text, options)
const accessDenied: Build = (text, options) => new errors.AccessDenied(text, options)
const loginRequired: Build = (text, options) => new errors.LoginRequired(text, options)
/** A 401 as the provider's own, whose text is the same for every cause. */
const invalidClient: Build = (text, options) =>
  Object.assign(new errors.InvalidClientAuth(options), { error_description: text })
/** The response has no `scope`: it would repeat what was sent, which may have been a token. */
const invalidScope: Build = (text, options) =>
  Object.assign(new errors.InvalidScope(text, '', options), { scope: undefined })

/** The provider's own text, so that a resource it refuses and one we refuse read the same. */
const UNKNOWN_TARGET = new errors.InvalidTarget().error_description ?? ''

/** A parameter breaks a rule of its own (RFC 8693 §2.2.2); the public text names it. */
export const invalidParameter = (says: Public & { readonly check?: Check }) =>
  refusal(invalidTokenRequest, { check: 'request', ...says })

/** A client that may not exchange although it is registered for the grant. The provider uses the same public text. */
export const grantNotAllowed = (says: Private) =>
  refusal(invalidTokenRequest, {
    ...says,
    check: 'request',
    public: 'requested grant type is not allowed for this client',
  })

/** The client has proved its secret, so it may learn how it is registered. */
export const secretInBody = () =>
  refusal(invalidClient, {
    check: 'request',
    public: 'the client is registered with client_secret_basic: send its secret in the Authorization header',
  })

/** A client that may not exchange tokens of this kind, whatever the token. What it is registered for is no secret to it. */
export const clientNotAdmitted = (says: Private) =>
  refusal(unauthorizedClient, {
    ...says,
    check: 'request',
    public: 'the client may not exchange access tokens',
  })

/** One public text for every bad subject token, so that no one learns which tokens exist. */
export const subjectTokenRefused = (says: Private & { readonly check?: Check }) =>
  refusal(invalidTokenRequest, { check: 'subject_token', ...says, public: 'subject_token is invalid' })

/** One public text for every bad actor token. */
export const actorTokenRefused = (says: Private & { readonly check?: Check }) =>
  refusal(invalidTokenRequest, { check: 'actor_token', ...says, public: 'actor_token is invalid' })

/** RFC 8707 §2, RFC 8693 §2.2.2. */
export const targetRefused = (says: Private) =>
  refusal(invalidTarget, { ...says, check: 'target', public: UNKNOWN_TARGET })

/** The limits of a record are no secret to an API that holds a token of it. */
export const beyondRecord = (resources: readonly string[]) =>
  refusal(invalidTarget, {
    check: 'target',
    public: `the impersonation is limited to ${resources.map(printable).join(', ')}`,
    private: 'not among the resources of the record',
  })

/** Whoever holds a subject token may learn that it is read-only, and which resources obey that. */
export const readOnlyNotObeyed = () =>
  refusal(invalidTarget, {
    check: 'target',
    public: 'the impersonation is read-only, and the resource does not say that it obeys this',
  })

/** The characters that RFC 6749 §5.2 allows in an error_description. */
const printable = (uri: string): string => uri.replace(/[^!#-[\]-~]/gu, encodeURIComponent)

/** RFC 8693 §2.1 has two ways to name a target. Which of them is offered is no secret. */
export const audienceRefused = () =>
  refusal(invalidTarget, { check: 'target', public: 'audience is not supported: send resource instead' })

export const scopeRefused = (says: Public) => refusal(invalidScope, { ...says, check: 'scope' })

/** One public text for every sign-in as the user that is refused, at the door of sessions and to the application. */
export const sessionRefused = (says: Private & { readonly check?: Check }) =>
  refusal(accessDenied, { check: 'subject_token', ...says, public: 'the impersonation was refused' })

/** OpenID Connect Core §3.1.2.1: the user cannot be asked to sign in. */
export const userCannotSignIn = () =>
  refusal(loginRequired, { check: 'request', public: 'the user cannot be asked to sign in' })

/** The policy or the claims function says no. */
export const denied = (says: Private & { readonly check: Check }) =>
  refusal(accessDenied, { ...says, public: 'the request was denied by policy' })

/** A 500, to which the provider gives a fixed public text of its own. */
function failure(check: Check, reason: string, options?: ErrorOptions): Error {
  return note(new Error(reason, options), { check, reason })
}

/** A deployment's function threw, took too long or returned what it must not: 500, and nothing of it leaves. */
export const functionFailed = (
  says: Private & {
    readonly check: CallbackName
    readonly cause?: unknown
  },
) => failure(says.check, `${says.check} ${says.private}`, { cause: says.cause })

/** The deployment is configured in a way that would issue wrong tokens: 500. */
export const misconfigured = (says: Private) => failure('issue', says.private)

/** The provider's errors about a proof. Functions of the deployment have no reason to throw these. */
const PROOF_ERRORS: readonly Kind[] = [errors.InvalidDpopProof, errors.InvalidGrant, errors.UseDpopNonce]
type Kind = abstract new (...parameters: never) => Error

/** An error of the provider about the proof of a key. Its own texts are fixed; those of the library behind it are not. */
export function proofRefused(thrown: unknown, fixed = PROOF_ERRORS): unknown {
  let error = thrown
  if (error instanceof errors.InvalidDpopProof && error.cause !== undefined) {
    error = new errors.InvalidDpopProof(error.error_description, { detail: nameOf(error.cause) })
  }
  if (!(error instanceof errors.OIDCProviderError) || !fixed.some((kind) => error instanceof kind))
    return error
  return note(error, { reason: error.error_detail ?? error.error_description ?? error.message })
}

/** Seconds that a client should wait before it tries again: `Retry-After` of a 503. */
export const RETRY_AFTER = 5

/** Whether storage has failed: a 503. */
export const isStorageUnavailable = (error: unknown): error is Error =>
  error instanceof Error && checkOf(error) === 'storage'

/**
 * The error that `impersonation.records` throws and its routes send (docs/protocol.md §2.4). The message is a fixed text
 * that may be shown; the `cause`, if there is one, is for operators.
 *
 * @example
 * catch (error) {
 *   if (!(error instanceof RecordError)) throw error
 *   response.status(error.status).send(error.message)
 * }
 */
export class RecordError extends Error {
  override readonly name = 'RecordError'
  /** The HTTP status that the management API responds with: 400, 403, 404, 409, 503. */
  readonly status: number
  /** `error` of that response: `invalid_request`, `not_found`, `access_denied`, `temporarily_unavailable`. */
  readonly code: string
  /** The member that is missing, unknown or wrong. Absent where the error is about no member. */
  readonly field?: string
  /** @param refusal `public` becomes the message, `private` the cause. */
  constructor(refusal: {
    readonly status: number
    readonly code: string
    readonly public: string
    readonly private?: unknown
    readonly field?: string | undefined
  }) {
    const { status, code, public: text, private: cause, field } = refusal
    super(text, cause === undefined ? undefined : { cause })
    this.status = status
    this.code = code
    if (field !== undefined) this.field = field
  }
}

/** The public text names the member or parameter, and says its rule. */
export const invalidRequest = (
  says: Public & { readonly field?: string | undefined; readonly status?: 400 | 409 | 413 | 415 },
) => new RecordError({ status: 400, ...says, code: 'invalid_request' })

export const notFound = (says: Public) => new RecordError({ ...says, status: 404, code: 'not_found' })

export const methodNotAllowed = () =>
  new RecordError({ status: 405, code: 'invalid_request', public: 'method not allowed' })

/** Whether the client reads 5xx. */
export const isFailure = (error: unknown): boolean => recordErrorOf(error).status >= 500

/** The part of an error that the client reads. */
export function recordErrorOf(error: unknown): RecordError {
  if (error instanceof RecordError) return error
  const because = { private: error }
  if (isStorageUnavailable(error)) {
    const text = 'the service is temporarily unavailable'
    return new RecordError({ ...because, status: 503, code: 'temporarily_unavailable', public: text })
  }
  if (error instanceof errors.AccessDenied) {
    const text = 'the request was denied by policy'
    return new RecordError({ ...because, status: 403, code: 'access_denied', public: text })
  }
  return new RecordError({ ...because, status: 500, code: 'server_error', public: 'something went wrong' })
}
