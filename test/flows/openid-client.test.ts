/** The whole flow, as an application with openid-client 6 runs it. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import {
  allowInsecureRequests,
  ClientSecretBasic,
  type Configuration,
  clientCredentialsGrant,
  discovery,
  genericGrantRequest,
  None,
  ResponseBodyError,
  tokenIntrospection,
} from 'openid-client'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { API, type Deployment, OPAQUE_API, startDeployment } from '../../fixtures/deployment.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/index.ts'

describe('flow with openid-client', () => {
  let deployment: Deployment
  let backend: Configuration
  let spa: Configuration
  let web: Configuration
  let resourceServer: Configuration
  before(async () => {
    deployment = await startDeployment()
    const issuer = new URL(deployment.issuer)
    const execute = [allowInsecureRequests]
    const discover = (id: string, secret?: string) =>
      discovery(issuer, id, undefined, secret ? ClientSecretBasic(secret) : None(), { execute })
    backend = await discover('backend', 'backend-secret')
    spa = await discover('spa')
    web = await discover('web', 'web-secret')
    resourceServer = await discover('resource-server', 'resource-server-secret')
  })
  after(() => deployment.close())

  /** What the integrator's backend does. */
  const subjectToken = async (members: Readonly<Record<string, unknown>> = {}): Promise<string> => {
    const { access_token: token } = await clientCredentialsGrant(backend, {
      resource: `${deployment.baseUrl}/api`,
      scope: 'subject-tokens:create',
    })
    const response = await fetch(deployment.subjectTokens, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ userId: 'alice', context: { ticketId: 'T-1' }, ...members }),
    })
    expect(response.status).to.equal(201)
    return ((await response.json()) as { subjectToken: string }).subjectToken
  }

  const request = (token: string, changes: Readonly<Record<string, string>> = {}) => ({
    subject_token: token,
    subject_token_type: ACCESS_TOKEN_TYPE,
    resource: API,
    ...changes,
  })

  /** What the client throws for a refused request. */
  const errorOf = async (response: Promise<unknown>): Promise<ResponseBodyError> => {
    const error = await response.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(ResponseBodyError)
    return error as ResponseBodyError
  }

  it('finds the grant in discovery', () => {
    expect(spa.serverMetadata().grant_types_supported).to.include(TOKEN_EXCHANGE)
  })

  it('impersonates from a public client', async () => {
    const tokens = await genericGrantRequest(
      spa,
      TOKEN_EXCHANGE,
      request(await subjectToken(), { scope: 'orders:read' }),
    )
    expect(tokens.token_type).to.equal('bearer')
    expect(tokens.scope).to.equal('orders:read')
    expect(tokens.expiresIn()).to.be.closeTo(600, 2)
    expect(tokens.issued_token_type).to.equal(ACCESS_TOKEN_TYPE)
    expect(tokens.refresh_token).to.equal(undefined)
    expect(tokens.claims()).to.equal(undefined)
    expect(decodeJwt(tokens.access_token)).to.include({ sub: 'alice', aud: API, client_id: 'spa' })
  })

  it('delegates from a web application, with an actor token', async () => {
    const actor = withActor(await actorToken(deployment)) as Record<string, string>
    const tokens = await genericGrantRequest(web, TOKEN_EXCHANGE, request(await subjectToken(), actor))
    expect(decodeJwt(tokens.access_token)).to.deep.include({
      sub: 'alice',
      act: { sub: 'bob' },
      client_id: 'web',
    })
  })

  it('shows an opaque token to the resource server', async () => {
    const token = await subjectToken()
    const tokens = await genericGrantRequest(spa, TOKEN_EXCHANGE, request(token, { resource: OPAQUE_API }))
    const response = await tokenIntrospection(resourceServer, tokens.access_token)
    expect(response).to.include({ active: true, sub: 'alice', aud: OPAQUE_API, client_id: 'spa' })
  })

  it('reports a used subject token as invalid_request', async () => {
    const token = await subjectToken()
    await genericGrantRequest(spa, TOKEN_EXCHANGE, request(token))
    const {
      status,
      error,
      error_description: description,
    } = await errorOf(genericGrantRequest(spa, TOKEN_EXCHANGE, request(token)))
    expect([status, error, description]).to.deep.equal([400, 'invalid_request', 'subject_token is invalid'])
  })

  it('reports an unknown resource as invalid_target, and the token can be used again', async () => {
    const token = await subjectToken()
    const unknown = request(token, { resource: 'https://unknown.example.com' })
    const { status, error } = await errorOf(genericGrantRequest(spa, TOKEN_EXCHANGE, unknown))
    expect([status, error]).to.deep.equal([400, 'invalid_target'])
    await genericGrantRequest(spa, TOKEN_EXCHANGE, request(token))
  })

  it('reports a client that may not exchange as invalid_request', async () => {
    const token = await subjectToken()
    const { status, error } = await errorOf(genericGrantRequest(backend, TOKEN_EXCHANGE, request(token)))
    expect([status, error]).to.deep.equal([400, 'invalid_request'])
  })
})
