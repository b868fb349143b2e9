/** What a management token must be (protocol.md §2.3), whatever the memory of verified tokens knows of it. */
import { expect } from 'chai'
import { authenticator } from '../../src/management/authenticate.ts'

const RESOURCE = 'https://id.example.com/api'
const VALID = {
  sub: 'backend',
  client_id: 'backend',
  aud: RESOURCE as unknown,
  exp: 1,
  cnf: undefined as unknown,
}
const CLIENT = { scope: 'subject-tokens:create' }

type Arguments = Parameters<typeof authenticator>

/** Why a request with a token that the verifier takes for this is refused. */
function refusalOf(
  verifyAccessToken: () => Promise<object>,
  { authorization = 'Bearer jwt', client = undefined as object | undefined } = {},
) {
  const provider = { issuer: 'https://id.example.com/oidc', Client: { find: async () => client } }
  const settings = { managementResource: () => RESOURCE, verifyAccessToken }
  const authenticate = authenticator(provider as unknown as Arguments[0], settings as unknown as Arguments[1])
  const ctx = { headers: { authorization } } as Parameters<typeof authenticate>[0]
  return authenticate(ctx, 'subject-tokens:read').catch((error: Error) => error)
}

describe('a management token that was verified for another endpoint', () => {
  const refused: [title: string, changes: Partial<typeof VALID>, reason: string][] = [
    ['is for another resource', { aud: 'https://api.example.com' }, 'for another resource'],
    ['is for several resources', { aud: [RESOURCE, 'https://api.example.com'] }, 'for another resource'],
    ['is of a user', { sub: 'alice' }, 'not a token of a client for itself'],
    ['is bound to a key', { cnf: { jkt: 'thumbprint' } }, 'bound to a key'],
  ]
  for (const [title, changes, reason] of refused) {
    it(`is refused, every time, if it ${title}`, async () => {
      for (const _ of [1, 2]) {
        const error = await refusalOf(async () => ({ ...VALID, ...changes }), { client: CLIENT })
        expect(error).to.be.instanceOf(Error)
        expect(error).to.include({ message: 'the access token is invalid', cause: reason })
      }
    })
  }
})

describe('a management token that is not valid', () => {
  it('is refused for the reason that the verifier gives', async () => {
    const reason = new Error('ERR_JWT_EXPIRED')
    const error = await refusalOf(() => Promise.reject(reason))
    expect(error).to.include({ message: 'the access token is invalid', cause: reason })
  })
})

describe('a request to the management API', () => {
  it('has a reason for its refusal, which is not sent', async () => {
    const message = 'the access token is invalid'
    const valid = async () => VALID
    const basic = await refusalOf(valid, { authorization: 'Basic eA==' })
    expect(basic).to.include({ message, cause: 'not a Bearer token' })
    expect(await refusalOf(valid)).to.include({ message, cause: 'the client is gone' })
    expect(await refusalOf(valid, { client: CLIENT })).to.include({ code: 'insufficient_scope' })
  })
})
