import { without } from './secrets.ts'

/**
 * A request that did not succeed. Holds no secret: no credentials, no subject token, no access token, and no `cause`.
 *
 * - The provider refused: `status` is that of the response, `code` and `description` its `error` and
 *   `error_description`, which are for your log and not for end users.
 * - There was no usable response: `status` is 0, `code` is `timeout` (the time limit has passed) or `no_answer` (the
 *   connection failed, or nothing could be sent). An `issue` or `exchange` may then have taken effect; it is never repeated by itself.
 * - The response is not what the protocol says: `code` is `invalid_response`.
 *
 * @example
 * if (error instanceof ImpersonationError && error.code === 'not_found') return undefined
 */
export class ImpersonationError extends Error {
  override readonly name = 'ImpersonationError'
  /** The HTTP status, 0 without a response. */
  readonly status: number
  /** The error code. */
  readonly code: string
  /** The text of the response, or the failure. */
  readonly description: string
  constructor({ status, code, description }: Pick<ImpersonationError, 'status' | 'code' | 'description'>) {
    super(`${code}: ${description}`)
    this.status = status
    this.code = code
    this.description = description
  }
}

export const invalidResponse = (status: number, description: string) =>
  new ImpersonationError({ status, code: 'invalid_response', description })

export const difference = (expected: string, got: unknown): string =>
  `expected ${JSON.stringify(expected)}, got ${String(JSON.stringify(got)).slice(0, 200)}`

/** Before anything was sent. */
export const unusable = (description: string) =>
  new ImpersonationError({ status: 0, code: 'no_answer', description })

export const timedOut = () =>
  new ImpersonationError({ status: 0, code: 'timeout', description: 'no response within the time limit' })

/** Only a code of the system is repeated: messages may quote the request. */
export function noAnswer(error: unknown): ImpersonationError {
  const codes = [error, Reflect.get(Object(error), 'cause')].map((thrown) =>
    Reflect.get(Object(thrown), 'code'),
  )
  const code = codes.find((value) => typeof value === 'string' && /^[A-Z][A-Z_]{2,50}$/.test(value))
  const description = code === undefined ? 'the request failed' : `the request failed with ${code}`
  return new ImpersonationError({ status: 0, code: 'no_answer', description })
}

/** The error in a response of the management API or of the token endpoint. */
export async function refusalOf(
  response: Response,
  ...secrets: readonly (string | undefined)[]
): Promise<ImpersonationError> {
  const { status } = response
  const body: unknown = await response.json().catch(() => undefined)
  const code: unknown = Reflect.get(Object(body), 'error')
  const description: unknown = Reflect.get(Object(body), 'error_description')
  if (typeof code !== 'string' || code === '') return invalidResponse(status, `HTTP status ${status}`)
  const told = typeof description === 'string' ? description : `HTTP status ${status}`
  return new ImpersonationError({
    status,
    code: without(secrets, code),
    description: without(secrets, told),
  })
}
