/** What the client takes for the metadata of its issuer. */
import { expect } from 'chai'
import { createImpersonationClient } from '../src/index.ts'

describe('client: discovery', () => {
  it('cannot lead from an https issuer to an http token endpoint, not even on this machine', async () => {
    const issuer = 'https://id.example.com/oidc'
    const sent: string[] = []
    const client = createImpersonationClient({
      issuer,
      clientId: 'backend',
      clientSecret: 'backend-secret',
      fetch: async (input) => {
        sent.push(String(input))
        return Response.json({ issuer, token_endpoint: 'http://127.0.0.1:9/token' })
      },
    })
    const error = await client.exchange({ subjectToken: 'sub_x' }).catch((thrown: unknown) => thrown)
    expect(error).to.include({ status: 200, code: 'invalid_response' })
    expect(sent).to.deep.equal([`${issuer}/.well-known/openid-configuration`])
  })
})
