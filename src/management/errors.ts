/**
 * The errors of the management API, all in one shape: a client reads `public`, a fixed text; `private` is for
 * operators. Named members, so that neither can take the place of the other.
 */
import { errors } from 'oidc-provider'
import { isStorageUnavailable } from '../outage.ts'

interface Refusal {
  readonly status: number
  /** The error code: `error` of the body, and of the challenge. */
  readonly error: string
  /** The `error_description`. */
  readonly public: string
  /** The cause; never sent. */
  readonly private?: unknown
  /** The scope that a 403 asks for. */
  readonly scope?: string
}
type Public = Pick<Refusal, 'public'>
type Private = Pick<Refusal, 'private'>

/** The message is the public text, the cause the private one. */
export class ManagementError extends Error {
  readonly status: number
  readonly error: string
  readonly scope?: string
  constructor({ status, error, public: description, private: cause, scope }: Refusal) {
    super(description, { cause })
    this.status = status
    this.error = error
    this.scope = scope
  }
}

/** No credentials: a bare challenge, without an error code (RFC 6750 §3.1). */
export class MissingCredentials extends ManagementError {
  constructor() {
    super({ status: 401, error: 'invalid_token', public: 'an access token is required' })
  }
}

/** One public text for every bad management token. */
export const invalidToken = (says: Private) =>
  new ManagementError({ ...says, status: 401, error: 'invalid_token', public: 'the access token is invalid' })

export const insufficientScope = (scope: string) =>
  new ManagementError({
    status: 403,
    error: 'insufficient_scope',
    public: `the access token lacks the scope ${scope}`,
    scope,
  })

/** The public text names the member or parameter, and says its rule. */
export const invalidRequest = (says: Public & { readonly status?: 400 | 409 | 413 | 415 }) =>
  new ManagementError({ status: 400, ...says, error: 'invalid_request' })

export const userNotFound = () =>
  new ManagementError({ status: 404, error: 'not_found', public: 'user not found' })

export const subjectTokenNotFound = () =>
  new ManagementError({ status: 404, error: 'not_found', public: 'subject token not found' })

export const nothingToAcknowledge = () =>
  invalidRequest({ status: 409, public: 'the subject token has no alarm' })

export const otherReplay = () =>
  invalidRequest({ status: 409, public: 'replayedAt is not the replay of the subject token' })

/** For hosts that have no other routes. */
export const pathNotFound = () =>
  new ManagementError({ status: 404, error: 'not_found', public: 'not found' })

export const methodNotAllowed = () =>
  new ManagementError({ status: 405, error: 'invalid_request', public: 'method not allowed' })

/** What the client reads of an error that was not built here. */
export function managementErrorOf(error: unknown): ManagementError {
  if (error instanceof ManagementError) return error
  if (isStorageUnavailable(error)) {
    return new ManagementError({
      status: 503,
      error: 'temporarily_unavailable',
      public: 'the service is temporarily unavailable',
      private: error,
    })
  }
  if (error instanceof errors.AccessDenied) {
    return new ManagementError({
      status: 403,
      error: 'access_denied',
      public: 'the request was denied by policy',
      private: error,
    })
  }
  return new ManagementError({
    status: 500,
    error: 'server_error',
    public: 'something went wrong',
    private: error,
  })
}
