/** The whole flow as applications run it, with the two libraries that they use: oauth4webapi 3 and openid-client 6. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
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
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { API, OPAQUE_API, useDeployment } from '../../../fixtures/deployment.ts'
import { issue } from '../../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../../src/index.ts'

const request = (subjectToken: string, changes: Readonly<Record<string, string>> = {}) => ({
  subject_token: subjectToken,
  subject_token_type: ACCESS_TOKEN_TYPE,
  resource: API,
  ...changes,
})

/** What a client throws. */
async function thrownBy<Thrown extends Error>(
  response: Promise<unknown>,
  kind: new (...given: never[]) => Thrown,
): Promise<Thrown> {
  const error = await response.catch((thrown: unknown) => thrown)
  if (!(error instanceof kind)) expect.fail(String(error))
  return error
}

describe('flow with oauth4webapi', () => {
  const INSECURE = { [oauth.allowInsecureRequests]: true }
  const spa: oauth.Client = { client_id: 'spa' }
  const web: oauth.Client = { client_id: 'web' }
  const deployment = useDeployment()
  let server: oauth.AuthorizationServer
  before(async () => {
    const issuer = new URL(deployment.issuer)
    server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, INSECURE))
  })

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
  ) => {
    const response = await oauth.genericTokenEndpointRequest(
      ...([server, client, authentication, TOKEN_EXCHANGE, request(token)] as const),
      { ...INSECURE, ...options },
    )
    return oauth.processGenericTokenEndpointResponse(server, client, response)
  }

  it('impersonates from a web application', async () => {
    const tokens = await exchange(web, oauth.ClientSecretBasic('web-secret'), await subjectToken())
    expect(decodeJwt(tokens.access_token).client_id).to.equal('web')
  })

  it('validates the issued token as a JWT access token (RFC 9068)', async () => {
    const { access_token: token } = await exchange(spa, oauth.None(), await subjectToken())
    const asked = new Request(API, { headers: { authorization: `Bearer ${token}` } })
    const claims = await oauth.validateJwtAccessToken(server, asked, API, INSECURE)
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
    const error = await thrownBy(exchange(spa, oauth.None(), token), oauth.ResponseBodyError)
    const { status, error: code, error_description: description } = error
    expect([status, code, description]).to.deep.equal([400, 'invalid_request', 'subject_token is invalid'])
  })

  it('reports a wrong client secret with a challenge (RFC 6749 §5.2), and the token can be used again', async () => {
    const token = await subjectToken()
    const response = exchange(web, oauth.ClientSecretBasic('wrong'), token)
    expect((await thrownBy(response, oauth.WWWAuthenticateChallengeError)).status).to.equal(401)
    await exchange(spa, oauth.None(), token)
  })

  it('reports a forged management token with a challenge (RFC 6750 §3)', async () => {
    const url = new URL(deployment.subjectTokens)
    const response = oauth.protectedResourceRequest('forged', 'POST', url, undefined, null, INSECURE)
    const [challenge] = (await thrownBy(response, oauth.WWWAuthenticateChallengeError)).cause
    expect(challenge?.scheme).to.equal('bearer')
    expect(challenge?.parameters).to.include({ realm: deployment.issuer, error: 'invalid_token' })
  })
})

describe('flow with openid-client', () => {
  const deployment = useDeployment()
  const discover = (id: string, secret?: string): Promise<Configuration> => {
    const authentication = secret ? ClientSecretBasic(secret) : None()
    const execute = [allowInsecureRequests]
    return discovery(new URL(deployment.issuer), id, undefined, authentication, { execute })
  }
  let spa: Configuration
  before(async () => {
    spa = await discover('spa')
  })

  const subjectToken = async (): Promise<string> => {
    const { access_token: token } = await clientCredentialsGrant(
      await discover('backend', 'backend-secret'),
      {
        resource: `${deployment.baseUrl}/api`,
        scope: 'subject-tokens:create',
      },
    )
    return (await issue(deployment, { context: { ticketId: 'T-1' } }, token)).subjectToken
  }

  it('impersonates from a public client, which finds the grant in discovery', async () => {
    expect(spa.serverMetadata().grant_types_supported).to.include(TOKEN_EXCHANGE)
    const parameters = request(await subjectToken(), { scope: 'orders:read' })
    const tokens = await genericGrantRequest(spa, TOKEN_EXCHANGE, parameters)
    expect(tokens).to.include({ token_type: 'bearer', scope: 'orders:read' })
    expect(tokens.expiresIn()).to.be.closeTo(600, 2)
    expect(tokens.issued_token_type).to.equal(ACCESS_TOKEN_TYPE)
    expect([tokens.refresh_token, tokens.claims()]).to.deep.equal([undefined, undefined])
    expect(decodeJwt(tokens.access_token)).to.include({ sub: 'alice', aud: API, client_id: 'spa' })
  })

  it('delegates from a web application, with an actor token', async () => {
    const actor = withActor(await actorToken(deployment)) as Record<string, string>
    const web = await discover('web', 'web-secret')
    const tokens = await genericGrantRequest(web, TOKEN_EXCHANGE, request(await subjectToken(), actor))
    const { sub, act, client_id: client } = decodeJwt(tokens.access_token)
    expect({ sub, act, client }).to.deep.equal({ sub: 'alice', act: { sub: 'bob' }, client: 'web' })
  })

  it('shows an opaque token to the resource server', async () => {
    const parameters = request(await subjectToken(), { resource: OPAQUE_API })
    const tokens = await genericGrantRequest(spa, TOKEN_EXCHANGE, parameters)
    const resourceServer = await discover('resource-server', 'resource-server-secret')
    const response = await tokenIntrospection(resourceServer, tokens.access_token)
    expect(response).to.include({ active: true, sub: 'alice', aud: OPAQUE_API, client_id: 'spa' })
  })

  it('reports an unknown resource as invalid_target, and the token can be used again', async () => {
    const token = await subjectToken()
    const unknown = request(token, { resource: 'https://unknown.example.com' })
    const refused = await thrownBy(genericGrantRequest(spa, TOKEN_EXCHANGE, unknown), ResponseBodyError)
    expect([refused.status, refused.error]).to.deep.equal([400, 'invalid_target'])
    await genericGrantRequest(spa, TOKEN_EXCHANGE, request(token))
  })
})
