/** Which verified tokens are remembered: by hash, a bounded number, and what is looked at every time. */
import { expect } from 'chai'
import { now, stopClock } from '../../fixtures/clock.ts'
import { type AccessTokenVerifier, rememberVerified } from '../../src/provider/access-token-jwt.ts'

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

describe('the memory of verified tokens', () => {
  it('has a token verified once', async () => {
    const { verify, looked } = remembering(() => ({ act: { sub: 'bob' } }))
    const [first, second] = [await verify('token', ISSUER), await verify('token', ISSUER)]
    expect(second).to.equal(first)
    expect(first).to.be.frozen
    expect(first.act).to.be.frozen
    expect(looked).to.deep.equal(['token'])
  })

  it('keeps some thousand, and gives up the oldest for one more', async () => {
    const { verify, looked } = remembering()
    for (const token of tokens(SIZE)) await verify(token, ISSUER)
    for (const token of tokens(SIZE)) await verify(token, ISSUER)
    expect(looked).to.have.lengthOf(SIZE)

    await verify('one more', ISSUER)
    looked.length = 0
    for (const token of ['one more', ...tokens(SIZE - 1, 1)]) await verify(token, ISSUER)
    expect(looked).to.deep.equal([])
    await verify('token 0', ISSUER)
    expect(looked).to.deep.equal(['token 0'])
  })

  it('gives up none for one that it knows and has verified again', async () => {
    const { verify, looked } = remembering()
    for (const token of tokens(SIZE)) await verify(token, ISSUER)
    await verify('token 1', `${ISSUER}/other`)
    looked.length = 0
    for (const token of tokens(SIZE).toSpliced(1, 1)) await verify(token, ISSUER)
    expect(looked).to.deep.equal([])
  })

  it('keeps none that is very long', async () => {
    const { verify, looked } = remembering()
    for (const length of [4096, 4097]) {
      for (const _ of [1, 2]) await verify('x'.repeat(length), ISSUER)
    }
    expect(looked.map((token) => token.length)).to.deep.equal([4096, 4097, 4097])
  })

  it('forgets a token in the second it expires, and only that one', async () => {
    const clock = stopClock()
    try {
      const { verify, looked } = remembering()
      await verify('early', ISSUER)
      clock.tick(LIFE - 1)
      await verify('early', ISSUER)
      await verify('late', ISSUER)
      expect(looked).to.deep.equal(['early', 'late'])
      clock.tick(1)
      await verify('early', ISSUER)
      await verify('late', ISSUER)
      expect(looked).to.deep.equal(['early', 'late', 'early'])
    } finally {
      clock.restore()
    }
  })

  it('does not let a token pass before its time when the clock steps back', async () => {
    const clock = stopClock()
    try {
      const { verify, looked } = remembering(() => ({ nbf: now() }))
      await verify('token', ISSUER)
      clock.setBack(1)
      await verify('token', ISSUER)
      expect(looked).to.deep.equal(['token', 'token'])
    } finally {
      clock.restore()
    }
  })

  it('remembers a token in the second from which on it is valid', async () => {
    const clock = stopClock()
    try {
      const { verify, looked } = remembering(() => ({ nbf: now() }))
      for (const _ of [1, 2]) await verify('token', ISSUER)
      expect(looked).to.deep.equal(['token'])
    } finally {
      clock.restore()
    }
  })

  it('does not take a token of one issuer for one of another', async () => {
    const { verify, looked } = remembering()
    await verify('token', ISSUER)
    await verify('token', `${ISSUER}/other`)
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
