/** A deployment that configures no resources of its own (protocol.md §1.1: `configure` adds the management resource). */
import { expect } from 'chai'
import { machineClient } from '../../fixtures/clients.ts'
import { API, type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { show } from '../../fixtures/management.ts'
import { exchange, issue, managementToken, postToken } from '../../fixtures/requests.ts'
import { onlyEvent } from '../exchange/refusals.ts'

describe('a deployment without getResourceServerInfo', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment({
      configuration: {
        features: { resourceIndicators: { enabled: true, getResourceServerInfo: undefined } },
      },
    })
  })
  after(() => deployment.close())

  it('has its management API', async () => {
    expect((await managementToken(deployment)).split('.')).to.have.lengthOf(3)
    await issue(deployment)
  })

  it('has no resource that a subject token could be exchanged for, and spends none', async () => {
    const { subjectToken, id } = await issue(deployment)
    const before = deployment.events.length
    const response = await exchange(deployment, { subject_token: subjectToken })
    expect([response.status, response.body], response.text).to.deep.equal([
      400,
      { error: 'invalid_target', error_description: 'resource indicator is missing, or unknown' },
    ])
    expect(onlyEvent(deployment, 'subject_token.refused', before)).to.include({ id, check: 'invalid_target' })
    expect((await show(deployment, id)).body.state).to.equal('active')
    expect(deployment.errors).to.deep.equal([])
  })

  it('has no other resource for client_credentials either', async () => {
    const request = { grant_type: 'client_credentials', resource: API }
    const response = await postToken(deployment, request, { client: machineClient() })
    expect([response.status, response.body.error], response.text).to.deep.equal([400, 'invalid_target'])
  })
})

describe('a deployment whose getResourceServerInfo returns nothing', () => {
  for (const nothing of [undefined, null]) {
    it(`is told so by the provider, in its log: ${nothing}`, () => {
      const getResourceServerInfo = () => nothing as never
      const features = { resourceIndicators: { enabled: true, getResourceServerInfo } }
      return withDeployment({ configuration: { features } }, async (deployment) => {
        const { subjectToken, id } = await issue(deployment)
        const response = await exchange(deployment, { subject_token: subjectToken })
        expect([response.status, response.body.error], response.text).to.deep.equal([500, 'server_error'])
        const [logged] = deployment.errors
        expect(logged)
          .to.have.property('message')
          .that.includes('getResourceServerInfo must return an object')
        expect((await show(deployment, id)).body.state).to.equal('active')
      })
    })
  }
})
