/** A client that describes itself in a metadata document counts as self-registered (protocol.md §2.3). */
import { expect } from 'chai'
import { now } from '../../fixtures/clock.ts'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { exchange, managementToken, postSubjectToken } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'
import { expectRefused } from './refusals.ts'

const CLIENT_ID = 'https://client.example.com/metadata.json'

/** It claims every privilege. */
const DOCUMENT = {
  client_id: CLIENT_ID,
  token_endpoint_auth_method: 'none',
  redirect_uris: ['https://client.example.com/callback'],
  response_types: ['code'],
  grant_types: ['authorization_code', TOKEN_EXCHANGE],
  scope: 'openid subject-tokens:create subject-tokens:read subject-tokens:revoke',
}

describe('token exchange: a client that describes itself', () => {
  let deployment: Deployment
  let fetched: string[]
  before(async () => {
    fetched = []
    deployment = await startDeployment({
      configuration: {
        features: { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } } as never,
        fetch: async (url: string | URL | Request) => {
          fetched.push(String(url))
          return new Response(JSON.stringify(DOCUMENT), { headers: { 'content-type': 'application/json' } })
        },
      } as never,
    })
  })
  after(() => deployment?.close())

  it('may not exchange, whatever its document says', async () => {
    const response = await expectRefused(deployment, {
      attempt: (subjectToken) =>
        exchange(deployment, { subject_token: subjectToken }, { client: { client_id: CLIENT_ID } }),
      error: 'invalid_request',
      check: 'request',
    })
    expect(response.body.error_description).to.equal('requested grant type is not allowed for this client')
    expect(fetched).to.deep.equal([CLIENT_ID])
  })

  it('has no management scope, whatever its document says', async () => {
    const claims = {
      iss: deployment.issuer,
      aud: `${deployment.baseUrl}/api`,
      sub: CLIENT_ID,
      client_id: CLIENT_ID,
    }
    const times = { iat: now(), exp: now() + 60, jti: unique('jti') }
    const token = await signJwt({ ...claims, ...times, scope: 'subject-tokens:create' })
    const response = await postSubjectToken(deployment, { userId: 'alice' }, token)
    expect([response.status, response.body.error]).to.deep.equal([403, 'insufficient_scope'])
    expect(
      (await postSubjectToken(deployment, { userId: 'alice' }, await managementToken(deployment))).status,
    ).to.equal(201)
  })
})
