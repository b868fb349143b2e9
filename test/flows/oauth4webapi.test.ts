/** The whole flow, as an application with oauth4webapi 3 runs it. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import { API, type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/index.ts'

const INSECURE = { [oauth.allowInsecureRequests]: true }

describe('flow with oauth4webapi', () => {
  const spa: oauth.Client = { client_id: 'spa' }
  let deployment: Deployment
  let server: oauth.AuthorizationServer
  before(async () => {
    deployment = await startDeployment()
    const issuer = new URL(deployment.issuer)
    server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, INSECURE))
  })
  after(() => deployment.close())

  const subjectToken = async (): Promise<string> => {
    const backend: oauth.Client = { client_id: 'backend' }
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      backend,
      oauth.ClientSecretBasic('backend-secret'),
      { resource: `${deployment.baseUrl}/api`, scope: 'subject-tokens:create' },
      INSECURE,
    )
    const { access_token: token } = await oauth.processClientCredentialsResponse(server, backend, response)
    const created = await oauth.protectedResourceRequest(
      token,
      'POST',
      new URL(deployment.subjectTokens),
      new Headers({ 'content-type': 'application/json' }),
      JSON.stringify({ userId: 'alice' }),
      INSECURE,
    )
    expect(created.status).to.equal(201)
    return ((await created.json()) as { subjectToken: string }).subjectToken
  }

  const exchange = async (
    client: oauth.Client,
    authentication: oauth.ClientAuth,
    token: string,
    options: oauth.TokenEndpointRequestOptions = {},
    changes: Readonly<Record<string, string>> = {},
  ) => {
    const parameters = {
      subject_token: token,
      subject_token_type: ACCESS_TOKEN_TYPE,
      resource: API,
      ...changes,
    }
    const settings = { ...INSECURE, ...options }
    const response = await oauth.genericTokenEndpointRequest(
      server,
      client,
      authentication,
      TOKEN_EXCHANGE,
      parameters,
      settings,
    )
    return oauth.processGenericTokenEndpointResponse(server, client, response)
  }

  const errorOf = async (response: Promise<unknown>): Promise<oauth.ResponseBodyError> => {
    const error = await response.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(oauth.ResponseBodyError)
    return error as oauth.ResponseBodyError
  }

  it('impersonates from a public client', async () => {
    const tokens = await exchange(spa, oauth.None(), await subjectToken(), {}, { scope: 'orders:read' })
    expect(tokens).to.include({ token_type: 'bearer', scope: 'orders:read', expires_in: 600 })
    expect(tokens.issued_token_type).to.equal(ACCESS_TOKEN_TYPE)
    expect(decodeJwt(tokens.access_token)).to.include({ sub: 'alice', client_id: 'spa' })
  })

  it('impersonates from a web application', async () => {
    const tokens = await exchange(
      { client_id: 'web' },
      oauth.ClientSecretBasic('web-secret'),
      await subjectToken(),
    )
    expect(decodeJwt(tokens.access_token).client_id).to.equal('web')
  })

  it('validates the issued token as a JWT access token (RFC 9068)', async () => {
    const { access_token: token } = await exchange(spa, oauth.None(), await subjectToken())
    const request = new Request(API, { headers: { authorization: `Bearer ${token}` } })
    const claims = await oauth.validateJwtAccessToken(server, request, API, INSECURE)
    expect(claims).to.include({ sub: 'alice', client_id: 'spa', iss: deployment.issuer })
  })

  it('binds the issued token by DPoP', async () => {
    const DPoP = oauth.DPoP(spa, await oauth.generateKeyPair('ES256'))
    const tokens = await exchange(spa, oauth.None(), await subjectToken(), { DPoP })
    expect(tokens.token_type).to.equal('dpop')
    expect(decodeJwt(tokens.access_token).cnf).to.have.property('jkt')
  })

  it('reports a used subject token as invalid_request', async () => {
    const token = await subjectToken()
    await exchange(spa, oauth.None(), token)
    const {
      status,
      error,
      error_description: description,
    } = await errorOf(exchange(spa, oauth.None(), token))
    expect([status, error, description]).to.deep.equal([400, 'invalid_request', 'subject_token is invalid'])
  })

  it('reports scopes that cannot be granted as invalid_scope, and the token can be used again', async () => {
    const token = await subjectToken()
    const { status, error } = await errorOf(exchange(spa, oauth.None(), token, {}, { scope: 'unknown' }))
    expect([status, error]).to.deep.equal([400, 'invalid_scope'])
    await exchange(spa, oauth.None(), token)
  })

  it('reports a wrong client secret with a challenge (RFC 6749 §5.2)', async () => {
    const token = await subjectToken()
    const response = exchange({ client_id: 'web' }, oauth.ClientSecretBasic('wrong'), token)
    const error = await response.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(oauth.WWWAuthenticateChallengeError)
    expect((error as oauth.WWWAuthenticateChallengeError).status).to.equal(401)
    await exchange(spa, oauth.None(), token)
  })

  it('reports a forged management token with a challenge (RFC 6750 §3)', async () => {
    const url = new URL(deployment.subjectTokens)
    const response = oauth.protectedResourceRequest('forged', 'POST', url, undefined, null, INSECURE)
    const error = await response.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(oauth.WWWAuthenticateChallengeError)
    const [challenge] = (error as oauth.WWWAuthenticateChallengeError).cause
    expect(challenge?.scheme).to.equal('bearer')
    expect(challenge?.parameters).to.include({ realm: deployment.issuer, error: 'invalid_token' })
  })
})
