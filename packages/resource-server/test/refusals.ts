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

/** What an API sends for it, and the name by which its code tells it from others. */
export async function sentFor(attempt: Promise<unknown> | (() => unknown)) {
  const { name, status, headers, body } = await refusalOf(attempt)
  return { name, status, headers, body }
}

/** How each is told from others, and its text, which says nothing of the token. */
const REFUSALS = {
  invalid_token: ['Unauthorized', 401, 'the access token is invalid'],
  invalid_dpop_proof: ['Unauthorized', 401, 'the DPoP proof is invalid'],
  temporarily_unavailable: ['ProviderUnavailable', 503, 'access tokens cannot be verified at the moment'],
} as const

/** Checks what is sent, with this one header. @returns the private reason */
const expecting =
  (error: keyof typeof REFUSALS, header: string, value: RegExp) =>
  async (attempt: Promise<unknown>, expected: string | RegExp = ''): Promise<string> => {
    const { name, status, headers, body, reason } = await refusalOf(attempt)
    const sent = [name, status, body.error_description]
    expect([body.error, ...sent], reason).to.deep.equal([error, ...REFUSALS[error]])
    expect(headers).to.have.all.keys(header)
    expect(headers[header]).to.match(value)
    expect(reason).to.match(new RegExp(expected))
    return reason
  }

const PROOF = /^DPoP .*algs="ES256 .*error="invalid_dpop_proof"/
export const expectInvalidToken = expecting('invalid_token', 'www-authenticate', /error="invalid_token"/)
export const expectInvalidProof = expecting('invalid_dpop_proof', 'www-authenticate', PROOF)
/** Neither valid nor invalid. */
export const expectUnavailable = expecting('temporarily_unavailable', 'retry-after', /^1$/)

/** What becomes of a token: `valid`, the reason why it is not, or the name of an outage. */
export const outcomeOf = (attempt: Promise<Caller>): Promise<string> =>
  attempt.then(
    () => 'valid',
    ({ name, reason }) => (name === 'Unauthorized' ? reason : name),
  )
