/** What a management token must be (protocol.md §2.3), whatever the memory of verified tokens knows of it. */
import { expect } from 'chai'
import { managementTokenVerifier } from '../../src/management/management-token.ts'

const RESOURCE = 'https://id.example.com/api'
const VALID = {
  sub: 'backend',
  client_id: 'backend',
  aud: RESOURCE as unknown,
  exp: 1,
  cnf: undefined as unknown,
}

type Arguments = Parameters<typeof managementTokenVerifier>

describe('a management token that was verified for another endpoint', () => {
  const refused: [title: string, changes: Partial<typeof VALID>][] = [
    ['is for another resource', { aud: 'https://api.example.com' }],
    ['is for several resources', { aud: [RESOURCE, 'https://api.example.com'] }],
    ['is of a user', { sub: 'alice' }],
    ['is bound to a key', { cnf: { jkt: 'thumbprint' } }],
  ]
  const verify = (changes: Partial<typeof VALID>) => {
    const settings = {
      managementResource: () => RESOURCE,
      verifyAccessToken: async () => ({ ...VALID, ...changes }),
    } as unknown as Arguments[1]
    return managementTokenVerifier({ issuer: 'https://id.example.com/oidc' } as Arguments[0], settings)('jwt')
  }

  it('is accepted where it is all that', async () => expect(await verify({})).to.include({ sub: 'backend' }))

  for (const [title, changes] of refused) {
    it(`is refused, every time, if it ${title}`, async () => {
      for (const _ of [1, 2]) {
        const error = await verify(changes).catch((thrown: Error) => thrown)
        expect(error).to.be.instanceOf(Error).with.property('message', 'the access token is invalid')
      }
    })
  }
})
