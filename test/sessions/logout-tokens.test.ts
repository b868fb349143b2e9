/** The application of a session is told of its end, until it confirms (protocol.md §10.6). */
import { expect } from 'chai'
import { now } from '../../fixtures/clock.ts'
import { DATABASES } from '../../fixtures/databases.ts'
import { type Answer, openSession, reachesLoopback } from '../../fixtures/sessions.ts'
import { sessionName } from '../../src/sessions/names.ts'
import { type Scene, withScene } from '../spec/ending.ts'

const timesOf = ({ application }: Scene, from: number) => application.told.map(({ iat = 0 }) => iat - from)

/** A session that is stopped so late that its application has redeemed the code. */
async function stoppedLate(scene: Scene, ttl = 3600): Promise<{ readonly id: string; readonly at: number }> {
  const id = await scene.open({ ttl })
  scene.clock.tick(100)
  await scene.stop(id)
  await scene.watch.look()
  return { id, at: now() }
}

describe('sessions: the logout token', () => {
  it('names the session, and the user as the application knows them', () =>
    withScene({}, async (scene) => {
      const { id } = await stoppedLate(scene)
      const [token] = scene.application.told
      expect(token).to.include({ iss: scene.deployment.issuer, aud: 'shop', sub: 'alice' })
      expect(token?.sid).to.equal(sessionName(id))
      expect(token?.events).to.deep.equal({ 'http://schemas.openid.net/event/backchannel-logout': {} })
    }))

  it('names a pairwise user as the ID token did', () =>
    withScene(
      {
        client: { subject_type: 'pairwise' },
        configuration: {
          subjectTypes: ['public', 'pairwise'],
          pairwiseIdentifier: (_ctx, accountId, { clientId }) => `${accountId}@${clientId}`,
        },
      },
      async (scene) => {
        await stoppedLate(scene)
        expect(scene.application.told[0]?.sub).to.equal('alice@shop')
      },
    ))

  for (const answer of [200, 204]) {
    it(`is sent once where the application confirms with ${answer}, and the record says so`, () =>
      withScene({ answers: [answer] }, async (scene) => {
        const { id, at } = await stoppedLate(scene)
        const session = { endsAt: at - 100 + 3600, logout: 'confirmed', logoutAt: at }
        expect(await scene.says(id)).to.deep.equal(session)
        await scene.pass(3600)
        expect(timesOf(scene, at)).to.deep.equal([0])
        expect(scene.eventsOf('session.ended')).to.deep.equal([
          { id, userId: 'alice', clientId: 'shop', session },
        ])
        expect(scene.eventsOf('session.logout_failed')).to.deep.equal([])
      }))
  }

  it('is sent at the end of a session that no one stops, and not before', () =>
    withScene({}, async (scene) => {
      const id = await scene.open({ ttl: 120 })
      const { endsAt } = (await scene.says(id)) ?? expect.fail()
      await scene.pass(119)
      expect(scene.application.told).to.deep.equal([])
      expect(await scene.says(id)).to.deep.equal({ endsAt, logout: 'pending' })
      await scene.pass(30)
      expect(timesOf(scene, endsAt)).to.deep.equal([0])
      expect(await scene.says(id)).to.deep.equal({ endsAt, logout: 'confirmed', logoutAt: endsAt })
    }))

  it('is sent to each application, of each session of a kill switch', () =>
    withScene({}, async (scene) => {
      const ids = [await scene.open(), await scene.open(), await scene.open({ userId: 'bob' })]
      scene.clock.tick(100)
      await scene.deployment.impersonation.records.stopAll({ userId: 'alice' })
      await scene.watch.look()
      const sids = scene.application.told.map(({ sid }) => sid)
      expect(sids).to.have.members(ids.slice(0, 2).map(sessionName))
    }))
})

