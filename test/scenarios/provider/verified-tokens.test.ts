/** Which verified tokens are remembered: by hash, a bounded number, and what is looked at every time. */
import { expect } from 'chai'
import { now, type StoppedClock, stopClock } from '../../../fixtures/clock.ts'
import { type AccessTokenVerifier, rememberVerified } from '../../../src/provider/jwt-verification.ts'

const ISSUER = 'https://id.example.com/oidc'
const LIFE = 600
const SIZE = 4096

/** A verifier that remembers, and the tokens whose signatures were looked at, in order. */
function remembering(claims: () => object = () => ({})): { verify: AccessTokenVerifier; looked: string[] } {
  const looked: string[] = []
  const verify = rememberVerified(async (jwt, iss) => {
    looked.push(jwt)
    if (jwt.startsWith('forged')) throw new Error('ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
    return { iss, sub: 'alice', client_id: 'spa', exp: now() + LIFE, ...claims() }
  })
  return { verify, looked }
}

const tokens = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `token ${from + index}`)

/** A token to verify, or a token of another issuer, or how far the clock moves. */
type Step = string | readonly [token: string, issuer: string] | number
const OTHER: Step = ['token', `${ISSUER}/other`]
const LONGEST = 'x'.repeat(4096)
const FULL = tokens(SIZE)

const CASES: Readonly<Record<string, readonly [steps: readonly Step[], looked: readonly string[]]>> = {
  'a token is verified once': [['token', 'token'], ['token']],
  'a token of another issuer is another': [
    ['token', OTHER],
    ['token', 'token'],
  ],
  'what is very long is verified again': [
    [LONGEST, LONGEST, `${LONGEST}x`, `${LONGEST}x`],
    [LONGEST, `${LONGEST}x`, `${LONGEST}x`],
  ],
  'a token is forgotten in the second it expires, and that one alone': [
    ['early', LIFE - 1, 'early', 'late', 1, 'early', 'late'],
    ['early', 'late', 'early'],
  ],
  'some thousand are kept': [[...FULL, ...FULL], FULL],
  'the oldest is given up for one more': [
    [...FULL, 'one more', ...FULL.slice(1), 'token 0'],
    [...FULL, 'one more', 'token 0'],
  ],
  'none is given up for one that is known and verified again': [
    [...FULL, ['token 1', `${ISSUER}/other`], ...FULL.toSpliced(1, 1)],
    [...FULL, 'token 1'],
  ],
}

describe('the memory of verified tokens', () => {
  let clock: StoppedClock
  beforeEach(() => {
    clock = stopClock()
  })
  afterEach(() => clock.restore())

  for (const [title, [steps, expected]] of Object.entries(CASES))
    it(title, async () => {
      const { verify, looked } = remembering()
      for (const step of steps) {
        if (typeof step === 'number') clock.tick(step)
        else if (typeof step === 'string') await verify(step, ISSUER)
        else await verify(...step)
      }
      expect(looked).to.deep.equal(expected)
    })

  it('returns the same frozen claims', async () => {
    const { verify } = remembering(() => ({ act: { sub: 'bob' } }))
    const [first, second] = [await verify('token', ISSUER), await verify('token', ISSUER)]
    expect(second).to.equal(first)
    expect(first).to.be.frozen
    expect(first.act).to.be.frozen
  })

  it('takes a token from the second on in which it becomes valid, and no earlier when the clock steps back', async () => {
    const { verify, looked } = remembering(() => ({ nbf: now() }))
    for (const _ of [1, 2]) await verify('token', ISSUER)
    expect(looked).to.deep.equal(['token'])
    clock.setBack(1)
    await verify('token', ISSUER)
    expect(looked).to.deep.equal(['token', 'token'])
  })

  it('does not remember what was refused', async () => {
    const { verify, looked } = remembering()
    for (const _ of [1, 2]) {
      const error = await verify('forged', ISSUER).catch((thrown: Error) => thrown)
      expect(error).to.be.instanceOf(Error).with.property('message', 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
    }
    expect(looked).to.deep.equal(['forged', 'forged'])
  })
})
