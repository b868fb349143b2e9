/** Which verified tokens the management API remembers: by hash, a thousand, until they expire. */
import { expect } from 'chai'
import { now, stopClock } from '../../fixtures/clock.ts'
import {
  type ManagementTokenVerifier,
  managementTokenVerifier,
} from '../../src/management/management-token.ts'

type Arguments = Parameters<typeof managementTokenVerifier>

const RESOURCE = 'https://id.example.com/api'
const LIFE = 600

/** A verifier, and the tokens whose signatures were looked at, in order. */
function verifier(): { verify: ManagementTokenVerifier; looked: string[] } {
  const looked: string[] = []
  const verifyAccessToken = async (jwt: string) => {
    looked.push(jwt)
    if (jwt.startsWith('forged')) throw new Error('ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
    return { sub: 'backend', client_id: 'backend', aud: RESOURCE, exp: now() + LIFE }
  }
  const provider = { issuer: 'https://id.example.com/oidc' } as Arguments[0]
  const settings = { managementResource: () => RESOURCE, verifyAccessToken } as unknown as Arguments[1]
  return { verify: managementTokenVerifier(provider, settings), looked }
}

const tokens = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `token ${from + index}`)

describe('the memory of verified management tokens', () => {
  it('has a token verified once', async () => {
    const { verify, looked } = verifier()
    const [first, second] = [await verify('token'), await verify('token')]
    expect(second).to.equal(first)
    expect(first).to.be.frozen
    expect(looked).to.deep.equal(['token'])
  })

  it('keeps a thousand, and gives up the oldest for one more', async () => {
    const { verify, looked } = verifier()
    for (const token of tokens(1000)) await verify(token)
    for (const token of tokens(1000)) await verify(token)
    expect(looked).to.have.lengthOf(1000)

    await verify('one more')
    looked.length = 0
    for (const token of ['one more', ...tokens(999, 1)]) await verify(token)
    expect(looked).to.deep.equal([])
    await verify('token 0')
    expect(looked).to.deep.equal(['token 0'])
  })

  it('forgets a token in the second it expires, and only that one', async () => {
    const clock = stopClock()
    try {
      const { verify, looked } = verifier()
      await verify('early')
      clock.tick(LIFE - 1)
      await verify('early')
      await verify('late')
      expect(looked).to.deep.equal(['early', 'late'])
      clock.tick(1)
      await verify('early')
      await verify('late')
      expect(looked).to.deep.equal(['early', 'late', 'early'])
    } finally {
      clock.restore()
    }
  })

  it('does not remember what was refused', async () => {
    const { verify, looked } = verifier()
    for (const _ of [1, 2]) {
      const error = await verify('forged').catch((thrown: Error) => thrown)
      expect(error).to.be.instanceOf(Error).with.property('message', 'the access token is invalid')
    }
    expect(looked).to.deep.equal(['forged', 'forged'])
  })
})