describe('sessions: an application that does not confirm', () => {
  it('is told again after 1, 3, 10, 30, 60, 120, 300 and 600 s, for an hour, and then given up', () =>
    withScene({ answers: Array(20).fill(500) }, async (scene) => {
      const { id, at } = await stoppedLate(scene)
      await scene.pass(3599)
      expect((await scene.says(id))?.logout).to.equal('pending')
      await scene.pass(100)
      const attempts = [0, 1, 4, 14, 44, 104, 224, 524, 1124, 1724, 2324, 2924, 3524, 3600]
      expect(timesOf(scene, at)).to.deep.equal(attempts)
      expect(await scene.says(id)).to.include({ logout: 'gaveUp', logoutAt: at + 3600 })
      const told = { id, userId: 'alice', clientId: 'shop', reason: 'HTTP_500' }
      const retries = attempts.slice(1).map((after) => ({ ...told, retryAt: at + after }))
      expect(scene.eventsOf('session.logout_failed')).to.deep.equal([...retries, told])
      expect(scene.eventsOf('session.ended')).to.have.length(1)
    }))

  for (const database of DATABASES) {
    it(`is told again by the pauses since the stop, and a second time, on ${database}`, () =>
      withScene({ database, answers: [500, 500, 200] }, async (scene) => {
        const id = await scene.open()
        const at = now()
        await scene.stop(id)
        await scene.watch.look()
        // Each second of the first ones, and none in which there is nothing to do.
        await scene.pass(5)
        expect(timesOf(scene, at)).to.deep.equal([0, 1, 4])
        expect(await scene.says(id)).to.include({ logout: 'confirmed', logoutAt: at + 4 })
        await scene.pass(6)
        expect(timesOf(scene, at)).to.deep.equal([0, 1, 4, 10])
      }))
  }

  const answers: readonly (readonly [answer: Answer, reason: string])[] = [
    [500, 'HTTP_500'],
    [201, 'HTTP_201'],
    [202, 'HTTP_202'],
    [302, 'HTTP_302'],
    [400, 'HTTP_400'],
    ['hangs', 'TimeoutError'],
  ]
  for (const [answer, reason] of answers) {
    it(`is told again: ${answer}`, () =>
      withScene({ answers: [answer], configuration: reachesLoopback(100) }, async (scene) => {
        const { id, at } = await stoppedLate(scene)
        expect((await scene.says(id))?.logout).to.equal('pending')
        expect(scene.eventsOf('session.logout_failed')).to.deep.equal([
          { id, userId: 'alice', clientId: 'shop', reason, retryAt: at + 1 },
        ])
        await scene.pass(1)
        expect(await scene.says(id)).to.include({ logout: 'confirmed', logoutAt: at + 1 })
        expect(scene.application.told).to.have.length(2)
      }))
  }

  it('is told again: the provider connects to no internal address', () =>
    withScene({ configuration: { fetch: (url, options) => fetch(url, options) } }, async (scene) => {
      await stoppedLate(scene)
      const [failure] = scene.eventsOf('session.logout_failed')
      expect(failure).to.include({ reason: 'SPECIAL_USE_ADDRESS' })
      expect(scene.application.told).to.deep.equal([])
    }))

  it('is told again: it refuses connections', () =>
    withScene({}, async (scene) => {
      await scene.application.close()
      const { id } = await stoppedLate(scene)
      expect(scene.eventsOf('session.logout_failed')).to.have.nested.property('[0].reason', 'ECONNREFUSED')
      expect((await scene.says(id))?.logout).to.equal('pending')
    }))
})

