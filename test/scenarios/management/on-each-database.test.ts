/** One walk through the management API on each database (docs/protocol.md §2): what a database could keep or find otherwise. */
import { expect } from 'chai'
import { actorJwt, withActor } from '../../../fixtures/actor-tokens.ts'
import { publicClient, webClient } from '../../../fixtures/clients.ts'
import { stopClock } from '../../../fixtures/clock.ts'
import { DATABASES } from '../../../fixtures/databases.ts'
import { API, type Deployment, startDeployment } from '../../../fixtures/deployment.ts'
import type { Parameters } from '../../../fixtures/http.ts'
import { acknowledge, idsOf, list, postRevocation, revokeWhere, show } from '../../../fixtures/management.ts'
import { beforeOn } from '../../../fixtures/on-database.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'

const ASTRAL = '🎭'
/** The longest and strangest members that there can be. */
const STRANGE = {
  userId: `É e\u0301 ${'ß'.repeat(200)} `,
  actorId: ASTRAL.repeat(255),
  clientId: ` '";-- %_\\`,
  resource: [API, 'https://api.example.com/'.padEnd(254, 'a')],
  scope: `${'s'.repeat(127)} ${'t'.repeat(127)}`,
  context: JSON.parse(
    `{"__proto__":{"x":1},"é":"${ASTRAL.repeat(1000)}","n":[0.1,1e300,-1],"s":"\\u2028\\u0007"}`,
  ),
}
const FINDING = { by: ASTRAL.repeat(255), note: ` ${ASTRAL.repeat(998)}\n` }

for (const kind of DATABASES) {
  describe(`management: on ${kind}`, () => {
    let deployment: Deployment
    const clock = { restore: () => {} }
    beforeOn(kind, async () => {
      Object.assign(clock, stopClock())
      deployment = await startDeployment({
        database: kind,
        options: { maxDelegationDepth: 2 },
        clients: [publicClient({ client_id: STRANGE.clientId })],
        configuration: {
          findAccount: async (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
        },
      })
    })
    after(async () => {
      clock.restore()
      await deployment?.close()
    })
    const finds = async (parameters: Parameters, ids: readonly string[]) => {
      const response = await list(deployment, parameters)
      expect([response.status, idsOf(response)], JSON.stringify(parameters)).to.deep.equal([200, ids])
    }

    it('a record keeps its members to the letter, and each name finds it in that spelling alone', async () => {
      const { id } = await issue(deployment, STRANGE)
      const { body } = await show(deployment, id)
      expect(body).to.deep.include({ ...STRANGE, context: body.context })
      expect(JSON.stringify(body.context)).to.equal(JSON.stringify(STRANGE.context))
      for (const name of ['userId', 'actorId', 'clientId'] as const) {
        await finds({ [name]: STRANGE[name] }, [id])
        await finds({ [name]: `${STRANGE[name].slice(0, 200)}x` }, [])
      }
      await finds({ userId: STRANGE.userId.trimEnd() }, [])
      await finds({ userId: STRANGE.userId.toLowerCase() }, [])
      await finds({ clientId: '%' }, [])
      expect((await postRevocation(deployment, { id, by: FINDING.by })).body).to.deep.equal({ revoked: 1 })
      expect((await show(deployment, id)).body.revocation.by).to.equal(FINDING.by)
    })

    it('the filters find what they name, alone, together, and from page to page', async () => {
      const used = async (body: object, parameters: Parameters = {}) => {
        const { id, subjectToken } = await issue(deployment, { ...body })
        const response = await exchange(
          deployment,
          { subject_token: subjectToken, ...parameters },
          { client: webClient() },
        )
        expect(response.status, response.text).to.equal(200)
        return { id, useAgain: () => exchange(deployment, { subject_token: subjectToken }) }
      }
      const actor = await actorJwt(deployment, { sub: 'bob', act: { sub: 'carol' } })
      const replayed = await used({ userId: 'erin' })
      await replayed.useAgain()
      const chain = await used({ userId: 'dave' }, withActor(actor))
      const ticket = await issue(deployment, { userId: 'dave', context: { ticketId: 'T-1' } })
      await finds({ createdBy: 'backend', limit: '3' }, [ticket.id, chain.id, replayed.id])
      await finds({ userId: 'dave', limit: '1' }, [ticket.id])
      await finds({ userId: 'dave', limit: '1', cursor: ticket.id }, [chain.id])
      await finds({ actorId: 'carol' }, [chain.id])
      await finds({ ticketId: 'T-1', state: 'active', userId: 'dave' }, [ticket.id])
      await finds({ ticketId: 't-1' }, [])
      await finds({ replayed: 'true' }, [replayed.id])
      await finds({ live: 'true', clientId: 'web', withoutActor: 'false' }, [chain.id])
      await finds({ unacknowledged: 'true', state: 'revoked' }, [replayed.id])
      expect((await acknowledge(deployment, replayed.id, FINDING)).status).to.equal(204)
      expect((await show(deployment, replayed.id)).body.acknowledged[0]).to.include(FINDING)
      await finds({ unacknowledged: 'true' }, [])
      expect((await revokeWhere(deployment, { actorId: 'carol' })).body).to.deep.equal({ revoked: 1 })
      await finds({ state: 'revoked', userId: 'dave' }, [chain.id])
      await finds({ jti: chain.id, live: 'false' }, [chain.id])
    })
  })
}
