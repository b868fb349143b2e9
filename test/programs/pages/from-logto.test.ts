/** docs/from-logto.md: what it says of access tokens is what the provider does with them. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { stopClock } from '../../../fixtures/clock.ts'
import { API, OPAQUE_API, startDeployment, useDeployment } from '../../../fixtures/deployment.ts'
import { manage } from '../../../fixtures/management.ts'
import { readPage } from '../../../fixtures/markdown.ts'
import { BILLING, downstream, ownToken, passOn, viewed } from '../../../fixtures/on-behalf-of.ts'
import { codeOf, rowsOf, sectionOf } from '../../../fixtures/page.ts'
import { exchange, introspect, issue } from '../../../fixtures/requests.ts'
import { createVerifier } from '../../../packages/resource-server/src/index.ts'

const PAGE = readPage('docs/from-logto.md')
const MISSING = sectionOf(PAGE, 'Missing')

/** What is here, in place of what Logto has. */
const inPlaceOf = (what: string): string => {
  const [, here = ''] = rowsOf(sectionOf(PAGE, 'Different')).find(([logto]) => logto?.includes(what)) ?? []
  expect(here, what).not.to.equal('')
  return here
}

describe('docs: from Logto', () => {
  const deployment = useDeployment(downstream())

  it("names the option by which an API exchanges a user's own access token", async () => {
    const [option = ''] = codeOf(inPlaceOf('service-to-service-delegation'))
    expect(MISSING).not.to.match(/own access token|the only kind/)
    const passedOn = async (options: object): Promise<string> => {
      const own = await startDeployment(downstream(options))
      try {
        const { status, body } = await passOn(own, await ownToken(own), { scope: 'orders:read' })
        return status === 200 ? body.access_token : body.error
      } finally {
        await own.close()
      }
    }
    expect(await passedOn({ onBehalfOf: undefined })).to.equal('invalid_request')
    const token = await passedOn({ onBehalfOf: undefined, [option]: true })
    expect(decodeJwt(token)).to.deep.include({
      ...{ sub: 'alice', aud: BILLING, scope: 'orders:read' },
      act: { sub: 'orders-api', client_id: 'orders-api' },
    })
  })

  it('is right that a JWT is stopped too, and an opaque token at once', async () => {
    const [, gained = ''] = /In return (.*?)\n\n/s.exec(MISSING) ?? []
    expect(gained).to.match(/opaque ones at once and JWTs through\s+\[status lists\]/)
    const verify = createVerifier({ issuer: deployment.issuer, audience: API })
    const request = (token: string) =>
      new Request('http://api.example.com', { headers: { authorization: `Bearer ${token}` } })
    const jwt = await viewed(deployment)
    const opaque = await viewed(deployment, { resource: OPAQUE_API })
    expect(await verify(request(jwt.accessToken))).to.include({ user: 'alice' })
    for (const { id } of [jwt, opaque])
      expect((await manage(deployment, 'DELETE', `/${id}`)).status).to.equal(204)
    expect(await introspect(deployment, opaque.accessToken)).to.deep.equal({ active: false })
    const clock = stopClock()
    try {
      clock.tick(32)
      const error = await verify(request(jwt.accessToken)).catch((thrown: unknown) => thrown)
      expect(error).to.have.property('status', 401)
    } finally {
      clock.restore()
    }
  })

  it('is right that personal access tokens are missing', async () => {
    expect(MISSING).to.include('Personal access tokens')
    const { subjectToken } = await issue(deployment)
    const { status, body } = await exchange(deployment, {
      subject_token: subjectToken,
      subject_token_type: 'urn:logto:token-type:personal_access_token',
    })
    expect([status, body.error]).to.deep.equal([400, 'invalid_request'])
  })
})
