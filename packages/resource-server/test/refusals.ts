/** What an API sends when the verifier throws, and what it never says. */
import { expect } from 'chai'
import { type Caller, Forbidden, ProviderUnavailable, Unauthorized } from '../src/index.ts'

type Refusal = Unauthorized | Forbidden | ProviderUnavailable

/** What was thrown; fails when nothing was, or something that no API can send. */
export async function refusalOf(attempt: Promise<unknown> | (() => unknown)): Promise<Refusal> {
  try {
    await (typeof attempt === 'function' ? attempt() : attempt)
  } catch (error) {
    if (error instanceof Unauthorized || error instanceof Forbidden || error instanceof ProviderUnavailable) {
      return error
    }
    throw error
  }
  throw new Error('not refused')
}

/** Refused with 401 and the text that every bad token gets. @returns the private reason */
export async function expectInvalidToken(
  attempt: Promise<unknown>,
  reason?: string | RegExp,
): Promise<string> {
  const refusal = await refusalOf(attempt)
  expect([refusal.name, refusal.status, refusal.body.error], refusal.reason).to.deep.equal([
    'Unauthorized',
    401,
    'invalid_token',
  ])
  expect(refusal.body.error_description).to.equal('the access token is invalid')
  expect(refusal.headers['www-authenticate']).to.include('error="invalid_token"')
  if (reason !== undefined) expect(refusal.reason).to.match(new RegExp(reason))
  return refusal.reason
}

/** Neither valid nor invalid: 503, and the reason. */
export async function expectUnavailable(
  attempt: Promise<unknown>,
  reason?: string | RegExp,
): Promise<string> {
  const refusal = await refusalOf(attempt)
  expect([refusal.name, refusal.status, refusal.body.error], refusal.reason).to.deep.equal([
    'ProviderUnavailable',
    503,
    'temporarily_unavailable',
  ])
  expect(refusal.body.error_description).to.equal('access tokens cannot be verified at the moment')
  expect(refusal.headers).to.deep.equal({ 'retry-after': '1' })
  if (reason !== undefined) expect(refusal.reason).to.match(new RegExp(reason))
  return refusal.reason
}

/** What becomes of a token: `valid`, the reason why it is not, or the name of an outage. */
export const outcomeOf = (attempt: Promise<Caller>): Promise<string> =>
  attempt.then(
    () => 'valid',
    ({ name, reason }) => (name === 'Unauthorized' ? reason : name),
  )
