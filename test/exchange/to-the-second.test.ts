/** Tokens end to the second, whatever the provider tolerates (protocol.md §3.3). */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { withDeployment } from '../../fixtures/deployment.ts'
import { ACTOR_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, issue } from '../../fixtures/requests.ts'

describe('token exchange: to the second', () => {
  let clock: ReturnType<typeof stopClock>
  beforeEach(() => {
    clock = stopClock()
  })
  afterEach(() => clock.restore())

  for (const format of ['opaque', 'jwt'] as const) {
    it(`an actor token that is ${format} acts until the second before it expires`, async () => {
      // A grant that outlives the token, so that it is the token's own end that counts.
      const ttl = { AccessToken: 3600, ClientCredentials: 7200, Grant: 7200 }
      await withDeployment({ configuration: { clockTolerance: 30, ttl } }, async (deployment) => {
        const actor = await actorToken(deployment, { format })
        clock.tick(3599)
        const first = await issue(deployment, { userId: 'alice' })
        const inTime = await exchange(deployment, { subject_token: first.subjectToken, ...withActor(actor) })
        expect(inTime.status, inTime.text).to.equal(200)
        const second = await issue(deployment, { userId: 'alice' })
        clock.tick(1)
        const late = await exchange(deployment, { subject_token: second.subjectToken, ...withActor(actor) })
        expect(late.body).to.deep.equal(ACTOR_TOKEN_REFUSED)
      })
    })
  }

  it('an access token that ends before it is issued is not issued, and its subject token is not spent', async () => {
    let slow = true
    const options = {
      maxAccessTokenTTL: 1,
      getCustomJwtClaims: async () => {
        if (slow) clock.tick(1)
        return {}
      },
    }
    await withDeployment({ options }, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      const late = await exchange(deployment, { subject_token: subjectToken })
      expect(late.status).to.equal(500)
      slow = false
      const inTime = await exchange(deployment, { subject_token: subjectToken })
      expect(inTime.status, inTime.text).to.equal(200)
    })
  })
})
