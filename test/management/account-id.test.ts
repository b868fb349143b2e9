/** An account id that no store can keep is the deployment's fault: 500, told to the operator (protocol.md §2.1). */
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { machineClient } from '../../fixtures/clients.ts'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { show } from '../../fixtures/management.ts'
import { idFrom, managementToken, postSubjectToken } from '../../fixtures/requests.ts'

const NOT_STORABLE = 'findAccount returned an accountId of more than 255 characters, or with NUL'
const TOLD = { name: 'impersonation.failed', door: 'management', status: 500 }

describe('management: the account id that findAccount returns', () => {
  let deployment: Deployment
  let token: string
  const account = { id: '' }
  const backend = machineClient({ client_id: 'b'.repeat(256) })
  before(async () => {
    deployment = await startDeployment({
      clients: [backend],
      configuration: {
        findAccount: async () => ({ accountId: account.id, claims: () => ({ sub: account.id }) }),
      },
    })
    token = await managementToken(deployment)
  })
  after(() => deployment.close())

  const unstorable: [title: string, accountId: string][] = [
    ['has 256 characters', 'a'.repeat(256)],
    ['has 256 characters beyond the basic plane', '🎭'.repeat(256)],
    ['holds NUL', 'alice\0'],
    ['holds half a character', 'alice\ud800'],
  ]
  for (const [title, accountId] of unstorable) {
    it(`is refused by 500 when it ${title}, and the operator reads why`, async () => {
      account.id = accountId
      const [failures, events] = [deployment.errors.length, deployment.events.length]
      const response = await postSubjectToken(deployment, { userId: 'alice' }, token)
      expect([response.status, response.body], response.text).to.deep.equal([
        500,
        { error: 'server_error', error_description: 'something went wrong' },
      ])
      expect(response.headers.get('retry-after')).to.equal(null)
      expect(deployment.errors.slice(failures).map(String).join()).to.include(NOT_STORABLE)
      const told = deployment.events.slice(events).map(({ name, payload }) => ({ name, ...payload }))
      expect(told).to.deep.equal([{ ...TOLD, check: 'issue', reason: NOT_STORABLE, clientId: 'backend' }])
      const { sequelize } = deployment.database
      const rows = await sequelize.query('SELECT id FROM subject_tokens', { type: QueryTypes.SELECT })
      expect(rows).to.deep.equal([])
    })
  }

  it('may have 255 characters, whatever they are', async () => {
    account.id = '🎭'.repeat(255)
    const response = await postSubjectToken(deployment, { userId: 'alice' }, token)
    expect(response.status, response.text).to.equal(201)
    expect((await show(deployment, idFrom(response))).body.userId).to.equal(account.id)
  })

  it('is not stored for a client whose own id has 256 characters: 500, and the operator reads why', async () => {
    account.id = 'alice'
    const failures = deployment.errors.length
    const events = deployment.events.length
    const bearer = await managementToken(deployment, { client: backend })
    const response = await postSubjectToken(deployment, { userId: 'alice' }, bearer)
    expect([response.status, response.body.error], response.text).to.deep.equal([500, 'server_error'])
    expect(deployment.errors.slice(failures).map(String).join()).to.include(
      'the id of the client has more than 255 characters',
    )
    expect(deployment.events.slice(events).map(({ name }) => name)).to.deep.equal(['impersonation.failed'])
  })
})
