/** Sender-constrained exchanges by DPoP (RFC 9449) and mutual TLS (RFC 8705), see protocol.md §3.1 and §4. */
import { X509Certificate } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { CERTIFICATE, OTHER_CERTIFICATE, publicClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { type Deployment, OPAQUE_API, startDeployment } from '../../fixtures/deployment.ts'
import { type DpopKey, dpopKey } from '../../fixtures/dpop.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { certificateThumbprint } from '../../src/provider/actor-token.ts'
import { expectRefused } from './refusals.ts'

const dpopClient = publicClient({ client_id: 'dpop', dpop_bound_access_tokens: true })
const mtlsClient = publicClient({ client_id: 'mtls', tls_client_certificate_bound_access_tokens: true })
const bothClient = publicClient({ client_id: 'both', tls_client_certificate_bound_access_tokens: true })

/** A proxy passes the certificate in a header. */
const presenting = (pem: string) => ({ 'x-client-certificate': encodeURIComponent(pem) })
const getCertificate = (ctx: { get(name: string): string }) =>
  decodeURIComponent(ctx.get('x-client-certificate')) || undefined
const x5t = new X509Certificate(CERTIFICATE)

describe('token exchange: the sender constraint', () => {
  let deployment: Deployment
  let key: DpopKey
  before(async () => {
    key = await dpopKey()
    deployment = await startDeployment({
      clients: [dpopClient, mtlsClient, bothClient],
      configuration: {
        features: { mTLS: { enabled: true, certificateBoundAccessTokens: true, getCertificate } },
      },
    })
  })
  after(() => deployment.close())

  const withProof = async (parameters: Parameters, proof?: string, client = publicClient()) =>
    exchange(deployment, parameters, { client, headers: { dpop: proof ?? (await key.proof(deployment)) } })

  /** What the operator reads: the provider's own words. */
  const reasons = () => deployment.events.map(({ payload }) => Reflect.get(payload, 'reason'))

  describe('by DPoP', () => {
    it('binds a JWT to the key that was proven', async () => {
      const { subjectToken } = await issue(deployment)
      const response = await withProof({ subject_token: subjectToken })
      expect(response.status, response.text).to.equal(200)
      expect(response.body.token_type).to.equal('DPoP')
      expect(decodeJwt(response.body.access_token).cnf).to.deep.equal({ jkt: key.thumbprint })
    })

    it('binds an opaque token to the key that was proven', async () => {
      const { subjectToken } = await issue(deployment)
      const response = await withProof({ subject_token: subjectToken, resource: OPAQUE_API })
      expect(response.body.token_type, response.text).to.equal('DPoP')
      const token = await introspect(deployment, response.body.access_token)
      expect(token).to.deep.include({ active: true, token_type: 'DPoP', cnf: { jkt: key.thumbprint } })
    })

    it('binds nothing when no proof is sent', async () => {
      const { subjectToken } = await issue(deployment)
      const { body } = await exchange(deployment, { subject_token: subjectToken })
      expect(body.token_type).to.equal('Bearer')
      expect(decodeJwt(body.access_token)).not.to.have.property('cnf')
    })

    it('refuses a client registered for DPoP that sends no proof', async () => {
      await expectRefused(deployment, {
        attempt: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken }, { client: dpopClient }),
        valid: (subjectToken) => withProof({ subject_token: subjectToken }, undefined, dpopClient),
        error: 'invalid_grant',
        check: 'invalid_grant',
      })
      expect(reasons()).to.include('DPoP proof JWT not provided')
    })

    it('refuses a proof that was seen before, and spends nothing', async () => {
      const proof = await key.proof(deployment)
      const { subjectToken } = await issue(deployment)
      expect((await withProof({ subject_token: subjectToken }, proof)).status).to.equal(200)
      await expectRefused(deployment, {
        attempt: (second) => withProof({ subject_token: second }, proof),
        valid: (second) => withProof({ subject_token: second }),
        error: 'invalid_grant',
        check: 'invalid_grant',
      })
      expect(reasons()).to.include('DPoP proof JWT Replay detected')
    })

    it('does not record the proof of a request that is refused before the spend', async () => {
      const proof = await key.proof(deployment)
      await expectRefused(deployment, {
        attempt: (subjectToken) =>
          withProof({ subject_token: subjectToken, resource: 'https://unknown.example.com' }, proof),
        valid: (subjectToken) => withProof({ subject_token: subjectToken }, proof),
        error: 'invalid_target',
        check: 'invalid_target',
      })
    })

    const proofs: [title: string, make: () => Promise<string> | string][] = [
      ['for another method', () => key.proof(deployment, { htm: 'GET' })],
      ['for another endpoint', () => key.proof(deployment, { htu: `${deployment.issuer}/userinfo` })],
      ['from an hour ago', () => key.proof(deployment, { iat: now() - 3600 })],
      ['from an hour ahead', () => key.proof(deployment, { iat: now() + 3600 })],
      ['without jti', () => key.proof(deployment, { jti: undefined })],
      ['with a changed signature', async () => (await key.proof(deployment)).replace(/.{8}$/, 'AAAAAAAA')],
      ['that is not a JWT', () => 'garbage'],
    ]
    for (const [title, make] of proofs) {
      it(`refuses a proof ${title}`, async () => {
        const proof = await make()
        await expectRefused(deployment, {
          attempt: (subjectToken) => withProof({ subject_token: subjectToken }, proof),
          error: 'invalid_dpop_proof',
          check: 'invalid_dpop_proof',
        })
      })
    }

    it('lets one of two simultaneous requests with one subject token win, with any proofs', async () => {
      const { subjectToken } = await issue(deployment)
      const before = deployment.events.length
      const responses = await Promise.all([1, 2].map(() => withProof({ subject_token: subjectToken })))
      expect(responses.map(({ status }) => status).sort()).to.deep.equal([200, 400])
      const names = deployment.events.slice(before).map(({ name }) => name)
      expect(names.sort()).to.deep.equal(['subject_token.exchanged', 'subject_token.replayed'])
    })
  })

  describe('by mutual TLS', () => {
    it('knows a certificate by one thumbprint: PEM, bare base64 or parsed', () => {
      const thumbprint = certificateThumbprint(CERTIFICATE)
      const bare = CERTIFICATE.replace(/-----[A-Z ]+-----|\n/g, '')
      expect(certificateThumbprint(bare)).to.equal(thumbprint)
      expect(certificateThumbprint(x5t)).to.equal(thumbprint)
      expect(certificateThumbprint(OTHER_CERTIFICATE)).not.to.equal(thumbprint)
      expect(certificateThumbprint(undefined)).to.equal(undefined)
    })

    it('binds the token of a client registered for it to the certificate', async () => {
      const { subjectToken } = await issue(deployment)
      const sender = { client: mtlsClient, headers: presenting(CERTIFICATE) }
      const response = await exchange(deployment, { subject_token: subjectToken }, sender)
      expect(response.status, response.text).to.equal(200)
      expect(response.body.token_type).to.equal('Bearer')
      const cnf = { 'x5t#S256': certificateThumbprint(x5t) }
      expect(decodeJwt(response.body.access_token).cnf).to.deep.equal(cnf)
    })

    it('shows the certificate of an opaque token at introspection', async () => {
      const { subjectToken } = await issue(deployment)
      const sender = { client: mtlsClient, headers: presenting(CERTIFICATE) }
      const response = await exchange(
        deployment,
        { subject_token: subjectToken, resource: OPAQUE_API },
        sender,
      )
      const token = await introspect(deployment, response.body.access_token)
      expect(token).to.deep.include({ active: true, cnf: { 'x5t#S256': certificateThumbprint(x5t) } })
    })

    it('refuses a client registered for it that presents no certificate', async () => {
      await expectRefused(deployment, {
        attempt: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken }, { client: mtlsClient }),
        valid: (subjectToken) =>
          exchange(
            deployment,
            { subject_token: subjectToken },
            { client: mtlsClient, headers: presenting(CERTIFICATE) },
          ),
        error: 'invalid_grant',
        check: 'invalid_grant',
      })
    })

    it('binds nothing for a client that is not registered for it', async () => {
      const { subjectToken } = await issue(deployment)
      const sender = { headers: presenting(CERTIFICATE) }
      const { body } = await exchange(deployment, { subject_token: subjectToken }, sender)
      expect(decodeJwt(body.access_token)).not.to.have.property('cnf')
    })
  })

  it('refuses a request that proves a key and a certificate at once, and spends nothing', async () => {
    const headers = { ...presenting(CERTIFICATE), dpop: await key.proof(deployment) }
    await expectRefused(deployment, {
      attempt: (subjectToken) =>
        exchange(deployment, { subject_token: subjectToken }, { client: bothClient, headers }),
      error: 'invalid_request',
      check: 'invalid_request',
    })
    expect(reasons()).to.include('multiple proof-of-possession mechanisms are not allowed')
  })
})
