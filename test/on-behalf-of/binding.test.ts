/** Sender-constrained tokens (protocol.md §8.2): taken without their proof, and their child is bound to the API's key. */
import { expect } from 'chai'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { actorJwt, actorToken } from '../../fixtures/actor-tokens.ts'
import { CERTIFICATE } from '../../fixtures/clients.ts'
import { type Deployment, OPAQUE_API, startDeployment } from '../../fixtures/deployment.ts'
import { type DpopKey, dpopKey } from '../../fixtures/dpop.ts'
import { apiClient, downstream, ownToken, passedOn, passOn } from '../../fixtures/on-behalf-of.ts'
import { certificateThumbprint } from '../../src/provider/actor-token.ts'
import { expectNotPassedOn } from './refusals.ts'

const getCertificate = (ctx: KoaContextWithOIDC) =>
  ctx.get('x-certificate') && decodeURIComponent(ctx.get('x-certificate'))
const tlsApi = apiClient({
  client_id: 'tls-api',
  client_secret: 'tls-secret',
  tls_client_certificate_bound_access_tokens: true,
})
const UNBOUND = 'bound to a key, and the new token would not be'

describe('on behalf of: tokens that are bound to a key', () => {
  let deployment: Deployment
  let [users, own]: DpopKey[] = []
  before(async () => {
    const features = { mTLS: { enabled: true, certificateBoundAccessTokens: true, getCertificate } }
    deployment = await startDeployment(
      downstream({}, { clients: [tlsApi], configuration: { features: features as never } }),
    )
    users = await dpopKey()
    own = await dpopKey()
  })
  after(() => deployment.close())

  const proof = async (key: DpopKey | undefined) => ({ dpop: (await key?.proof(deployment)) ?? '' })
  const certificate = { 'x-certificate': encodeURIComponent(CERTIFICATE) }
  const bound = (cnf: unknown) => actorJwt(deployment, { sub: 'alice', cnf })

  it('are exchanged for one that is bound to the key of the API, by DPoP', async () => {
    const token = await bound({ jkt: users?.thumbprint })
    const { claims } = await passedOn(deployment, token, {}, { headers: await proof(own) })
    expect(claims.cnf).to.deep.equal({ jkt: own?.thumbprint })
    const { body } = await passOn(deployment, token, {}, { headers: await proof(own) })
    expect(body.token_type).to.equal('DPoP')
  })

  it('are exchanged for one that is bound to the certificate of the API', async () => {
    const token = await bound({ jkt: users?.thumbprint })
    const { claims } = await passedOn(deployment, token, {}, { client: tlsApi, headers: certificate })
    expect(claims.cnf).to.deep.equal({ 'x5t#S256': certificateThumbprint(CERTIFICATE) })
  })

  for (const [title, cnf] of [
    ['a DPoP key', { jkt: 'thumbprint' }],
    ['a certificate', { 'x5t#S256': 'thumbprint' }],
    ['a key of a kind that is unknown here', { jwe: 'x' }],
    ['a key of two kinds', { jkt: 'x', 'x5t#S256': 'y' }],
    ['nothing that can be read', {}],
    ['null', null],
  ] as const) {
    it(`are not exchanged for one that is bound to nothing: bound to ${title}`, async () => {
      const token = await bound(cnf)
      await expectNotPassedOn(deployment, () => passOn(deployment, token), { reason: UNBOUND })
      // A certificate that is presented and not bound to is none.
      const attempt = () => passOn(deployment, token, {}, { headers: certificate })
      await expectNotPassedOn(deployment, attempt, { reason: UNBOUND })
      await passedOn(deployment, token, {}, { headers: await proof(own) })
    })
  }

  it('are not exchanged for one that is bound to nothing: opaque', async () => {
    const token = await actorToken(deployment, { accountId: 'alice', audience: OPAQUE_API })
    const { adapter } = deployment.provider.AccessToken
    const stored = await adapter.find(token)
    for (const binding of [{ jkt: users?.thumbprint }, { 'x5t#S256': 'thumbprint' }]) {
      await adapter.upsert(token, { ...stored, ...binding } as never, 600)
      await expectNotPassedOn(deployment, () => passOn(deployment, token), { reason: UNBOUND })
      await passedOn(deployment, token, {}, { headers: await proof(own) })
    }
  })

  it('need no proof where the received token needs none, and one that is sent binds all the same', async () => {
    const token = await ownToken(deployment)
    expect((await passedOn(deployment, token)).claims).not.to.have.property('cnf')
    const { claims } = await passedOn(deployment, token, {}, { headers: await proof(own) })
    expect(claims.cnf).to.deep.equal({ jkt: own?.thumbprint })
  })

  it('need a proof that is right and new', async () => {
    const token = await bound({ jkt: users?.thumbprint })
    const headers = await proof(own)
    await passedOn(deployment, token, {}, { headers })
    const again = await passOn(deployment, token, {}, { headers })
    expect([again.status, again.body.error]).to.deep.equal([400, 'invalid_grant'])
    const wrong = { dpop: (await own?.proof(deployment, { htu: 'https://elsewhere.example.com' })) ?? '' }
    expect((await passOn(deployment, token, {}, { headers: wrong })).body.error).to.equal(
      'invalid_dpop_proof',
    )
    const names = deployment.events.slice(-2).map(({ name }) => name)
    expect(names).to.deep.equal(['access_token.refused', 'access_token.refused'])
  })

  it('write nothing but the record of the proof', async () => {
    const token = await ownToken(deployment)
    const during = async (headers: Record<string, string>) => {
      const before = deployment.database.statements.length
      await passedOn(deployment, token, {}, { headers })
      return deployment.database.statements.slice(before).filter((sql) => !/: SELECT/.test(sql))
    }
    expect(await during({})).to.deep.equal([])
    const written = await during(await proof(own))
    expect(written).to.have.lengthOf(1)
    expect(written[0]).to.include('oidc_models')
  })
})
