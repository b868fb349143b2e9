/** An API exchanges the token that it received (docs/protocol.md §8): what no row of test/spec can say. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorJwt, withActor } from '../../../fixtures/actor-tokens.ts'
import { API, type Deployment, withDeployment } from '../../../fixtures/deployment.ts'
import { onEachDatabase } from '../../../fixtures/each-database.ts'
import { revoke } from '../../../fixtures/management.ts'
import {
  billingApi,
  downstream,
  LEDGER,
  ledgerApi,
  passedOn,
  passOn,
  viewed,
} from '../../../fixtures/on-behalf-of.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../../fixtures/refused.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'

describe('on behalf of: the flow', () => {
  onEachDatabase(downstream({ onBehalfOf: { hops: 3 } }), (on) => {
    it('stays one impersonation through three APIs, in no table and no event, and one stop ends it', async () => {
      const { deployment } = on
      const { accessToken, id } = await viewed(deployment)
      const first = await passedOn(deployment, accessToken, { scope: 'orders:read' })
      const billing = { client: billingApi() }
      const second = await passedOn(deployment, first.accessToken, { resource: LEDGER }, billing)
      const ledger = { client: ledgerApi() }
      const third = await passedOn(deployment, second.accessToken, { resource: API }, ledger)
      const byThree = ['ledger-api', 'billing-api', 'orders-api'].reduceRight<object>(
        (act, api) => ({ sub: api, client_id: api, act }),
        { sub: 'bob' },
      )
      expect(third.claims).to.deep.include({
        sub: 'alice',
        act: byThree,
        status: decodeJwt(accessToken).status,
      })

      const rows = await Promise.all(
        ['subject_tokens', 'subject_token_uses'].map((table) =>
          deployment.database.sequelize.query(`SELECT * FROM ${table}`),
        ),
      )
      for (const token of [accessToken, first.accessToken, second.accessToken, third.accessToken]) {
        const [, , signature = ''] = token.split('.')
        expect(JSON.stringify([deployment.events, rows, deployment.errors])).not.to.include(signature)
      }

      await revoke(deployment, id)
      for (const ended of [
        await passOn(deployment, accessToken),
        await passOn(deployment, first.accessToken, { resource: LEDGER }, billing),
        await passOn(deployment, second.accessToken, { resource: API }, ledger),
      ])
        expect([ended.status, ended.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
    })
  })
})

describe('on behalf of: a deployment that changes', () => {
  it('counts people by what maxDelegationDepth says now', () =>
    withDeployment(downstream({ maxDelegationDepth: 2 }), async (deployment) => {
      const { database, issuer, baseUrl } = deployment
      const token = await actedForCarol(deployment)
      const options = { maxDelegationDepth: 1, statusList: { uri: `${baseUrl}/api/status-lists` } }
      await withDeployment({ ...downstream(options), database, issuer }, async (later) => {
        expect((await passOn(later, token)).body).to.deep.equal(SUBJECT_TOKEN_REFUSED)
        expect(later.events.at(-1)?.payload).to.include({ reason: 'more than 1 in the chain' })
      })
    }))
})

/** A token of alice in which bob acts, for whom carol acted before. */
async function actedForCarol(deployment: Deployment): Promise<string> {
  const { subjectToken } = await issue(deployment)
  const actor = withActor(await actorJwt(deployment, { act: { sub: 'carol' } }))
  const { body, text } = await exchange(deployment, { subject_token: subjectToken, ...actor })
  expect(body.access_token, text).to.be.a('string')
  return body.access_token
}
