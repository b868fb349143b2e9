import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { whileStopped } from '../../fixtures/clock.ts'
import { losingResults } from '../../fixtures/hooks.ts'
import { describeOn, onEachKind, useDatabase } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { around } from '../../fixtures/runs.ts'
import { BY_API, NOW, newUse, tokensIn } from '../../packages/store-contract/src/store/tokens.ts'
import { createSubjectTokenStore, purge } from '../../src/sequelize/index.ts'
import { endUnspent } from '../../src/sequelize/tokens/end-unspent.ts'
import { numberOf } from '../../src/sequelize/tokens/place.ts'
import { earliestId, mintId } from '../../src/tokens/id.ts'
import type { SubjectTokenStore } from '../../src/tokens/store.ts'

const SIZE = 131_072

/** Stops that fail halfway, and what is counted and listed of a whole table. */
onEachKind((kind) => {
  describe('subject token store: stops', () => {
    const database = useDatabase(kind, { each: true })
    let store: SubjectTokenStore
    let tokens: ReturnType<typeof tokensIn>
    beforeEach(() => {
      store = createSubjectTokenStore(database.sequelize)
      tokens = tokensIn(store)
    })

    it('a status index is not handed out again after a purge', async () => {
      const { insert, stored } = tokens
      const old = await stored((await insert({ createdAt: NOW - 400, expiresAt: NOW - 400 })).id)
      expect(await purge(database.sequelize, { retention: 0 })).to.include({ subjectTokens: 1 })
      expect((await stored((await insert()).id)).statusIndex).to.be.above(old.statusIndex)
    })

    describe('a stop that dies', () => {
      const why = { cause: 'console', by: 'dora', reason: 'a test' } as const
      const opaque = { grantId: 'grant', accessToken: { format: 'opaque', expiresAt: NOW + 600 } } as const
      const losing = () => {
        const sequelize = database.connect()
        return { lose: losingResults(sequelize), store: createSubjectTokenStore(sequelize) }
      }

      for (const [after, statement, meanwhile] of [
        ['its own row', /^INSERT INTO subject_token_stops/, 'no exchange'],
        // Before the tombstone an exchange may still win.
        ['its own row', /^INSERT INTO subject_token_stops/, 'an exchange that wins'],
        ['its tombstone', /^INSERT INTO subject_token_uses/, 'an exchange that loses'],
        ['its last read', /^SELECT .* FROM subject_tokens t/s, 'an exchange that loses'],
      ] as const) {
        it(`after ${after} and ${meanwhile} is completed by the next: a revocation, of which one reports it, or a kill switch`, async () => {
          const { issuer, insert, stored } = tokens
          for (const complete of ['revocation', 'kill switch']) {
            const token = await insert({ userId: complete })
            const { id } = token
            const broken = losing()
            await broken.store.find(issuer, id)
            if (after === 'its last read') {
              // The first one is answered.
              broken.lose(/^INSERT INTO subject_token_uses/)
              await broken.store.revoke(issuer, id, NOW, why).catch(() => {})
            }
            broken.lose(statement)
            const failed = await broken.store.revoke(issuer, id, NOW, why).catch((error: unknown) => error)
            expect(failed).to.have.property('name', 'StorageError')
            const dead = await stored(id)
            expect(dead).to.deep.include({ revokedAt: NOW, revocation: why })
            expect(await tokens.listed({ state: 'revoked', userId: [complete] })).to.deep.equal([id])
            const won = meanwhile !== 'no exchange' && (await store.consume(token, NOW, newUse(opaque)))
            expect(won).to.equal(meanwhile === 'an exchange that wins')
            const next =
              complete === 'revocation'
                ? await Promise.all([1, 2].map(() => store.revoke(issuer, id, NOW + 5, BY_API)))
                : await allOf(store.revokeWhere(issuer, { userId: complete }, NOW + 5, BY_API))
            expect(await store.consume(token, NOW, newUse()), 'a late exchange').to.equal(false)
            // An unspent one is told of only by who stops it.
            for (const one of next) {
              expect(one).to.have.property('unreported', true)
              expect(one?.token).to.deep.include({ id, revocation: why })
              expect(one?.token.use?.grantId).to.equal(won ? 'grant' : undefined)
            }
            expect(next).to.have.length(complete === 'revocation' ? 2 : won ? 1 : 0)
            const reports = await Promise.all([1, 2].map(() => store.report(issuer, [id])))
            expect(reports.flat()).to.deep.equal([id])
            expect((await store.revoke(issuer, id, NOW + 6, BY_API))?.unreported).to.equal(false)
          }
        })
      }

      it('because the result of its report is lost has reported it, and no other call does', async () => {
        const { issuer, id } = await tokens.spend()
        await store.revoke(issuer, id, NOW, why)
        const broken = losing()
        await broken.store.find(issuer, id)
        broken.lose(/^UPDATE subject_token_stops SET reported/)
        expect(await broken.store.report(issuer, [id])).to.deep.equal([id])
        expect(await store.report(issuer, [id])).to.deep.equal([])
      })
    })

    it('a kill switch whose caller takes minutes over a batch marks the next one at its own time', async () => {
      await whileStopped(async (clock) => {
        const { issuer, insert, stored } = tokens
        await Promise.all(Array.from({ length: 502 }, () => insert()))
        const times = new Set<number>()
        for await (const batch of store.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API)) {
          for (const { token } of batch) times.add((await stored(token.id)).revokedAt ?? 0)
          clock.tick(150)
        }
        expect([...times]).to.deep.equal([NOW, NOW + 150])
      }, NOW * 1000)
    })

    it('a kill switch of a name with many rows finds what is spent between its two walks', async () => {
      const { issuer, insert, stored } = tokens
      // So many that what is open and what lives are walked.
      await Promise.all(Array.from({ length: 1000 }, () => insert({ expiresAt: NOW })))
      const token = await insert()
      const pool = database.connect()
      const walks: string[] = []
      around(pool, {
        before: async (sql) => {
          const [, walk] = /AS found FROM .* (open|live) >= /s.exec(sql) ?? []
          if (walk === undefined || walks.includes(walk)) return
          walks.push(walk)
          if (walks.length === 2) await store.consume(token, NOW, newUse())
        },
      })
      await allOf(createSubjectTokenStore(pool).revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API))
      expect(walks).to.have.length(2)
      expect((await stored(token.id)).revokedAt).to.equal(NOW)
    }).timeout(20_000)

    it('counts read a bounded number of rows at a time, and tell a stop that came first from a use', async () => {
      const { issuer, insert, spend } = tokens
      const slices = async <Slice>(counts: AsyncIterable<Slice>) => {
        const all: Slice[] = []
        for await (const slice of counts) all.push(slice)
        return all
      }
      for (let part = 0; part < 5; part += 1)
        await Promise.all(Array.from({ length: 1001 }, (_, index) => (index < 9 ? spend() : insert())))
      const { id: unspent } = await insert()
      const { id: mine } = await spend()
      await store.revoke(issuer, unspent, NOW, BY_API)
      await store.revoke(issuer, mine, NOW, { cause: 'self', client: 'backend' })
      const counted = await slices(store.summarize(issuer, NOW, NOW + 1))
      expect(counted.map(({ issued }) => issued)).to.deep.equal([5000, 7])
      const sum = (of: (slice: (typeof counted)[0]) => number) =>
        counted.reduce((total, one) => total + of(one), 0)
      expect(sum(({ exchanged }) => exchanged)).to.equal(46)
      expect(sum(({ withoutActor }) => withoutActor)).to.equal(46)
      expect([sum(({ revoked }) => revoked), sum(({ ended }) => ended)]).to.deep.equal([1, 1])
      const live = async (now: number) => slices(store.countLive(issuer, now))
      expect(await live(NOW)).to.deep.equal([45])
      await spend({ accessToken: { format: 'jwt', expiresAt: NOW + 1200 } })
      expect(await live(NOW)).to.deep.equal([46])
      expect(await live(NOW + 600)).to.deep.equal([1])
    }).timeout(20_000)

    describe('the lists', () => {
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
        expect(await store.findStatusLists(SIZE, 0)).to.deep.equal([])
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
      expect(await store.find(issuer, kept.id)).not.to.equal(undefined)
      expect(await store.find(issuer, gone.id)).to.equal(undefined)
    })
  })
})

