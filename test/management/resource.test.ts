/** The management resource exists for client_credentials only (protocol.md §2.3). */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { CALLBACK, machineClient, webClient } from '../../fixtures/clients.ts'
import { type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { exchange, issue, managementToken, postSubjectToken, postToken } from '../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'

const VERIFIER = 'v'.repeat(43)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

/** A client with every privilege, so only the resource can be the reason for a refusal. */
const client = webClient({
  client_id: 'everything',
  grant_types: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE],
  scope: 'openid offline_access subject-tokens:create subject-tokens:read subject-tokens:revoke',
})
const SCOPE = 'openid subject-tokens:create'

describe('management: the resource', () => {
  let deployment: Deployment
  let resource: string
  before(async () => {
    deployment = await startDeployment({ clients: [client] })
    resource = `${deployment.baseUrl}/api`
  })
  after(() => deployment.close())

  const expectInvalidTarget = (response: HttpResponse) =>
    expect([response.status, response.body?.error], response.text).to.deep.equal([400, 'invalid_target'])

  const expectNotAuthorized = async ({ issuer, baseUrl }: Deployment, more: Record<string, string> = {}) => {
    const url = new URL(`${issuer}/auth`)
    url.search = new URLSearchParams({
      client_id: 'everything',
      response_type: 'code',
      redirect_uri: CALLBACK,
      scope: SCOPE,
      resource: `${baseUrl}/api`,
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
      state: 's',
      ...more,
    }).toString()
    const response = await fetch(url, { redirect: 'manual' })
    const location = new URL(response.headers.get('location') ?? '')
    expect(location.href.startsWith(CALLBACK), location.href).to.equal(true)
    expect(location.searchParams.get('error')).to.equal('invalid_target')
  }

  it('is refused at the authorization endpoint', () => expectNotAuthorized(deployment))

  it('is refused at the authorization endpoint to a request that names the grant, where the deployment reads that', () =>
    withDeployment({ clients: [client], configuration: { extraParams: ['grant_type'] } }, (other) =>
      expectNotAuthorized(other, { grant_type: 'client_credentials' }),
    ))

  it('is refused in the token exchange', async () => {
    const { subjectToken } = await issue(deployment)
    const parameters = { subject_token: subjectToken, resource, scope: 'subject-tokens:create' }
    expectInvalidTarget(await exchange(deployment, parameters, { client }))
  })

  /** Members of a code or a refresh token for the management resource, as if that were possible. */
  const granted = async () => {
    const { provider } = deployment
    const grant = new provider.Grant({ clientId: 'everything', accountId: 'alice' })
    grant.addOIDCScope('openid offline_access')
    grant.addResourceScope(resource, SCOPE)
    return {
      accountId: 'alice',
      client: await provider.Client.find('everything'),
      grantId: await grant.save(),
      gty: 'authorization_code',
      resource,
      scope: `${SCOPE} offline_access`,
    }
  }

  it('is refused in the authorization_code grant', async () => {
    const code = new deployment.provider.AuthorizationCode({
      ...(await granted()),
      redirectUri: CALLBACK,
      codeChallenge: CHALLENGE,
      codeChallengeMethod: 'S256',
    } as never)
    const parameters = { code: await code.save(), redirect_uri: CALLBACK, code_verifier: VERIFIER, resource }
    expectInvalidTarget(
      await postToken(deployment, { grant_type: 'authorization_code', ...parameters }, { client }),
    )
  })

  it('is refused in the refresh_token grant', async () => {
    const token = new deployment.provider.RefreshToken((await granted()) as never)
    const parameters = { refresh_token: await token.save(), resource }
    expectInvalidTarget(
      await postToken(deployment, { grant_type: 'refresh_token', ...parameters }, { client }),
    )
  })

  it('yields a JWT of typ at+jwt, for the client itself, signed with the first signing key', async () => {
    const token = await managementToken(deployment)
    expect(decodeProtectedHeader(token)).to.deep.include({ typ: 'at+jwt', alg: 'ES256' })
    const claims = decodeJwt(token)
    expect(claims).to.include({ iss: deployment.issuer, aud: resource, sub: 'backend', client_id: 'backend' })
  })

  it('is the issuer with /oidc replaced by /api, by default', async () => {
    expect((await postSubjectToken(deployment, { userId: 'alice' })).status).to.equal(201)
    for (const other of [`${deployment.issuer}/api`, `${resource}/`, deployment.baseUrl]) {
      const parameters = { grant_type: 'client_credentials', resource: other }
      expectInvalidTarget(await postToken(deployment, parameters, { client: machineClient() }))
    }
  })

  const defaults: [issuer: string, resource: string][] = [
    ['https://id.example.com', 'https://id.example.com/api'],
    ['https://id.example.com/', 'https://id.example.com/api'],
    ['https://id.example.com/oidc/', 'https://id.example.com/api'],
    ['https://example.com/auth', 'https://example.com/auth/api'],
    ['https://oidc.example.com/oidc', 'https://oidc.example.com/api'],
    ['https://example.com/oidc/tenant', 'https://example.com/oidc/tenant/api'],
  ]
  for (const [issuer, name] of defaults) {
    it(`is ${name} for the issuer ${issuer}`, () =>
      withDeployment({ issuer }, async (other) => {
        const token = await managementToken(other, { resource: name })
        expect((await postSubjectToken(other, { userId: 'alice' }, token)).status).to.equal(201)
      }))
  }

  it('is what the option managementResource says', () =>
    withDeployment(
      { options: { managementResource: 'https://id.example.com/management' } },
      async (other) => {
        const token = await managementToken(other, { resource: 'https://id.example.com/management' })
        expect((await postSubjectToken(other, { userId: 'alice' }, token)).status).to.equal(201)
        const parameters = { grant_type: 'client_credentials', resource: `${other.baseUrl}/api` }
        expectInvalidTarget(await postToken(other, parameters, { client: machineClient() }))
      },
    ))
})
