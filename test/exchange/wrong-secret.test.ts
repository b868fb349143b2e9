/** The id in a subject token proves nothing (protocol.md §2.1, §3.4): with another secret it is an unknown token. */
import { expect } from 'chai'
import { stopClock } from '../../fixtures/clock.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import { type Deployment, OPAQUE_API, startDeployment } from '../../fixtures/deployment.ts'
import { type Hooks, hooked } from '../../fixtures/hooks.ts'
import { revoke, show } from '../../fixtures/management.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import { mintToken } from '../../src/subject-tokens/secret.ts'
import { onlyEvent } from './refusals.ts'

describe('token exchange: a subject token with the id of a record and another secret', () => {
  const hooks: Hooks = { calls: [], instead: new Map() }
  let deployment: Deployment
  before(async () => {
    const database = await openDatabase('sqlite')
    const store = hooked(createSubjectTokenStore(database.sequelize), 'store', hooks)
    deployment = await startDeployment({ database, options: { store } })
  })
  after(async () => {
    await deployment.close()
    await deployment.database.close()
  })

  const states: [title: string, begin: (issued: { id: string; subjectToken: string }) => Promise<unknown>][] =
    [
      ['unspent', async () => {}],
      ['spent', ({ subjectToken }) => exchange(deployment, { subject_token: subjectToken })],
      ['revoked', ({ id }) => revoke(deployment, id)],
    ]
  for (const [title, begin] of states) {
    it(`is unknown where the record is ${title}: one text, one look-up, and nothing names the record`, async () => {
      const issued = await issue(deployment)
      await begin(issued)
      const record = (await show(deployment, issued.id)).body
      for (const subjectToken of [mintToken(issued.id), mintToken(mintId())]) {
        const before = deployment.events.length
        hooks.calls.length = 0
        const response = await exchange(deployment, { subject_token: subjectToken })
        expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
        expect(hooks.calls).to.deep.equal(['store.find'])
        expect(onlyEvent(deployment, 'subject_token.refused', before)).to.deep.equal({
          stage: 'exchange',
          error: 'invalid_request',
          check: 'subject_token',
          reason: 'unknown',
          clientId: 'spa',
        })
      }
      expect((await show(deployment, issued.id)).body).to.deep.equal(record)
    })
  }

  it('is no replay: what came of the record lives on', async () => {
    const { id, subjectToken } = await issue(deployment)
    const { body } = await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
    await exchange(deployment, { subject_token: mintToken(id) })
    expect((await introspect(deployment, body.access_token)).active).to.equal(true)
  })

  it('is unknown where the record has expired, too', async () => {
    const clock = stopClock()
    try {
      const { id } = await issue(deployment, { expiresIn: 1 })
      clock.tick(2)
      const before = deployment.events.length
      await exchange(deployment, { subject_token: mintToken(id) })
      expect(onlyEvent(deployment, 'subject_token.refused', before)).to.have.property('reason', 'unknown')
    } finally {
      clock.restore()
    }
  })

  it('is malformed in another spelling of the same bytes, and nothing is looked up', async () => {
    const { subjectToken } = await issue(deployment)
    const last = subjectToken.at(-1) ?? ''
    const spelled = subjectToken.slice(0, -1) + String.fromCharCode(last.charCodeAt(0) + 1)
    for (const text of [spelled, subjectToken.replace('sub_', 'ses_')]) {
      const before = deployment.events.length
      hooks.calls.length = 0
      const response = await exchange(deployment, { subject_token: text })
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
      expect(hooks.calls).to.deep.equal([])
      expect(onlyEvent(deployment, 'subject_token.refused', before)).to.have.property('reason', 'malformed')
    }
    expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
  })
})
