/** A kill switch and exchanges that meet (docs/protocol.md §2.2): what was exchanged in spite of it has ended. */
import { expect } from 'chai'
import { actorJwt, withActor } from '../../../fixtures/actor-tokens.ts'
import { webClient } from '../../../fixtures/clients.ts'
import { OPAQUE_API } from '../../../fixtures/deployment.ts'
import { onSqlite } from '../../../fixtures/each-database.ts'
import { revokeWhere, show } from '../../../fixtures/management.ts'
import { exchange, introspect, issue } from '../../../fixtures/requests.ts'

describe('management: a kill switch', () => {
  // With a leeway, the loser of a race stops nothing.
  onSqlite({ options: { maxDelegationDepth: 2, replayLeeway: 60 } }, (on) => {
    it('that meets an exchange leaves no access token without a record', async () => {
      for (let round = 0; round < 10; round += 1) {
        const { id, subjectToken } = await issue(on.deployment)
        const [exchanged, killed] = await Promise.all([
          exchange(on.deployment, { subject_token: subjectToken, resource: OPAQUE_API }),
          revokeWhere(on.deployment, { userId: 'alice' }),
        ])
        expect(killed.body).to.deep.equal({ revoked: 1 })
        expect((await show(on.deployment, id)).body.state).to.equal('revoked')
        if (exchanged.status === 200)
          expect((await introspect(on.deployment, exchanged.body.access_token)).active).to.equal(false)
      }
    })

    it('ends what the engineer has who won a race, and nothing by the one who lost', async () => {
      const engineers = ['bob', 'dave']
      const actors = await Promise.all(
        engineers.map((sub) => actorJwt(on.deployment, { sub: 'carol', act: { sub } })),
      )
      for (let round = 0; round < 5; round += 1) {
        const { id, subjectToken } = await issue(on.deployment)
        const exchangeAs = (actor: string) =>
          exchange(
            on.deployment,
            { subject_token: subjectToken, ...withActor(actor) },
            { client: webClient() },
          )
        const responses = await Promise.all(actors.map(exchangeAs))
        expect(responses.map(({ status }) => status).sort()).to.deep.equal([200, 400])
        const [winner, loser] = responses[0]?.status === 200 ? engineers : engineers.toReversed()
        expect((await revokeWhere(on.deployment, { actorId: loser })).body).to.deep.equal({ revoked: 0 })
        expect((await show(on.deployment, id)).body.state).to.equal('consumed')
        expect((await revokeWhere(on.deployment, { actorId: winner })).body).to.deep.equal({ revoked: 1 })
        expect((await show(on.deployment, id)).body.state).to.equal('revoked')
      }
    })
  })
})
