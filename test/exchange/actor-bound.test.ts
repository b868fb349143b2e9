/** An actor token that is bound to a key is useless without that key (protocol.md §3.3). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorJwt, withActor } from '../../fixtures/actor-tokens.ts'
import { CERTIFICATE, OTHER_CERTIFICATE } from '../../fixtures/clients.ts'
import { type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { type DpopKey, dpopKey } from '../../fixtures/dpop.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { certificateThumbprint } from '../../src/provider/actor-token.ts'
import { expectActorRefused } from './refusals.ts'

const presenting = (pem: string) => ({ 'x-client-certificate': encodeURIComponent(pem) })
const getCertificate = (ctx: { get(name: string): string }) =>
  decodeURIComponent(ctx.get('x-client-certificate')) || undefined
const x5t = certificateThumbprint(CERTIFICATE)

describe('token exchange: a bound actor token', () => {
  let deployment: Deployment
  let key: DpopKey
  let otherKey: DpopKey
  before(async () => {
    ;[key, otherKey] = [await dpopKey(), await dpopKey()]
    deployment = await startDeployment({
      configuration: {
        features: { mTLS: { enabled: true, certificateBoundAccessTokens: true, getCertificate } },
      },
    })
  })
  after(() => deployment.close())

  const send = (subjectToken: string, actor: string, headers = {}) =>
    exchange(deployment, { subject_token: subjectToken, ...withActor(actor) }, { headers })

  const refuses = (actor: string, headers = {}) => expectActorRefused(deployment, actor, { headers })

  /** An opaque actor token with this binding. */
  const stored = async (members: Readonly<Record<string, string | undefined>>) => {
    const client = await deployment.provider.Client.find('spa')
    const token = new deployment.provider.AccessToken({
      accountId: 'bob',
      client,
      gty: 'authorization_code',
      scope: 'openid',
      ...members,
    } as never)
    return token.save()
  }

  const formats: [format: string, bound: (cnf: Record<string, string | undefined>) => Promise<string>][] = [
    ['opaque', stored],
    ['jwt', (cnf) => actorJwt(deployment, Object.keys(cnf).length > 0 ? { cnf } : {})],
  ]
  for (const [format, bound] of formats) {
    describe(`in ${format} form`, () => {
      it('by DPoP is accepted with a proof by the same key, which also binds the issued token', async () => {
        const { subjectToken } = await issue(deployment)
        const headers = { dpop: await key.proof(deployment) }
        const response = await send(subjectToken, await bound({ jkt: key.thumbprint }), headers)
        expect(response.status, response.text).to.equal(200)
        expect(decodeJwt(response.body.access_token)).to.deep.include({
          cnf: { jkt: key.thumbprint },
          act: { sub: 'bob' },
        })
      })

      it('by DPoP is refused without a proof', async () => refuses(await bound({ jkt: key.thumbprint })))

      it('by DPoP is refused with a proof by another key', async () =>
        refuses(await bound({ jkt: key.thumbprint }), { dpop: await otherKey.proof(deployment) }))

      it('by DPoP is refused with a certificate only', async () =>
        refuses(await bound({ jkt: key.thumbprint }), presenting(CERTIFICATE)))

      it('by certificate is accepted with the same certificate, from a client that is not bound', async () => {
        const { subjectToken } = await issue(deployment)
        const response = await send(subjectToken, await bound({ 'x5t#S256': x5t }), presenting(CERTIFICATE))
        expect(response.status, response.text).to.equal(200)
        expect(decodeJwt(response.body.access_token).act).to.deep.equal({ sub: 'bob' })
      })

      it('by certificate is refused without one', async () => refuses(await bound({ 'x5t#S256': x5t })))

      it('by certificate is refused with another one', async () =>
        refuses(await bound({ 'x5t#S256': x5t }), presenting(OTHER_CERTIFICATE)))

      it('by certificate is refused with a DPoP proof only', async () =>
        refuses(await bound({ 'x5t#S256': x5t }), { dpop: await key.proof(deployment) }))

      it('by nothing is accepted with a proof and a certificate, and the issued token is bound by the proof', async () => {
        const { subjectToken } = await issue(deployment)
        const headers = { ...presenting(CERTIFICATE), dpop: await key.proof(deployment) }
        const response = await send(subjectToken, await bound({}), headers)
        expect(response.status, response.text).to.equal(200)
        expect(decodeJwt(response.body.access_token)).to.deep.include({
          cnf: { jkt: key.thumbprint },
          act: { sub: 'bob' },
        })
      })
    })
  }

  it('that is bound by both is refused when only one is proven', async () => {
    const both = await actorJwt(deployment, { cnf: { jkt: key.thumbprint, 'x5t#S256': x5t } })
    await refuses(both, { dpop: await key.proof(deployment) })
    await refuses(both, presenting(CERTIFICATE))
  })

  it('that names another kind of key, or none that can be read, beside the one that is proven is refused', async () => {
    const proof = { dpop: await key.proof(deployment) }
    await refuses(await actorJwt(deployment, { cnf: { jkt: key.thumbprint, kid: 'x' } }), proof)
    const certificate = presenting(CERTIFICATE)
    for (const jkt of [7, null])
      await refuses(await actorJwt(deployment, { cnf: { jkt, 'x5t#S256': x5t } }), certificate)
    const unread = await actorJwt(deployment, { cnf: { jkt: key.thumbprint, 'x5t#S256': [x5t] } })
    await refuses(unread, { ...certificate, dpop: await key.proof(deployment) })
  })
})

describe('token exchange: an actor token that is bound to a certificate', () => {
  const settings: [title: string, mTLS: object | undefined][] = [
    ['without mutual TLS', undefined],
    ['with mutual TLS that is switched off', { enabled: false, getCertificate }],
  ]
  for (const [title, mTLS] of settings) {
    it(`is refused by a deployment ${title}: no certificate can be presented`, () =>
      withDeployment({ configuration: { features: { ...(mTLS && { mTLS }) } } }, async (deployment) => {
        const actor = await actorJwt(deployment, { cnf: { 'x5t#S256': x5t } })
        await expectActorRefused(deployment, actor)
        await expectActorRefused(deployment, actor, { headers: presenting(CERTIFICATE) })
      }))
  }
})
