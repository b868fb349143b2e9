/** The programs of docs/clients.md: an invitation to register, and a client in the database. */
import { expect } from 'chai'
import { CALLBACK, machineClient } from '../../../fixtures/clients.ts'
import { useDeployment } from '../../../fixtures/deployment.ts'
import { manage } from '../../../fixtures/management.ts'
import { usePrograms } from '../../../fixtures/markdown.ts'
import { HARMLESS, MACHINE, register } from '../../../fixtures/registration.ts'
import { managementToken } from '../../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../../src/index.ts'

describe('docs: clients', () => {
  const deployment = useDeployment({
    configuration: { features: { registration: { enabled: true, initialAccessToken: true } } },
  })
  const programs = usePrograms('docs/clients.md')

  it('has an invitation that lets clients register with the grant, more than once', async () => {
    const { invite } = await programs.load('invite.ts')
    const token = await invite(deployment.provider)
    const exchanging = {
      ...HARMLESS,
      grant_types: ['authorization_code', TOKEN_EXCHANGE],
      redirect_uris: [CALLBACK],
    }
    for (const metadata of [exchanging, exchanging, { ...MACHINE, scope: 'subject-tokens:read' }])
      expect((await register(deployment, metadata, token)).status).to.equal(201)
    const found = await deployment.provider.InitialAccessToken.find(token)
    expect(found?.remainingTTL).to.be.within(3500, 3600)
  })

  it('stores a client, whose registration takes effect with the next request', async () => {
    const { storeClient } = await programs.load('store-client.ts')
    const client = machineClient({ client_id: 'stored-backend', scope: 'subject-tokens:read' })
    await storeClient(deployment.database.sequelize, client)
    const token = await managementToken(deployment, { client, scope: 'subject-tokens:read' })
    const list = async () => (await manage(deployment, 'GET', '', { token })).status
    expect(await list()).to.equal(200)
    await storeClient(deployment.database.sequelize, { ...client, scope: 'subject-tokens:revoke' })
    expect(await list()).to.equal(403)
  })
})