for (const kind of ['postgres', 'mysql'] as const) {
  describeOn(kind, `subject token store: a spend, on ${kind}`, () => {
    const database = useDatabase(kind)

    it('that waits for a stop is refused when the stop commits', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const { issuer, insert, stored } = tokensIn(store)
      const token = await insert()
      const id = kind === 'mysql' ? `X'${token.id}'` : `'${token.id}'`
      const spent: Promise<boolean>[] = []
      await database.connect().transaction(async (transaction) => {
        const write = (sql: string) => database.sequelize.query(sql, { transaction })
        await write(`INSERT INTO subject_token_stops (token_id, issuer, number, stopped_at, cause)
          VALUES (${id}, ${numberOf(issuer)}, ${token.statusIndex}, ${NOW}, 'host')`)
        await write(`INSERT INTO subject_token_uses (token_id, issuer) VALUES (${id}, ${numberOf(issuer)})`)
        spent.push(store.consume(token, NOW, newUse()))
        const first = await Promise.race([spent[0], sleep(300, 'waits')])
        expect(first).to.equal('waits')
      })
      expect(await spent[0]).to.equal(false)
      const { use, revokedAt } = await stored(token.id)
      expect([use, revokedAt]).to.deep.equal([undefined, NOW])
    })
  })
}
