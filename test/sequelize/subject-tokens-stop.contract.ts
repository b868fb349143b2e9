import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { stopClock } from '../../fixtures/clock.ts'
import { ISSUER } from '../../fixtures/cluster.ts'
import { type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { losingResults } from '../../fixtures/lost-results.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { BY_API, NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import { endUnspent } from '../../src/sequelize/end-unspent.ts'
import { createSubjectTokenStore, purge } from '../../src/sequelize/index.ts'
import { earliestId, mintId } from '../../src/subject-tokens/id.ts'
import type { SubjectTokenFilter, SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import type { NewSubjectToken, SubjectTokenUse } from '../../src/subject-tokens/subject-token.ts'

const SIZE = 131_072

/** Refuses the statement of a revocation that reports it, and then lets it pass again. */
const UNREPORTED = 'revoked_at IS NULL OR revoked_call IS NOT NULL'
const CHECKED = [
  `ALTER TABLE subject_tokens ADD CONSTRAINT interrupted CHECK (${UNREPORTED})`,
  'ALTER TABLE subject_tokens DROP CONSTRAINT interrupted',
] as const
const REFUSED = {
  sqlite: [
    `CREATE TRIGGER interrupted BEFORE UPDATE ON subject_tokens
      WHEN OLD.revoked_call IS NOT NULL AND NEW.revoked_call IS NULL BEGIN SELECT RAISE(ABORT, 'no'); END`,
    'DROP TRIGGER interrupted',
  ],
  postgres: CHECKED,
  mysql: CHECKED,
} as const

const one = (filter: object): [filter: object, statements: number] => [filter, 1]

/** What a stop leaves in the record, and what status lists are made from, on every database. */
export function subjectTokenStopContract(kind: DatabaseKind): void {
  describe('subject token store: stops', () => {
    let database: Database
    let store: SubjectTokenStore
    beforeEach(async () => {
      database = await openDatabase(kind)
      store = createSubjectTokenStore(database.sequelize)
    })
    afterEach(() => database.close())

    const insert = async (changes?: Partial<NewSubjectToken>) => {
      const token = newToken(changes)
      await store.insert(token)
      const { statusIndex } = (await store.get(token.issuer, token.id)) ?? expect.fail('not found')
      return { ...token, statusIndex }
    }
    const spent = async (use: Partial<SubjectTokenUse> = {}, changes: Partial<NewSubjectToken> = {}) => {
      const token = await insert(changes)
      expect(await store.consume(token.issuer, token.tokenHash, NOW, newUse(use))).to.equal(true)
      return token
    }

    describe('the status index', () => {
      it('is unique when many are issued at the same time', async () => {
        const tokens = await Promise.all(Array.from({ length: 64 }, () => insert()))
        expect(new Set(tokens.map(({ statusIndex }) => statusIndex)).size).to.equal(64)
        for (const { statusIndex } of tokens) expect(statusIndex).to.be.within(0, 10_000)
      })

      it('is not handed out again after a purge', async () => {
        const old = await insert({ id: earliestId(NOW - 100), expiresAt: NOW - 100 })
        expect(await purge(database.sequelize, { retention: 0 })).to.include({ subjectTokens: 1 })
        expect((await insert()).statusIndex).to.be.above(old.statusIndex)
      })

      it('finds its token, in any state, of this issuer', async () => {
        const token = await spent()
        expect((await store.findByStatusIndex(token.issuer, token.statusIndex))?.id).to.equal(token.id)
        expect(await store.findByStatusIndex(token.issuer, token.statusIndex + 1)).to.equal(undefined)
        expect(await store.findByStatusIndex('https://other.example.com', token.statusIndex)).to.equal(
          undefined,
        )
      })
    })

    describe('what was stopped', () => {
      const expiresAt = NOW + 600

      it('is every token that was spent and then revoked, since a time', async () => {
        const [one, two, late, unspent] = [await spent(), await spent(), await spent(), await insert()]
        await spent()
        await store.revoke(one.issuer, one.id, NOW, BY_API)
        await store.revoke(two.issuer, two.id, NOW + 5, BY_API)
        await store.revoke(late.issuer, late.id, NOW + 9, BY_API)
        await store.revoke(unspent.issuer, unspent.id, NOW + 9, BY_API)
        const found = async (since: number) =>
          (await store.findStopped(one.issuer, since)).toSorted((a, b) => a.statusIndex - b.statusIndex)
        expect(await found(NOW)).to.deep.equal(
          [one, two, late].map(({ statusIndex }) => ({ statusIndex, expiresAt })),
        )
        expect(await found(NOW + 6)).to.deep.equal([{ statusIndex: late.statusIndex, expiresAt }])
        expect(await store.findStopped('https://other.example.com', NOW)).to.deep.equal([])
      })

      it('includes what a kill switch ended, with the reason on each record', async () => {
        const token = await spent({}, { userId: 'carol' })
        const unspent = await insert({ userId: 'carol' })
        const why = { cause: 'api', client: 'backend', by: 'dora', reason: 'a test' } as const
        await allOf(store.revokeWhere(token.issuer, { userId: 'carol' }, NOW, why))
        for (const { id } of [token, unspent])
          expect(await store.get(token.issuer, id)).to.deep.include({ revokedAt: NOW, revocation: why })
        const { statusIndex } = token
        expect(await store.findStopped(token.issuer, NOW)).to.deep.equal([{ statusIndex, expiresAt }])
      })
    })

    describe('a revocation that fails after it has marked the token', () => {
      const why = { cause: 'console', by: 'dora', reason: 'a test' } as const

      for (const [of, statement] of [
        ['of the mark', /^UPDATE subject_tokens\s+SET stopped_index/],
        ['of the read', /^SELECT .* FROM subject_tokens WHERE id = /s],
      ] as const) {
        it(`because the result ${of} is lost is completed by one of the next`, async () => {
          const { issuer, id } = await spent()
          const sequelize = database.connect()
          const lose = losingResults(sequelize)
          const losing = createSubjectTokenStore(sequelize)
          lose(statement)
          const failed = await Promise.allSettled([losing.revoke(issuer, id, NOW, why)])
          expect(failed).to.have.nested.property('[0].reason.name', 'StorageError')
          const next = await Promise.all([1, 2, 3].map(() => store.revoke(issuer, id, NOW + 5, BY_API)))
          const completed = next.filter((one) => one?.marked)
          expect(completed).to.have.lengthOf(1)
          expect(completed[0]?.token).to.deep.include({ id, revocation: why, revokedAt: NOW })
          expect((await losing.revoke(issuer, id, NOW + 6, why))?.marked).to.equal(false)
        })
      }

      it('because the result of its report is lost is reported: once too often rather than never', async () => {
        const { issuer, id } = await spent()
        const sequelize = database.connect()
        const lose = losingResults(sequelize)
        const losing = createSubjectTokenStore(sequelize)
        lose(/^UPDATE subject_tokens SET revoked_call = NULL/)
        expect((await losing.revoke(issuer, id, NOW, why))?.marked).to.equal(true)
        expect((await store.revoke(issuer, id, NOW + 5, BY_API))?.marked).to.equal(false)
      })

      it('because the database refuses the next statement is completed by the next', async () => {
        const { issuer, id } = await insert()
        const [refuse, pass] = REFUSED[kind]
        await database.sequelize.query(refuse)
        const failed = await Promise.allSettled([store.revoke(issuer, id, NOW, why)])
        expect(failed).to.have.nested.property('[0].reason.name', 'StorageError')
        await database.sequelize.query(pass)
        expect((await store.get(issuer, id))?.revokedAt).to.equal(NOW)
        expect((await store.revoke(issuer, id, NOW + 5, BY_API))?.marked).to.equal(true)
      })

      it('is not what a kill switch has marked', async () => {
        const { issuer, id } = await spent()
        expect(await allOf(store.revokeWhere(issuer, { userId: 'alice' }, NOW, why))).to.have.lengthOf(1)
        expect((await store.revoke(issuer, id, NOW, why))?.marked).to.equal(false)
      })
    })

    it('a kill switch whose caller takes minutes over a batch marks the next one at its own time', async () => {
      const clock = stopClock(NOW * 1000)
      try {
        const issuer = 'https://slow.example.com'
        await Promise.all(Array.from({ length: 502 }, () => spent({}, { issuer })))
        const times = new Set<number>()
        for await (const batch of store.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API)) {
          for (const { token } of batch) times.add((await store.get(issuer, token.id))?.revokedAt ?? 0)
          clock.tick(150)
        }
        expect([...times]).to.deep.equal([NOW, NOW + 150])
      } finally {
        clock.restore()
      }
    })

    describe('a replay', () => {
      const replay = { at: NOW + 3, clientId: 'thief' }

      it('is written once, and stops a token whose access token lives', async () => {
        const token = await spent()
        database.statements.length = 0
        expect(await store.recordReplay(token.issuer, token.id, replay)).to.equal(true)
        expect(database.statements).to.have.length(1)
        const revocation = { cause: 'replay' }
        const record = { replay, revokedAt: NOW + 3, revocation }
        expect(await store.get(token.issuer, token.id)).to.deep.include(record)
        expect(await store.recordReplay(token.issuer, token.id, { at: NOW + 4, clientId: 'spa' })).to.equal(
          false,
        )
        expect(await store.get(token.issuer, token.id)).to.deep.include(record)
        const { statusIndex } = token
        expect(await store.findStopped(token.issuer, NOW)).to.deep.equal([
          { statusIndex, expiresAt: NOW + 600 },
        ])
      })

      it('stops nothing where nothing is left to stop', async () => {
        const revoked = await spent()
        await store.revoke(revoked.issuer, revoked.id, NOW, BY_API)
        const over = await spent({ accessToken: { format: 'jwt', expiresAt: NOW + 3 } })
        for (const { issuer, id } of [revoked, over]) {
          expect(await store.recordReplay(issuer, id, replay)).to.equal(false)
          expect((await store.get(issuer, id))?.replay).to.deep.equal(replay)
        }
        expect((await store.get(revoked.issuer, revoked.id))?.revocation).to.deep.equal(BY_API)
        expect((await store.get(over.issuer, over.id))?.revokedAt).to.equal(undefined)
      })

      it('is not written to a token that was not spent, or of another issuer', async () => {
        const token = await insert()
        const other = await spent()
        expect(await store.recordReplay(token.issuer, token.id, replay)).to.equal(false)
        expect(await store.recordReplay('https://other.example.com', other.id, replay)).to.equal(false)
        for (const { issuer, id } of [token, other])
          expect((await store.get(issuer, id))?.replay).to.equal(undefined)
      })

      it('stops a token once, of many at the same time', async () => {
        const token = await spent()
        const stopped = await Promise.all(
          Array.from({ length: 8 }, (_, at) =>
            store.recordReplay(token.issuer, token.id, { at: NOW + at, clientId: 'thief' }),
          ),
        )
        expect(stopped.filter(Boolean)).to.have.length(1)
      })
    })

    describe('list', () => {
      const at = (from: number, changes: Partial<NewSubjectToken> = {}) => ({
        id: `${earliestId(from).slice(0, 16)}${randomBytes(8).toString('hex')}`,
        createdAt: from,
        ...changes,
      })
      const actor = { sub: 'carol' }
      const names: Record<string, string> = {}
      const listed = async (filter: SubjectTokenFilter, more: { limit?: number; now?: number } = {}) => {
        const page = { limit: 50, now: NOW, ...more }
        const { tokens } = await store.list(ISSUER, filter, page)
        return tokens.map(({ id }) => Object.keys(names).find((name) => names[name] === id))
      }
      beforeEach(async () => {
        names.unspent = (await insert(at(NOW - 9))).id
        names.acted = (await spent({ actor }, at(NOW - 8))).id
        names.alone = (await spent({}, at(NOW - 7, { userId: 'bob' }))).id
        names.short = (await spent({ accessToken: { format: 'jwt', expiresAt: NOW + 5 } }, at(NOW - 6))).id
        const [revoked, replayed] = [await spent({ actor }, at(NOW - 5)), await spent({}, at(NOW - 4))]
        await store.revoke(ISSUER, revoked.id, NOW, BY_API)
        await store.recordReplay(ISSUER, replayed.id, { at: NOW, clientId: 'spa' })
        Object.assign(names, { revoked: revoked.id, replayed: replayed.id })
        await spent({}, at(NOW - 3, { issuer: 'https://other.example.com' }))
      })

      const every = ['replayed', 'revoked', 'short', 'alone', 'acted', 'unspent']
      const live = ['short', 'alone', 'acted']
      const all = (but: readonly string[]) => every.filter((name) => !but.includes(name))
      const filters: [filter: SubjectTokenFilter, expected: readonly string[]][] = [
        [{ live: true }, live],
        [{ live: false }, all(live)],
        [{ replayed: true }, ['replayed']],
        [{ replayed: false }, all(['replayed'])],
        [{ withoutActor: true }, ['replayed', 'short', 'alone']],
        [{ withoutActor: false }, ['revoked', 'acted', 'unspent']],
        [{ live: true, userId: ['bob'] }, ['alone']],
        [{ live: true, withoutActor: true, clientId: 'spa' }, ['short', 'alone']],
        [{ replayed: true, withoutActor: true }, ['replayed']],
        [{ live: true, replayed: false }, live],
        [{ createdAfter: NOW - 8, createdBefore: NOW - 5 }, ['short', 'alone', 'acted']],
        [{ live: true, createdAfter: NOW - 7 }, ['short', 'alone']],
        [{ live: true, createdBefore: NOW - 7 }, ['acted']],
        [{ withoutActor: true, createdAfter: NOW - 6, createdBefore: NOW - 4 }, ['short']],
        [{ replayed: true, createdBefore: NOW - 4 }, []],
        [{ state: 'consumed', createdAfter: NOW - 7, createdBefore: NOW }, ['short', 'alone']],
      ]
      for (const [filter, expected] of filters) {
        // Times from now on: a title that changes with the clock names no test.
        const shown = JSON.stringify(filter, (_, value) => (typeof value === 'number' ? value - NOW : value))
        it(`finds ${expected.join(', ') || 'nothing'} by ${shown}`, async () => {
          expect(await listed(filter)).to.deep.equal(expected)
          if (expected.length > 1) expect(await listed(filter, { limit: 1 })).to.deep.equal([expected[0]])
        })
      }

      it('takes one statement where an index finds the page alone, and one more elsewhere', async () => {
        const costs: [filter: object, statements: number][] = [
          ...[{}, { userId: ['bob'] }, { actorId: ['carol', 'dave'] }, { createdBy: 'backend' }].map(one),
          ...[{ clientId: 'spa' }, { replayed: true }, { withoutActor: true }, { live: true }].map(one),
          ...[{ live: true, userId: undefined, state: undefined }, { createdAfter: NOW - 9 }].map(one),
          [{ userId: ['bob'], clientId: 'spa' }, 2],
          [{ live: true, userId: ['bob'] }, 2],
        ]
        for (const [filter, statements] of costs) {
          const runs = await recordRuns(database, () => listed(filter))
          // MariaDB is asked once whether it has other nodes.
          const asked = runs.filter(({ sql }) => sql.startsWith('SELECT'))
          expect(asked, JSON.stringify(filter)).to.have.length(statements)
        }
      })

      it('goes on only where there is more', async () => {
        expect(await store.list(ISSUER, {}, { limit: 6, now: NOW })).not.to.have.property('next')
        expect(await store.list(ISSUER, {}, { limit: 5, now: NOW })).to.have.property('next', names.acted)
      })

      it('finds as live what has not expired, to the second', async () => {
        expect(await listed({ live: true }, { now: NOW + 4 })).to.deep.equal(live)
        expect(await listed({ live: true }, { now: NOW + 5 })).to.deep.equal(['alone', 'acted'])
        expect(await listed({ live: false, userId: ['alice'] }, { now: NOW + 5 })).to.include('short')
        expect(await listed({ live: true }, { now: NOW + 600 })).to.deep.equal([])
      })

      it('of what is live continues after a cursor', async () => {
        const { tokens, next } = await store.list(ISSUER, { live: true }, { limit: 2, now: NOW })
        expect(tokens.map(({ id }) => id)).to.deep.equal([names.short, names.alone])
        expect(next).to.equal(names.alone)
        const page = { limit: 2, now: NOW, cursor: next ?? '' }
        const rest = await store.list(ISSUER, { live: true }, page)
        expect(rest.tokens.map(({ id }) => id)).to.deep.equal([names.acted])
        expect(rest).not.to.have.property('next')
      })
    })

    describe('counts', () => {
      const counted = async (from: number, until: number, issuer = ISSUER) => {
        const total = { issued: 0, exchanged: 0, withoutActor: 0, revoked: 0, replayed: 0 }
        for await (const slice of store.summarize(issuer, from, until)) {
          expect(slice.issued).to.be.at.most(500)
          for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += slice[name]
        }
        return total
      }
      const live = async (now: number, issuer = ISSUER) => {
        let [total, slices, largest] = [0, 0, 0]
        for await (const slice of store.countLive(issuer, now)) {
          total += slice
          slices += 1
          largest = Math.max(largest, slice)
        }
        return { total, slices, largest }
      }
      const at = (second: number) => ({
        id: `${earliestId(second).slice(0, 16)}${randomBytes(8).toString('hex')}`,
        createdAt: second,
      })

      it('are nothing without rows', async () => {
        const nothing = { issued: 0, exchanged: 0, withoutActor: 0, revoked: 0, replayed: 0 }
        expect(await counted(0, NOW)).to.deep.equal(nothing)
        expect((await live(NOW)).total).to.equal(0)
      })

      it('are those of a time, to the second, of this issuer', async () => {
        await insert(at(NOW - 11))
        await insert(at(NOW - 10))
        await spent({ actor: { sub: 'carol' } }, at(NOW - 9))
        await spent({}, at(NOW - 8))
        const [revoked, unspent] = [await spent({}, at(NOW - 7)), await insert(at(NOW - 6))]
        for (const { id } of [revoked, unspent]) await store.revoke(ISSUER, id, NOW, BY_API)
        const replayed = await spent({}, at(NOW - 5))
        await store.recordReplay(ISSUER, replayed.id, { at: NOW, clientId: 'spa' })
        await spent({}, at(NOW - 4))
        await spent({}, { ...at(NOW - 8), issuer: 'https://other.example.com' })
        expect(await counted(NOW - 10, NOW - 4)).to.deep.equal({
          issued: 6,
          exchanged: 4,
          withoutActor: 3,
          revoked: 3,
          replayed: 1,
        })
        expect(await live(NOW)).to.deep.equal({ total: 3, slices: 1, largest: 3 })
        expect((await live(NOW + 599)).total).to.equal(3)
        expect((await live(NOW + 600)).total).to.equal(0)
      })

      it('read a bounded number of rows at a time, also where many expire in one second', async () => {
        const tokens = Array.from({ length: 2100 }, () => newToken(at(NOW)))
        for (const some of [tokens.slice(0, 1050), tokens.slice(1050)])
          await Promise.all(some.map((token) => store.insert(token)))
        await database.sequelize.query(`UPDATE subject_tokens
          SET consumed_at = ${NOW}, consumed_by = 'spa', used_resource = 'x', access_token_format = 'jwt',
            access_token_expires_at = ${NOW + 600}`)
        expect(await counted(NOW, NOW + 1)).to.include({ issued: 2100, exchanged: 2100 })
        expect((await live(NOW)).total).to.equal(2100)
        await database.sequelize.query(
          `UPDATE subject_tokens SET access_token_expires_at = ${NOW} + status_index % 5 + 1`,
        )
        const { total, slices, largest } = await live(NOW)
        expect(total).to.equal(2100)
        expect(slices).to.be.within(2, 4)
        // Two whole seconds, of 420 each.
        expect(largest).to.equal(840)
        expect((await live(NOW + 1)).total).to.equal(1680)
        expect((await live(NOW + 2)).total).to.equal(1260)
      }).timeout(20_000)
    })

    describe('the lists', () => {
      it('are none without rows', async () => {
        expect(await store.findStatusLists(SIZE, 0)).to.deep.equal([])
      })

      it('begin with the lowest of tokens that were issued together, whatever the order of their ids', async () => {
        const size = 4
        const idAt = (at: number) => earliestId(at).slice(0, 12) + mintId().slice(12)
        let statusIndex = -1
        // The next token is the first of a list.
        while (statusIndex % size !== size - 1)
          statusIndex = (await insert({ id: idAt(NOW + 2) })).statusIndex
        await store.insert(newToken({ id: idAt(NOW + 1) }))
        const [first] = await store.findStatusLists(size, NOW + 1)
        expect(first).to.equal(Math.floor(statusIndex / size))
      })

      it('are those that have a token of the time, of any issuer, and that of the highest index', async () => {
        const DAY = 86_400
        const old = newToken({ id: earliestId(NOW - 5 * DAY), createdAt: NOW - 5 * DAY })
        await store.insert(old)
        expect(await store.findStatusLists(SIZE, NOW - DAY)).to.deep.equal([0])
        await endUnspent(database.sequelize)
        await store.insert(newToken({ id: earliestId(NOW - 3 * DAY), issuer: 'https://other.example.com' }))
        await endUnspent(database.sequelize)
        await store.insert(newToken())
        expect(await store.findStatusLists(SIZE, NOW - 9 * DAY)).to.deep.equal([0, 1000, 2000])
        expect(await store.findStatusLists(SIZE, NOW - 4 * DAY)).to.deep.equal([1000, 2000])
        expect(await store.findStatusLists(SIZE, NOW - DAY)).to.deep.equal([2000])
        expect(await store.findStatusLists(SIZE, NOW + DAY)).to.deep.equal([2000])
      })
    })

    it('a purge keeps what a status list still shows', async () => {
      const at = Math.floor(Date.now() / 1000)
      const ended = (ago: number) =>
        spent({ accessToken: { format: 'jwt', expiresAt: at - ago } }, { id: earliestId(at - 1000 - ago) })
      const [kept, gone] = [await ended(290), await ended(310)]
      await database.sequelize.query(`UPDATE subject_tokens SET expires_at = ${at - 400}`)
      await purge(database.sequelize, { retention: 0 })
      expect(await store.get(kept.issuer, kept.id)).not.to.equal(undefined)
      expect(await store.get(gone.issuer, gone.id)).to.equal(undefined)
    })
  })
}
