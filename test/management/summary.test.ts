/** `GET /api/subject-tokens/summary` (protocol.md §2.2): what is live, and what became of each day's tokens. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { onEachDatabase, onSqlite } from '../../fixtures/each-database.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { manage, postRevocation, revoke } from '../../fixtures/management.ts'
import { exchange, issue, managementToken } from '../../fixtures/requests.ts'
import { BY_API } from '../../fixtures/subject-tokens.ts'
import { emptyTables } from '../../fixtures/tables.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { secondOf } from '../../src/subject-tokens/id.ts'

const DAY = 86_400
const NOTHING = { issued: 0, exchanged: 0, withoutActor: 0, revoked: 0, ended: 0, replayed: 0 }

describe('management: the summary', () => {
  onEachDatabase({}, (on) => {
    let clock: ReturnType<typeof stopClock>
    let deployment: typeof on.deployment
    beforeEach(async () => {
      clock = stopClock(Date.UTC(2026, 10, 19, 12))
      await emptyTables(on.database)
      // One that remembers nothing.
      deployment = await on.start()
    })
    afterEach(() => clock.restore())

    const summary = async (query = '') => {
      const response = await manage(deployment, 'GET', `/summary${query}`)
      expect(response.status, response.text).to.equal(200)
      expect(response.headers.get('cache-control')).to.equal('no-store')
      return response.body
    }
    const used = async (parameters: Parameters = {}) => {
      const { id, subjectToken } = await issue(deployment)
      const response = await exchange(deployment, { subject_token: subjectToken, ...parameters })
      expect(response.status, response.text).to.equal(200)
      return { id, subjectToken }
    }

    it('counts what was created on each day of UTC, and what is live', async () => {
      await issue(deployment)
      const replayed = await used()
      await exchange(deployment, { subject_token: replayed.subjectToken })
      clock.tick(12 * 3600 - 1)
      await issue(deployment)
      clock.tick(1)
      await revoke(deployment, (await issue(deployment)).id)
      clock.tick(2 * DAY - 10)
      await used(withActor(await actorToken(deployment)))
      await revoke(deployment, (await used()).id)
      clock.tick(5)
      await used()
      expect(await summary('?days=4')).to.deep.equal({
        live: 2,
        days: [
          { date: '2026-11-18', ...NOTHING },
          {
            date: '2026-11-19',
            ...NOTHING,
            issued: 3,
            exchanged: 1,
            withoutActor: 1,
            revoked: 1,
            replayed: 1,
          },
          { date: '2026-11-20', ...NOTHING, issued: 1, revoked: 1 },
          { date: '2026-11-21', ...NOTHING, issued: 3, exchanged: 3, withoutActor: 2, revoked: 1 },
        ],
      })
    })

    it('counts what those who acted have ended apart from what others have stopped', async () => {
      const [self, other, goesOn, session] = [await used(), await used(), await used(), await used()]
      expect((await postRevocation(deployment, { id: self.id, cause: 'self' })).status).to.equal(200)
      const continued = { id: other.id, cause: 'continued', continuedBy: goesOn.id }
      expect((await postRevocation(deployment, continued)).status).to.equal(200)
      const store = createSubjectTokenStore(on.database.sequelize)
      await store.revoke(deployment.issuer, session.id, now(), { cause: 'signedOut' })
      await revoke(deployment, (await used()).id)
      expect((await summary('?days=1')).days[0]).to.include({ exchanged: 5, ended: 3, revoked: 1 })
    })

    it('has thirty days by default, up to ninety, and today alone', async () => {
      const { live, days } = await summary()
      expect([live, days.length, days[0].date, days[29].date]).to.deep.equal([
        0,
        30,
        '2026-10-21',
        '2026-11-19',
      ])
      expect((await summary('?days=90')).days[0].date).to.equal('2026-08-22')
      expect((await summary('?days=1')).days).to.deep.equal([{ date: '2026-11-19', ...NOTHING }])
    })

    it('is at most a minute old for the last three days, and an hour for earlier ones', async () => {
      const first = await issue(deployment)
      clock.tick(DAY)
      const second = await issue(deployment)
      clock.tick(2 * DAY)
      const third = await issue(deployment)
      const revoked = async () => (await summary('?days=4')).days.map((day: typeof NOTHING) => day.revoked)
      expect(await revoked()).to.deep.equal([0, 0, 0, 0])
      // No request can stop what is so old.
      const store = createSubjectTokenStore(on.database.sequelize)
      for (const { id } of [first, second, third])
        await store.revoke(deployment.issuer, id, secondOf(id), BY_API)
      clock.tick(59)
      expect(await revoked()).to.deep.equal([0, 0, 0, 0])
      clock.tick(1)
      expect(await revoked()).to.deep.equal([0, 1, 0, 1])
      clock.tick(3539)
      expect(await revoked()).to.deep.equal([0, 1, 0, 1])
      clock.tick(1)
      expect(await revoked()).to.deep.equal([1, 1, 0, 1])
    })

    it('tells what is live at most a minute late', async () => {
      expect((await summary('?days=1')).live).to.equal(0)
      await used()
      clock.tick(59)
      expect((await summary('?days=1')).live).to.equal(0)
      clock.tick(1)
      expect((await summary('?days=1')).live).to.equal(1)
    })

    it('counts once for all that ask at the same time', async () => {
      const real = createSubjectTokenStore(on.database.sequelize)
      let counted = 0
      const counting: typeof real = {
        ...real,
        summarize(...call) {
          counted += 1
          return real.summarize(...call)
        },
        countLive(...call) {
          counted += 1
          return real.countLive(...call)
        },
      }
      deployment = await on.start({ options: { store: counting } })
      const counts = async (times: number, query: string) => {
        counted = 0
        await Promise.all(Array.from({ length: times }, () => summary(query)))
        return counted
      }
      expect(await counts(10, '?days=5')).to.equal(6)
      expect(await counts(10, '?days=5')).to.equal(0)
      expect(await counts(1, '?days=90')).to.equal(85)
      expect(await counts(1, '?days=90')).to.equal(0)
    })

    it('counts again after a failure, which is 503', async () => {
      const real = createSubjectTokenStore(on.database.sequelize)
      const state = { down: true }
      const failing: typeof real = {
        ...real,
        async *summarize(...call) {
          if (state.down) throw new Error('down')
          yield* real.summarize(...call)
        },
      }
      deployment = await on.start({ options: { store: failing } })
      expect((await manage(deployment, 'GET', '/summary?days=1')).status).to.equal(503)
      state.down = false
      expect((await summary('?days=1')).days).to.have.length(1)
    })

    it('counts nothing of another issuer', async () => {
      const other = await on.start({ issuer: 'https://other.example.com/oidc' })
      await used()
      const token = await managementToken(other, { resource: 'https://other.example.com/api' })
      const { body } = await manage(other, 'GET', '/summary?days=1', { token })
      expect(body).to.deep.equal({ live: 0, days: [{ date: '2026-11-19', ...NOTHING }] })
    })
  })
})

describe('management: a request of the summary', () => {
  onSqlite({}, (on) => {
    const sentenceOf = (query: string) => {
      if (query.startsWith('day=')) return 'unknown parameter: day'
      const rule = query.includes('&') ? 'must not be repeated' : 'must be a whole number from 1 to 90'
      return `days ${rule}`
    }
    for (const query of [
      'days=',
      'days=0',
      'days=91',
      'days=100',
      'days=x1',
      'days=1.5',
      'days=01',
      'days=-1',
      'days=1&days=2',
      'day=1',
    ]) {
      it(`refuses ?${query}`, async () => {
        const { status, body } = await manage(on.deployment, 'GET', `/summary?${query}`)
        expect([status, body.error]).to.deep.equal([400, 'invalid_request'])
        expect(body.error_description).to.equal(sentenceOf(query))
      })
    }

    it('needs the scope subject-tokens:read', async () => {
      for (const scope of ['subject-tokens:create', 'subject-tokens:revoke'])
        expect((await manage(on.deployment, 'GET', '/summary', { scope })).status).to.equal(403)
      expect((await manage(on.deployment, 'GET', '/summary', { token: null })).status).to.equal(401)
      const head = await manage(on.deployment, 'HEAD', '/summary', { scope: 'subject-tokens:read' })
      expect([head.status, head.text]).to.deep.equal([200, ''])
    })

    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      it(`responds to ${method} with 405, with and without a token`, async () => {
        for (const token of [undefined, null]) {
          const response = await manage(on.deployment, method, '/summary', { token })
          expect([response.status, response.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD'])
        }
      })
    }
  })
})
