/** From the stop to the API that refuses (protocol.md §4.1): our verifier with our lists. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { DATABASES, type Database, openDatabase } from '../../fixtures/databases.ts'
import { API, type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { revoke, revokeWhere } from '../../fixtures/management.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { impersonate, statusOf, stoppedIndexes } from '../../fixtures/status-lists.ts'
import { createVerifier, type Verifier } from '../../packages/resource-server/src/index.ts'
import { withBearer } from '../../packages/resource-server/test/issuer.ts'
import { purge } from '../../src/sequelize/index.ts'

const TTL = 5

for (const kind of DATABASES) {
  describe(`a stop on ${kind}`, () => {
    let deployment: Deployment
    let verify: Verifier
    let clock: ReturnType<typeof stopClock>
    beforeOn(kind, async () => {
      deployment = await startDeployment({ database: kind, options: { statusList: { ttl: TTL } } })
    })
    beforeEach(() => {
      clock = stopClock()
      verify = createVerifier({ issuer: deployment.issuer, audience: API, requireStatus: true })
    })
    afterEach(() => clock.restore())
    after(() => deployment?.close())

    const seen = (token: string) =>
      verify(withBearer(token)).then(
        ({ impersonated }) => (impersonated ? 'impersonation' : 'user'),
        ({ name, reason }) => (name === 'Unauthorized' ? reason : name),
      )
    /** Lets `ttl` + 2 s pass at an API that sees the token every second. */
    const pass = async (token: string) => {
      for (let second = 0; second < TTL + 2; second += 1) {
        clock.tick(1)
        await seen(token)
      }
    }

    it('of one reaches the API within ttl + 2 s, and no other', async () => {
      const [stopped, other] = [await impersonate(deployment), await impersonate(deployment)]
      for (const { accessToken } of [stopped, other])
        expect(await seen(accessToken)).to.equal('impersonation')
      await revoke(deployment, stopped.id)
      await pass(stopped.accessToken)
      expect(await seen(stopped.accessToken)).to.equal('stopped')
      expect(await seen(other.accessToken)).to.equal('impersonation')
    })

    it('by the kill switch reaches every token of the actor, and no other', async () => {
      const by = async (accountId: string) =>
        impersonate(deployment, withActor(await actorToken(deployment, { accountId })))
      const bobs = await Promise.all(Array.from({ length: 8 }, () => by('bob')))
      const carols = await Promise.all(Array.from({ length: 8 }, () => by('carol')))
      for (const { accessToken } of [...bobs, ...carols])
        expect(await seen(accessToken)).to.equal('impersonation')
      expect((await revokeWhere(deployment, { actorId: 'bob' })).body).to.deep.equal({ revoked: 8 })
      await pass(carols[0]?.accessToken ?? '')
      for (const { accessToken } of bobs) expect(await seen(accessToken)).to.equal('stopped')
      for (const { accessToken } of carols) expect(await seen(accessToken)).to.equal('impersonation')
    })

    it('is known to a process that starts later, and survives a purge', async () => {
      const { id, accessToken } = await impersonate(deployment)
      await revoke(deployment, id)
      clock.tick(600 + 250)
      await purge(deployment.database.sequelize, { retention: 0 })
      const { database, issuer } = deployment
      await withDeployment({ database, issuer }, async (restarted) => {
        expect(await stoppedIndexes(restarted)).to.include(statusOf(accessToken).idx)
        expect(await stoppedIndexes(restarted)).to.have.members(await stoppedIndexes(deployment))
      })
      clock.tick(60)
      expect(await stoppedIndexes(deployment)).not.to.include(statusOf(accessToken).idx)
    })

    it('is seen by another process within a second', async () => {
      const { database, issuer } = deployment
      await withDeployment({ database, issuer }, async (other) => {
        const { id, accessToken } = await impersonate(deployment)
        const { idx } = statusOf(accessToken)
        expect(await stoppedIndexes(other)).not.to.include(idx)
        await revoke(deployment, id)
        clock.tick(1)
        expect(await stoppedIndexes(other)).to.include(idx)
        expect(await stoppedIndexes(deployment)).to.include(idx)
      })
    })
  })
}

describe('status indexes', () => {
  let database: Database
  before(async () => {
    database = await openDatabase('sqlite')
  })
  after(() => database?.close())

  it('are never given twice, also after a purge of everything', async () => {
    const clock = stopClock()
    try {
      await withDeployment({ database }, async (deployment) => {
        const idx = async () => statusOf((await impersonate(deployment)).accessToken).idx
        const first = await idx()
        clock.tick(86_400)
        await purge(database.sequelize, { retention: 0 })
        expect(await idx()).to.be.greaterThan(first)
      })
    } finally {
      clock.restore()
    }
  })
})
