import { expect } from 'chai'
import { stopClock } from '../../fixtures/clock.ts'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { losingResults } from '../../fixtures/lost-results.ts'
import { onEachKind } from '../../fixtures/on-database.ts'
import { endUnspent } from '../../src/sequelize/end-unspent.ts'
import { createSubjectTokenStore, purge } from '../../src/sequelize/index.ts'
import { earliestId, mintId } from '../../src/subject-tokens/id.ts'
import type { SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import { BY_API, NOW, tokensIn } from '../../src/testing/store/tokens.ts'

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

/** Stops that fail halfway, and what is counted and listed of a whole table. */
onEachKind((kind) => {
  describe('subject token store: stops', () => {
    let database: Database
    let store: SubjectTokenStore
    let tokens: ReturnType<typeof tokensIn>
    beforeEach(async () => {
      database = await openDatabase(kind)
      store = createSubjectTokenStore(database.sequelize)
      tokens = tokensIn(store)
    })
    afterEach(() => database.close())

    it('a status index is not handed out again after a purge', async () => {
      const { insert, stored } = tokens
      const old = await stored((await insert({ createdAt: NOW - 100, expiresAt: NOW - 100 })).id)
      expect(await purge(database.sequelize, { retention: 0 })).to.include({ subjectTokens: 1 })
      expect((await stored((await insert()).id)).statusIndex).to.be.above(old.statusIndex)
    })

    describe('a revocation that fails after it has marked the token', () => {
      const why = { cause: 'console', by: 'dora', reason: 'a test' } as const

      for (const [of, statement] of [
        ['of the mark', /^UPDATE subject_tokens\s+SET stopped_index/],
        ['of the read', /^SELECT .* FROM subject_tokens WHERE id = /s],
      ] as const) {
        it(`because the result ${of} is lost is completed by one of the next`, async () => {
          const { issuer, id } = await tokens.spend()
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
        const { issuer, id } = await tokens.spend()
        const sequelize = database.connect()
        const lose = losingResults(sequelize)
        const losing = createSubjectTokenStore(sequelize)
        lose(/^UPDATE subject_tokens SET revoked_call = NULL/)
        expect((await losing.revoke(issuer, id, NOW, why))?.marked).to.equal(true)
        expect((await store.revoke(issuer, id, NOW + 5, BY_API))?.marked).to.equal(false)
      })

      it('because the database refuses the next statement is completed by the next', async () => {
        const { issuer, id } = await tokens.insert()
        const [refuse, pass] = REFUSED[kind]
        await database.sequelize.query(refuse)
        const failed = await Promise.allSettled([store.revoke(issuer, id, NOW, why)])
        expect(failed).to.have.nested.property('[0].reason.name', 'StorageError')
        await database.sequelize.query(pass)
        expect((await store.get(issuer, id))?.revokedAt).to.equal(NOW)
        expect((await store.revoke(issuer, id, NOW + 5, BY_API))?.marked).to.equal(true)
      })
    })

    it('a kill switch whose caller takes minutes over a batch marks the next one at its own time', async () => {
      const clock = stopClock(NOW * 1000)
      try {
        const { issuer, insert, stored } = tokens
        await Promise.all(Array.from({ length: 502 }, () => insert()))
        const times = new Set<number>()
        for await (const batch of store.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API)) {
          for (const { token } of batch) times.add((await stored(token.id)).revokedAt ?? 0)
          clock.tick(150)
        }
        expect([...times]).to.deep.equal([NOW, NOW + 150])
      } finally {
        clock.restore()
      }
    })

    it('counts read a bounded number of rows at a time, also where many expire in one second', async () => {
      const { issuer, insert } = tokens
      const issued = async () => {
        let total = 0
        for await (const slice of store.summarize(issuer, NOW, NOW + 1)) {
          expect(slice.issued).to.be.at.most(500)
          expect(slice.exchanged).to.equal(slice.issued)
          total += slice.issued
        }
        return total
      }
      const live = async (now: number) => {
        const slices: number[] = []
        for await (const slice of store.countLive(issuer, now)) slices.push(slice)
        return { slices, total: slices.reduce((sum, slice) => sum + slice, 0) }
      }
      for (const _ of [1, 2]) await Promise.all(Array.from({ length: 1050 }, () => insert()))
      await database.sequelize.query(`UPDATE subject_tokens
        SET consumed_at = ${NOW}, consumed_by = 'spa', used_resource = 'x', access_token_format = 'jwt',
          access_token_expires_at = ${NOW + 600}`)
      expect(await issued()).to.equal(2100)
      expect((await live(NOW)).total).to.equal(2100)
      await database.sequelize.query(
        `UPDATE subject_tokens SET access_token_expires_at = ${NOW} + status_index % 5 + 1`,
      )
      const { total, slices } = await live(NOW)
      expect(total).to.equal(2100)
      expect(slices.length).to.be.within(2, 4)
      // Two whole seconds, of 420 each.
      expect(Math.max(...slices)).to.equal(840)
      expect((await live(NOW + 1)).total).to.equal(1680)
      expect((await live(NOW + 2)).total).to.equal(1260)
    }).timeout(20_000)

    describe('the lists', () => {
      it('are none without rows', async () => {
        expect(await store.findStatusLists(SIZE, 0)).to.deep.equal([])
      })

      it('begin with the lowest of tokens that were issued together, whatever the order of their ids', async () => {
        const { insert, stored } = tokens
        const size = 4
        const idAt = (at: number) => earliestId(at).slice(0, 12) + mintId().slice(12)
        let statusIndex = -1
        // The next token is the first of a list.
        while (statusIndex % size !== size - 1)
          statusIndex = (await stored((await insert({ id: idAt(NOW + 2) })).id)).statusIndex
        await insert({ id: idAt(NOW + 1) })
        const [first] = await store.findStatusLists(size, NOW + 1)
        expect(first).to.equal(Math.floor(statusIndex / size))
      })

      it('are those that have a token of the time, of any issuer, and that of the highest index', async () => {
        const DAY = 86_400
        await tokens.insert({ createdAt: NOW - 5 * DAY })
        expect(await store.findStatusLists(SIZE, NOW - DAY)).to.deep.equal([0])
        await endUnspent(database.sequelize)
        await tokensIn(store).insert({ createdAt: NOW - 3 * DAY })
        await endUnspent(database.sequelize)
        await tokens.insert()
        expect(await store.findStatusLists(SIZE, NOW - 9 * DAY)).to.deep.equal([0, 1000, 2000])
        expect(await store.findStatusLists(SIZE, NOW - 4 * DAY)).to.deep.equal([1000, 2000])
        expect(await store.findStatusLists(SIZE, NOW - DAY)).to.deep.equal([2000])
        expect(await store.findStatusLists(SIZE, NOW + DAY)).to.deep.equal([2000])
      })
    })

    it('a purge keeps what a status list still shows', async () => {
      const { issuer, spend } = tokens
      const at = Math.floor(Date.now() / 1000)
      const ended = (ago: number) =>
        spend({ accessToken: { format: 'jwt', expiresAt: at - ago } }, { id: earliestId(at - 1000 - ago) })
      const [kept, gone] = [await ended(290), await ended(310)]
      await database.sequelize.query(`UPDATE subject_tokens SET expires_at = ${at - 400}`)
      await purge(database.sequelize, { retention: 0 })
      expect(await store.get(issuer, kept.id)).not.to.equal(undefined)
      expect(await store.get(issuer, gone.id)).to.equal(undefined)
    })
  })
})
