/**
 * The errors of every route but the token endpoint, in one shape: a client reads `public`, a fixed text; `private` is for
 * operators. Named members, so that neither can take the place of the other.
 */
import { errors } from 'oidc-provider'
import { isStorageUnavailable } from '../outage.ts'

interface Public {
  /** The `error_description`. */
  readonly public: string
}

/**
 * What `impersonation.records` throws, and its routes respond with (docs/protocol.md §2.4). The message is a fixed text
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

/** What the client reads of an error. */
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
