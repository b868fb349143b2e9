/** What a management token must be (protocol.md §2.3), whatever the memory of verified tokens knows of it. */
import { expect } from 'chai'
import { authenticate } from '../../src/management/authenticate.ts'
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
  const refused: [title: string, changes: Partial<typeof VALID>, reason: string][] = [
    ['is for another resource', { aud: 'https://api.example.com' }, 'for another resource'],
    ['is for several resources', { aud: [RESOURCE, 'https://api.example.com'] }, 'for another resource'],
    ['is of a user', { sub: 'alice' }, 'not a token of a client for itself'],
    ['is bound to a key', { cnf: { jkt: 'thumbprint' } }, 'bound to a key'],
  ]
  const verify = (changes: Partial<typeof VALID>) => {
    const settings = {
      managementResource: () => RESOURCE,
      verifyAccessToken: async () => ({ ...VALID, ...changes }),
    } as unknown as Arguments[1]
    return managementTokenVerifier({ issuer: 'https://id.example.com/oidc' } as Arguments[0], settings)('jwt')
  }

  it('is accepted where it is all that', async () => expect(await verify({})).to.include({ sub: 'backend' }))

  for (const [title, changes, reason] of refused) {
    it(`is refused, every time, if it ${title}`, async () => {
      for (const _ of [1, 2]) {
        const error = await verify(changes).catch((thrown: Error) => thrown)
        expect(error).to.be.instanceOf(Error)
        expect(error).to.include({ message: 'the access token is invalid', cause: reason })
      }
    })
  }
})

describe('a management token that is not valid', () => {
  it('is refused for the reason that the verifier gives', async () => {
    const reason = new Error('ERR_JWT_EXPIRED')
    const settings = { verifyAccessToken: () => Promise.reject(reason) } as unknown as Arguments[1]
    const verify = managementTokenVerifier(
      { issuer: 'https://id.example.com/oidc' } as Arguments[0],
      settings,
    )
    const error = await verify('jwt').catch((thrown: Error) => thrown)
    expect(error).to.include({ message: 'the access token is invalid', cause: reason })
  })
})

describe('a request to the management API', () => {
  type Given = Parameters<typeof authenticate>
  const refusalOf = (authorization: string, client?: object) => {
    const ctx = { headers: { authorization } } as Given[0]
    const provider = { Client: { find: async () => client } } as unknown as Given[2]['provider']
    const verify = async () => ({ ...VALID, aud: RESOURCE })
    return authenticate(ctx, 'subject-tokens:read', { provider, verify }).catch((error: Error) => error)
  }

  it('has a reason for its refusal, which is not sent', async () => {
    const message = 'the access token is invalid'
    expect(await refusalOf('Basic eA==')).to.include({ message, cause: 'not a Bearer token' })
    expect(await refusalOf('Bearer jwt')).to.include({ message, cause: 'the client is gone' })
    expect(await refusalOf('Bearer jwt', { scope: 'subject-tokens:read' })).to.include({
      error: 'insufficient_scope',
    })
  })
})
