/** The verifier with tokens of a real provider: what the exchange issues, and what else there is to present. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { introspectingClient, machineClient } from '../../../fixtures/clients.ts'
import { API, type Deployment, OPAQUE_API, startDeployment } from '../../../fixtures/deployment.ts'
import { dpopKey } from '../../../fixtures/dpop.ts'
import type { Parameters } from '../../../fixtures/http.ts'
import { login, loginClient } from '../../../fixtures/logins.ts'
import { manage } from '../../../fixtures/management.ts'
import { exchange, issue, managementToken } from '../../../fixtures/requests.ts'
import { assertInPerson, assertScope, createVerifier, type Verifier } from '../src/index.ts'
import { withBearer } from './issuer.ts'
import { expectInvalidToken, refusalOf } from './refusals.ts'

const batch: ClientMetadata = machineClient({ client_id: 'batch', scope: undefined })
const { client_id: clientId, client_secret: clientSecret = '' } = introspectingClient()

interface Sender {
  readonly headers: Readonly<Record<string, string>>
}

describe('resource server: with a provider', () => {
  let deployment: Deployment
  let verify: Verifier
  let verifyOpaque: Verifier
  before(async () => {
    deployment = await startDeployment({
      clients: [loginClient(), batch],
      options: {
        maxDelegationDepth: 2,
        getCustomJwtClaims: ({ context }) => ({
          ticket: context.grant.subjectTokenContext.ticketId ?? 'none',
        }),
      },
    })
    const { issuer } = deployment
    verify = createVerifier({ issuer, audience: API })
    verifyOpaque = createVerifier({
      issuer,
      audience: OPAQUE_API,
      introspection: { clientId, clientSecret },
    })
  })
  after(() => deployment.close())

  const exchanged = async (changes: Parameters = {}, sender?: Sender): Promise<string> => {
    const { subjectToken } = await issue(deployment, { context: { ticketId: 'T-1' } })
    const response = await exchange(
      deployment,
      { subject_token: subjectToken, scope: 'orders:read', ...changes },
      sender,
    )
    expect(response.status, response.text).to.equal(200)
    return response.body.access_token
  }
  it('tells the user from the engineer', async () => {
    const token = await exchanged(withActor(await actorToken(deployment)))
    const caller = await verify(withBearer(token))
    expect(caller).to.deep.include({
      user: 'alice',
      actor: { sub: 'bob' },
      actors: [{ sub: 'bob' }],
      through: [],
      impersonated: true,
      clientId: 'spa',
      scopes: ['orders:read'],
    })
    expect(caller.claims.ticket).to.equal('T-1')
    expect(caller.tokenId).to.match(/^[\w-]{20,}$/)
    expect(() => assertScope(caller, 'orders:read')).not.to.throw()
    expect((await refusalOf(() => assertScope(caller, 'orders:write'))).status).to.equal(403)
    expect((await refusalOf(() => assertInPerson(caller))).status).to.equal(403)
  })

  it('shows everyone of a chain, the newest first', async () => {
    const first = await exchanged({ ...withActor(await actorToken(deployment)), scope: 'openid orders:read' })
    const { subjectToken } = await issue(deployment, { userId: 'carol' })
    const response = await exchange(deployment, { subject_token: subjectToken, ...withActor(first) })
    expect(response.status, response.text).to.equal(200)
    const caller = await verify(withBearer(response.body.access_token))
    expect(caller).to.deep.include({ user: 'carol', actors: [{ sub: 'alice' }, { sub: 'bob' }] })
  })

  it('recognises an exchange without actor token by its status', async () => {
    const caller = await verify(withBearer(await exchanged()))
    expect(caller).to.deep.include({ user: 'alice', actors: [], impersonated: true })
  })

  it("takes a user's own token", async () => {
    const token = await actorToken(deployment, { accountId: 'alice', format: 'jwt', scope: 'orders:read' })
    const caller = await verify(withBearer(token))
    expect(caller).to.include({ user: 'alice', impersonated: false })
    expect(() => assertInPerson(caller)).not.to.throw()
  })

  it("takes a client's own token, JWT or opaque, for the client's", async () => {
    const ask = (resource: string) => managementToken(deployment, { client: batch, scope: null, resource })
    for (const [verifier, token] of [
      [verify, await ask(API)],
      [verifyOpaque, await ask(OPAQUE_API)],
    ] as const)
      expect(await verifier(withBearer(token))).to.include({
        user: 'batch',
        clientId: 'batch',
        impersonated: false,
      })
  })

  it('refuses what was not issued for it', async () => {
    const { tokens } = await login(deployment)
    for (const token of [
      await managementToken(deployment),
      await actorToken(deployment, { format: 'jwt', audience: OPAQUE_API }),
      tokens.id_token,
    ])
      await expectInvalidToken(verify(withBearer(token)))
    for (const token of [tokens.refresh_token, tokens.access_token, 'unknown'])
      await expectInvalidToken(verifyOpaque(withBearer(token)))
  })

  it('introspects opaque tokens, with and without actor, until they are stopped', async () => {
    const actor = withActor(await actorToken(deployment))
    const named = await verifyOpaque(withBearer(await exchanged({ resource: OPAQUE_API, ...actor })))
    expect(named).to.deep.include({ user: 'alice', actor: { sub: 'bob' }, impersonated: true })
    expect(named).not.to.have.property('tokenId')
    expect(named.claims).to.include({ ticket: 'T-1' }).and.not.have.any.keys('active', 'token_type', 'jti')

    const { subjectToken, id } = await issue(deployment)
    const response = await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
    const opaque = response.body.access_token
    expect(await verifyOpaque(withBearer(opaque))).to.include({ user: 'alice' })
    expect((await manage(deployment, 'DELETE', `/${id}`)).status).to.equal(204)
    await expectInvalidToken(verifyOpaque(withBearer(opaque)), 'not active')
  })

  for (const [kind, resource] of Object.entries({ JWT: API, 'opaque token': OPAQUE_API })) {
    it(`holds a bound ${kind} to its key`, async () => {
      const key = await dpopKey()
      const token = await exchanged({ resource }, { headers: { dpop: await key.proof(deployment) } })
      const url = `${resource}/orders`
      const ath = createHash('sha256').update(token).digest('base64url')
      const proof = await key.proof({ tokenEndpoint: url }, { htm: 'GET', ath })
      const verifier = resource === API ? verify : verifyOpaque
      const headers = { authorization: `DPoP ${token}`, dpop: proof }
      expect(await verifier(new Request(url, { headers }))).to.include({ user: 'alice' })
      await expectInvalidToken(verifier(withBearer(token)), 'presented as Bearer')
    })
  }
})
