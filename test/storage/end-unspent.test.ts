import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { stopClock } from '../../fixtures/clock.ts'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { onEachKind } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { around } from '../../fixtures/runs.ts'
import { BY_API, NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import { createSubjectTokenStore, purge } from '../../src/sequelize/index.ts'
import { endUnspent } from '../../src/sequelize/tokens/end-unspent.ts'
import { earliestId } from '../../src/tokens/id.ts'
import type { SubjectTokenStore } from '../../src/tokens/store.ts'
import { LONGEST_LIFE, type NewSubjectToken, STATUS_LIST_SIZE } from '../../src/tokens/subject-token.ts'

/** Makes the last statement of `end-unspent` fail, once its rows are there. */
const INTERRUPTED = {
  sqlite: `CREATE TRIGGER interrupted BEFORE DELETE ON subject_tokens BEGIN SELECT RAISE(ABORT, 'no'); END`,
  mysql: `CREATE TRIGGER interrupted BEFORE DELETE ON subject_tokens FOR EACH ROW SIGNAL SQLSTATE '45000'`,
}

/** What the command does after a restore, on every database. */
onEachKind((kind) => {
  describe('end-unspent', () => {
    let database: Database
    let store: SubjectTokenStore
    let clock: ReturnType<typeof stopClock>
    beforeEach(async () => {
      database = await openDatabase(kind)
      store = createSubjectTokenStore(database.sequelize)
      clock = stopClock(NOW * 1000)
    })
    afterEach(async () => {
      clock.restore()
      await database.close()
    })

    const get = async ({ issuer, id }: Pick<NewSubjectToken, 'issuer' | 'id'>) =>
      (await store.find(issuer, id)) ?? expect.fail('not found')
    const insert = async (changes?: Partial<NewSubjectToken>) => {
      const token = newToken(changes)
      await store.insert(token)
      return get(token)
    }
    const rows = async () => {
      const [found] = await database.sequelize.query('SELECT issuer, open FROM subject_tokens')
      return found as { readonly issuer: number; readonly open: number }[]
    }
    const OTHER = 'https://other.example.com'
    const ENDED = { revokedAt: NOW, revocation: { cause: 'command' } }

    it('revokes what can still be exchanged, of every issuer, and nothing else', async () => {
      const createdAt = NOW - LONGEST_LIFE + 1
      const id = earliestId(createdAt).slice(0, 16) + randomBytes(8).toString('hex')
      const live = [
        await insert(),
        await insert({ issuer: OTHER }),
        await insert({ id, createdAt, expiresAt: NOW + 1 }),
      ]
      const over = [await insert(), await insert(), await insert({ expiresAt: NOW })] as const
      const [spent, revoked] = over
      expect(await store.consume(spent, NOW, newUse())).to.equal(true)
      await store.revoke(revoked.issuer, revoked.id, NOW - 5, BY_API)
      const before = await Promise.all(over.map(get))
      expect(await endUnspent(database.sequelize)).to.equal(live.length)
      for (const token of live) expect(await get(token)).to.deep.include(ENDED)
      expect(await Promise.all(over.map(get))).to.deep.equal(before)
      expect(await endUnspent(database.sequelize)).to.equal(0)
    })

    it('revokes what is of one issuer, if it is named', async () => {
      const [one, other] = [await insert(), await insert({ issuer: OTHER })]
      expect(await endUnspent(database.sequelize, { issuer: OTHER })).to.equal(1)
      expect(await get(other)).to.deep.include(ENDED)
      expect(await get(one)).not.to.have.property('revokedAt')
    })

    it('refuses an issuer that the database does not know, before it moves anything', async () => {
      const one = await insert()
      const refusal = (pool = database.sequelize, issuer = OTHER) =>
        endUnspent(pool, { issuer }).catch((error: Error) => error.message)
      expect(await refusal()).to.equal(`no subject token is of ${OTHER}: name an issuer as the tokens do`)
      const forged = 'UPDATE impersonation_issuers SET issuer = :other'
      await database.sequelize.query(forged, { replacements: { other: OTHER } })
      // The number is that of another name: no one can tell whose tokens these are.
      expect(await refusal(database.connect(), one.issuer)).to.include(one.issuer)
      expect(await get(one)).not.to.have.property('revokedAt')
    })

    it('dates each stop by its own time, because status lists look back only so far', async () => {
      // One more than are stopped together.
      const soon = await Promise.all(Array.from({ length: 500 }, () => insert({ expiresAt: NOW + 60 })))
      const later = await insert({ expiresAt: NOW + 3000 })
      const pool = database.connect()
      around(pool, {
        after: (sql) => /^INSERT INTO subject_token_stops .*stopped_at/.test(sql) && clock.tick(20),
      })
      expect(await endUnspent(pool)).to.equal(501)
      const dates = await Promise.all([...soon, later].map(async (token) => (await get(token)).revokedAt))
      expect(dates.sort()).to.deep.equal([...soon.map(() => NOW), NOW + 20])
    })

    it('reports what no one spent, and leaves what was spent meanwhile to the next kill switch', async () => {
      const [unspent, spent] = [await insert(), await insert()]
      const pool = database.connect()
      let spend: () => unknown = async () => {
        spend = () => {}
        expect(await store.consume(spent, NOW, newUse())).to.equal(true)
      }
      // Between the stop and its tombstone.
      around(pool, { after: (sql) => sql.startsWith('INSERT INTO subject_token_stops') && spend() })
      expect(await endUnspent(pool)).to.equal(1)
      const issuer = spent.issuer
      expect(await store.report(issuer, [unspent.id])).to.deep.equal([])
      const left = await allOf(store.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API))
      expect(left.map(({ token }) => token.id)).to.deep.equal([spent.id])
      expect(left[0]?.token.use).to.have.property('clientId', 'spa')
    })

    it('moves the status index ahead by 1,000 lists, and leaves no row of its own behind', async () => {
      const old = await get(await insert())
      await endUnspent(database.sequelize)
      const next = await get(await insert())
      expect(next.statusIndex).to.be.above(old.statusIndex + 1000 * STATUS_LIST_SIZE)
      expect(await rows()).to.have.length(2)
    })

    // PostgreSQL moves its sequence without a row.
    if (kind !== 'postgres') {
      it('moves it by rows of no issuer, which a purge deletes if the command dies before it does', async () => {
        await database.sequelize.query(INTERRUPTED[kind])
        await endUnspent(database.sequelize).catch(() => {})
        await database.sequelize.query('DROP TRIGGER interrupted')
        const left = { issuer: 0, open: 0 }
        expect(await rows()).to.deep.equal([left, left])
        await purge(database.sequelize, { retention: 0 })
        expect(await rows()).to.deep.equal([])
      })
    }
  })
})
