/**
 * The errors of the token endpoint, all in one shape: the client reads `public`, a fixed text; the operator reads
 * `private`, in `error_detail` (which oidc-provider logs and never sends) and in the events. Named members, so that
 * neither can take the place of the other.
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

/** What an error says, and to whom. Fixed texts: neither of them repeats what a caller sent. */
export interface Refusal {
  readonly check: Check
  /** For the client: `error_description`. */
  readonly public: string
  /** For operators: `error_detail`, and `reason` of the event. Default: the public text. */
  readonly private?: string
}
type Private = Required<Pick<Refusal, 'private'>>
type Public = Pick<Refusal, 'public'>

/** What the event about an error contains. */
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
 * What an error that was not built here is called: its code, else its class. Never its message, which may hold
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

/** What the event of a refusal says of what was thrown. */
export function toldOf(thrown: unknown) {
  const error = errorReadOf(thrown)
  return { error, check: checkOf(thrown) ?? error, reason: reasonOf(thrown) }
}

/** The one way to an error that a client reads. */
export function refusal(build: Build, { check, public: text, private: detail }: Refusal): Error {
  return note(build(text, { detail }), { check, reason: detail ?? text })
}

const invalidRequest: Build = (text, options) => new errors.InvalidRequest(text, 400, options)
const unauthorizedClient: Build = (text, options) => new errors.UnauthorizedClient(text, options)
const invalidTarget: Build = (text, options) => new errors.InvalidTarget(text, options)
const accessDenied: Build = (text, options) => new errors.AccessDenied(text, options)
const loginRequired: Build = (text, options) => new errors.LoginRequired(text, options)
/** A 401 as the provider's own, whose text is the same for every cause. */
const invalidClient: Build = (text, options) =>
  Object.assign(new errors.InvalidClientAuth(options), { error_description: text })
/** Without `scope`, which would repeat what was asked for: a token that was sent as scope must not come back. */
const invalidScope: Build = (text, options) =>
  Object.assign(new errors.InvalidScope(text, '', options), { scope: undefined })

/** The provider's own text, so that a resource it refuses and one we refuse read the same. */
const UNKNOWN_TARGET = new errors.InvalidTarget().error_description ?? ''

/** A parameter breaks a rule of its own (RFC 8693 §2.2.2); the public text names it. */
export const invalidParameter = (says: Public & { readonly check?: Check }) =>
  refusal(invalidRequest, { check: 'request', ...says })

/** A client that may not exchange although it is registered for the grant. The provider uses the same public text. */
export const grantNotAllowed = (says: Private) =>
  refusal(invalidRequest, {
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
  refusal(invalidRequest, { check: 'subject_token', ...says, public: 'subject_token is invalid' })

/** One public text for every bad actor token. */
export const actorTokenRefused = (says: Private & { readonly check?: Check }) =>
  refusal(invalidRequest, { check: 'actor_token', ...says, public: 'actor_token is invalid' })

/** RFC 8707 §2, RFC 8693 §2.2.2. */
export const targetRefused = (says: Private) =>
  refusal(invalidTarget, { ...says, check: 'target', public: UNKNOWN_TARGET })

/** What the record of an impersonation allows is no secret to an API that holds a token of it. */
export const beyondRecord = (resources: readonly string[]) =>
  refusal(invalidTarget, {
    check: 'target',
    public: `the impersonation is limited to ${resources.map(printable).join(', ')}`,
    private: 'not among the resources of the record',
  })

/** What RFC 6749 §5.2 allows in an error_description. */
const printable = (uri: string): string => uri.replace(/[^!#-[\]-~]/gu, encodeURIComponent)

/** RFC 8693 §2.1 has two ways to name a target. Which of them is offered is no secret. */
export const audienceRefused = () =>
  refusal(invalidTarget, { check: 'target', public: 'audience is not supported: send resource instead' })

export const scopeRefused = (says: Public) => refusal(invalidScope, { ...says, check: 'scope' })

/** One public text for every sign-in as the user that is refused: at the door, and to the application. */
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