describe('sessions: a session that ends within 70 s of its arrival', () => {
  it('is told a second time 10 s after the first, because the application may not have known it', () =>
    withScene({}, async (scene) => {
      const id = await scene.open()
      scene.clock.tick(70)
      const at = now()
      await scene.stop(id)
      await scene.watch.look()
      expect(await scene.says(id)).to.include({ logout: 'confirmed', logoutAt: at })
      await scene.pass(3600)
      expect(timesOf(scene, at)).to.deep.equal([0, 10])
      expect(await scene.says(id)).to.include({ logout: 'confirmed', logoutAt: at })
      expect(scene.eventsOf('session.ended')).to.have.length(1)
    }))

  it('is not, a second later', () =>
    withScene({}, async (scene) => {
      const id = await scene.open()
      scene.clock.tick(71)
      await scene.stop(id)
      await scene.pass(60)
      expect(scene.application.told).to.have.length(1)
    }))

  it('is told a second time also at the end of a short session', () =>
    withScene({}, async (scene) => {
      const id = await scene.open({ ttl: 60 })
      const { endsAt } = (await scene.says(id)) ?? expect.fail()
      await scene.pass(120)
      expect(timesOf(scene, endsAt)).to.deep.equal([0, 10])
    }))

  it('is told a second time also where the first came late, because processes had died', () =>
    withScene({}, async (scene) => {
      const id = await scene.open()
      const at = now()
      await scene.stop(id)
      scene.clock.tick(60)
      await scene.watch.look()
      await scene.pass(60)
      expect(timesOf(scene, at)).to.deep.equal([60, 70])
    }))

  it('is told a second time, whatever the first brought', () =>
    withScene({ answers: [500] }, async (scene) => {
      const id = await scene.open()
      const at = now()
      await scene.stop(id)
      await scene.watch.look()
      await scene.pass(3600)
      expect(timesOf(scene, at)).to.deep.equal([0, 1, 10])
      expect(await scene.says(id)).to.include({ logout: 'confirmed', logoutAt: at + 1 })
    }))

  it('is not told once more where it has confirmed later than that', () =>
    withScene({ answers: [500, 500, 500] }, async (scene) => {
      const id = await scene.open()
      const at = now()
      await scene.stop(id)
      await scene.watch.look()
      await scene.pass(3600)
      expect(timesOf(scene, at)).to.deep.equal([0, 1, 4, 14])
      expect(await scene.says(id)).to.include({ logout: 'confirmed', logoutAt: at + 14 })
    }))

  it('is told again where the second time fails, and the record tells of the first', () =>
    withScene({ answers: [200, 500, 500] }, async (scene) => {
      const id = await scene.open()
      const at = now()
      await scene.stop(id)
      await scene.watch.look()
      await scene.pass(3600)
      expect(timesOf(scene, at)).to.deep.equal([0, 10, 20, 50])
      expect(await scene.says(id)).to.include({ logout: 'confirmed', logoutAt: at })
      expect(scene.eventsOf('session.ended')).to.have.length(1)
    }))

  it('is told where the next attempt would come at the very end that it had', () =>
    withScene({ answers: [500, 500, 500] }, async (scene) => {
      // The mark of a stopped session that is still its end means that no one has tried.
      const id = await scene.open({ ttl: 74 })
      const at = now()
      scene.clock.tick(70)
      await scene.stop(id)
      await scene.watch.look()
      await scene.pass(60)
      expect(timesOf(scene, at + 70)).to.deep.equal([0, 1, 5, 15])
      expect((await scene.says(id))?.logout).to.equal('confirmed')
    }))
})

describe('sessions: an application that cannot be told', () => {
  it('is told nothing, and the record says so from arrival on', () =>
    withScene({ uri: null }, async (scene) => {
      const id = await scene.open({ logout: 'unsupported' })
      const before = await scene.says(id)
      expect(before?.logout).to.equal('unsupported')
      await scene.stop(id)
      await scene.pass(30)
      expect(await scene.says(id)).to.deep.equal(before)
      expect(scene.eventsOf('session.ended')).to.deep.equal([
        { id, userId: 'alice', clientId: 'shop', session: before },
      ])
      expect(scene.eventsOf('session.logout_failed')).to.deep.equal([])
    }))

  for (const [change, client, reason] of [
    [
      'has no address for logout tokens any more',
      { backchannel_logout_uri: undefined },
      'NO_BACKCHANNEL_LOGOUT',
    ],
    [
      'would be told without sid: of every session of the user',
      { backchannel_logout_session_required: false },
      'NO_SESSION_REQUIRED',
    ],
  ] as const) {
    it(`is told nothing: it ${change}`, () =>
      withScene({ client }, async (scene) => {
        const { id } = await stoppedLate(scene)
        expect(scene.application.told).to.deep.equal([])
        expect(scene.eventsOf('session.logout_failed')).to.have.nested.property('[0].reason', reason)
        await scene.pass(3601)
        expect((await scene.says(id))?.logout).to.equal('gaveUp')
      }))
  }

  it('is told nothing: it is not registered any more', () =>
    withScene({}, async (scene) => {
      const { id } = await openSession(scene.deployment, { clientId: 'gone' })
      scene.clock.tick(100)
      await scene.stop(id)
      await scene.watch.look()
      expect(scene.eventsOf('session.logout_failed')).to.have.nested.property(
        '[0].reason',
        'NO_BACKCHANNEL_LOGOUT',
      )
    }))
})
