/** The expectations a check has of an answer. Messages say what came instead, and never contain a token. */
import { Failed } from './check.ts'
import type { Deviation } from './deviations.ts'
import type { Answer } from './http.ts'
import type { Granted, Session } from './session.ts'

/** An answer in a few words, without tokens. */
export function describeAnswer({ status, body, text }: Answer): string {
  if (typeof body?.access_token === 'string') return `${status} with an access token`
  if (typeof body?.error === 'string') return `${status} ${body.error}`
  return `${status} ${body ? 'with JSON that has no error' : text === '' ? 'without a body' : 'without JSON'}`
}

/** The server issued a token. */
export function granted(answer: Answer): Granted {
  const token = answer.body?.access_token
  if (answer.status !== 200 || typeof token !== 'string' || token === '')
    throw new Failed(`expected 200 with an access token, got ${describeAnswer(answer)}${detailOf(answer)}`)
  return { token, answer }
}

/** The refusal of a valid request: the server's own words help the author of a driver. */
function detailOf({ body }: Answer): string {
  const words = body?.error_description
  return typeof words === 'string' ? ` (${words.slice(0, 200)})` : ''
}

/** Codes that pass as well, under the name of a deviation. */
export type Tolerated = Readonly<Record<string, Deviation>>

/** A bad token: `invalid_grant` passes as a named deviation. */
export const BAD_TOKEN: Tolerated = { invalid_grant: 'invalid-grant' }
export const BAD_TARGET: Tolerated = { invalid_request: 'target-as-invalid-request' }
export const BAD_SCOPE: Tolerated = { invalid_request: 'scope-as-invalid-request' }
export const BAD_PROOF: Tolerated = {
  invalid_request: 'dpop-as-invalid-request',
  invalid_grant: 'dpop-as-invalid-request',
}

/** The server refused, in the form of RFC 6749 §5.2, with one of these codes. */
export function refused(
  session: Session,
  answer: Answer,
  codes: string | readonly string[],
  tolerated: Tolerated = {},
): void {
  const expected = [codes].flat()
  const { status, body } = answer
  const code = body?.error
  if (typeof code === 'string' && isRefusal(status, code)) {
    if (expected.includes(code)) return
    const deviation = tolerated[code]
    if (deviation !== undefined) {
      session.deviates(deviation)
      return
    }
  }
  throw new Failed(`expected 400 ${expected.join(' or ')}, got ${describeAnswer(answer)}`)
}

/** RFC 6749 §5.2: 400 for all, and 401 for a client that failed to authenticate. */
const isRefusal = (status: number, code: string): boolean =>
  status === 400 || (status === 401 && code === 'invalid_client')

/** No token, and no failure of the server: any refusal will do. */
export function turnedAway(answer: Answer): void {
  if (answer.status < 400 || answer.status >= 500 || answer.body?.access_token !== undefined)
    throw new Failed(`expected a refusal (4xx), got ${describeAnswer(answer)}`)
}

export function equal(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected)
    throw new Failed(`${what} should be ${JSON.stringify(expected)}, but is ${JSON.stringify(actual)}`)
}

export function holds(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Failed(otherwise)
}

/** RFC 7519 §4.1.3: one string, or an array of them. */
export const audiencesOf = (claims: Readonly<Record<string, unknown>>): readonly unknown[] =>
  claims.aud === undefined ? [] : [claims.aud].flat()

export const scopesOf = (scope: unknown): string[] =>
  typeof scope === 'string' ? scope.split(' ').filter((name) => name !== '') : []

/** The members of `act`, if it is an object. */
export function actOf(
  claims: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const { act } = claims
  return typeof act === 'object' && act !== null && !Array.isArray(act)
    ? (act as Readonly<Record<string, unknown>>)
    : undefined
}
