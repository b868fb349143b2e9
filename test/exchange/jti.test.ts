/** What an API logs leads to the record: the `jti` of a JWT is its id (protocol.md §2.2, §4). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { type Deployment, OPAQUE_API, startDeployment } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { billingApi, downstream, LEDGER, ownToken, passedOn } from '../../fixtures/on-behalf-of.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import type { CustomClaimsRequest } from '../../src/index.ts'

const jtiIn = (accessToken: string) => decodeJwt(accessToken).jti

describe('the jti of an access token', () => {
  const asked: CustomClaimsRequest[] = []
  let deployment: Deployment
  before(async () => {
    const getCustomJwtClaims = (request: CustomClaimsRequest) => {
      asked.push(request)
      return {}
    }
    deployment = await startDeployment(downstream({ onBehalfOf: { hops: 2 }, getCustomJwtClaims }))
  })
  after(() => deployment.close())

  const lastEvent = () => Object(deployment.events.at(-1)?.payload)
  const exchanged = async (changes: Parameters = {}) => {
    const { id, subjectToken } = await issue(deployment)
    const { body, text } = await exchange(deployment, { subject_token: subjectToken, ...changes })
    expect(body.access_token, text).to.be.a('string')
    return { id, subjectToken, accessToken: body.access_token as string }
  }

  it('of an exchange is the id of the record, for the claims function and in the events too', async () => {
    const { id, subjectToken, accessToken } = await exchanged()
    expect(jtiIn(accessToken)).to.equal(id)
    expect(asked.at(-1)?.token.jti).to.equal(id)
    expect(lastEvent().accessToken.jti).to.equal(id)
    await exchange(deployment, { subject_token: subjectToken })
    expect(lastEvent()).to.include({ jti: id, ended: 'now' })
  })

  it('of an opaque one is told nowhere: it is its value', async () => {
    const { subjectToken, accessToken } = await exchanged({ resource: OPAQUE_API })
    expect(asked.at(-1)?.token).not.to.have.property('jti')
    expect(lastEvent().accessToken).not.to.have.property('jti')
    await exchange(deployment, { subject_token: subjectToken })
    expect(lastEvent()).to.include({ ended: 'now' }).and.not.to.have.property('jti')
    expect(JSON.stringify(deployment.events)).not.to.include(accessToken)
  })

  it('of what APIs are given for an impersonation begins with that id, and is another each time', async () => {
    for (const changes of [{}, { resource: OPAQUE_API }]) {
      const { id, accessToken } = await exchanged(changes)
      const ofRecord = new RegExp(`^${id}\\.[\\w-]{22}$`)
      const children = [await passedOn(deployment, accessToken), await passedOn(deployment, accessToken)]
      const [{ accessToken: child } = expect.fail()] = children
      const client = billingApi()
      children.push(await passedOn(deployment, child, { resource: LEDGER }, { client }))
      const jtis = children.map(({ claims }) => claims.jti)
      for (const jti of jtis) expect(jti).to.match(ofRecord)
      expect(new Set(jtis).size).to.equal(3)
      expect(lastEvent()).to.deep.include({ parentJti: jtis[0] })
      expect([lastEvent().accessToken.jti, asked.at(-1)?.token.jti]).to.deep.equal([jtis[2], jtis[2]])
    }
  })

  it("of what APIs are given for a user's own token is random", async () => {
    const token = await ownToken(deployment)
    const jtis = [await passedOn(deployment, token), await passedOn(deployment, token)].map(
      ({ claims }) => claims.jti,
    )
    for (const jti of jtis) expect(jti).to.match(/^[\w-]{43}$/)
    expect(new Set(jtis).size).to.equal(2)
  })
})
