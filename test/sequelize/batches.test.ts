/** Statements that are sent to the database together: each has the outcome that it would have alone. */
import { EventEmitter } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { DATABASES, type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn, itOn } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { BY_API, NOW } from '../../fixtures/subject-tokens.ts'
import {
  findAll,
  insertAll,
  knowIssuer,
  newTokens,
  outcomes,
  sizes,
  spend,
  spendAll,
} from '../../fixtures/together.ts'
import { nodeDriver, sqlite3Driver } from '../../src/sequelize/database/sqlite/driver.ts'
import { nodeSqlite } from '../../src/sequelize/database/sqlite/node-sqlite.ts'
import { createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import { numberOf } from '../../src/sequelize/tokens/issuers.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import type { SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import type { NewSubjectToken } from '../../src/subject-tokens/subject-token.ts'

/** How many calls go together: 40, and 41 to find. */
const GROUPS = {
  sqlite: [
    [32, 8],
    [32, 9],
  ],
  postgres: [
    [32, 8],
    [32, 9],
  ],
  mysql: [
    [16, 16, 8],
    [16, 16, 9],
  ],
} as const satisfies Record<DatabaseKind, readonly (readonly number[])[]>

for (const kind of DATABASES) {
  const [forty, more] = GROUPS[kind]
  describe(`statements of one turn, on ${kind}`, () => {
    let database: Database
    let store: SubjectTokenStore
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
      store = createSubjectTokenStore(database.sequelize)
      await knowIssuer(store)
    })
    after(() => database?.close())

    it('are sent together, up to a limit, and each gets its own result', async () => {
      const tokens = newTokens(40)
      const unknown = mintId()
      const runs = await recordRuns(database, async () => {
        await insertAll(store, tokens)
        const found = await findAll(store, [...tokens.map(({ id }) => id), unknown])
        expect(found.map((token) => token?.id)).to.deep.equal([...tokens.map(({ id }) => id), undefined])
        expect(found.map((token) => token?.context)).to.deep.equal([
          ...tokens.map(({ context }) => context),
          undefined,
        ])
        expect(await spendAll(store, tokens)).to.deep.equal(tokens.map(() => true))
      })
      expect(sizes(runs)).to.deep.equal([...forty, ...more, ...forty])
    })

    it('spend a token once when all of them spend the same token', async () => {
      const [token, ...others] = newTokens(3)
      if (!token) throw new Error('no token')
      await insertAll(store, [token, ...others])
      const spent = await spendAll(store, [token, token, ...others, token, token])
      expect(spent.filter(Boolean)).to.have.length(3)
    })

    it('do not fail because one of them does', async () => {
      // By id, the order of the batch: what precedes the first fault has run, and is rolled back.
      const tokens = newTokens(6).sort((one, other) => (one.id < other.id ? -1 : 1))
      const [, , third, , , last] = tokens
      if (!third || !last) throw new Error('no tokens')
      await store.insert(last)
      const inserted = tokens.map((token) =>
        store.insert(token === third ? { ...third, id: last.id } : token),
      )
      expect(await outcomes(inserted)).to.deep.equal([
        'fulfilled',
        'fulfilled',
        'rejected',
        'fulfilled',
        'fulfilled',
        'rejected',
      ])
      const elsewhere = createSubjectTokenStore(database.connect())
      const found = await findAll(
        elsewhere,
        tokens.map(({ id }) => id),
      )
      expect(found.map((token) => token?.id)).to.deep.equal(
        tokens.map((token) => (token === third ? undefined : token.id)),
      )
    })

    it('wait for no others', async () => {
      const [token] = newTokens(1)
      if (!token) throw new Error('no token')
      const runs = await recordRuns(database, async () => {
        await store.insert(token)
        expect(await store.find(ISSUER, token.id)).to.have.property('id', token.id)
        expect(await spend(store, token)).to.equal(true)
      })
      expect(sizes(runs)).to.deep.equal([1, 1, 1])
    })
  })
}

describe('a batch that a PostgreSQL of another language refuses', () => {
  itOn('postgres', 'does not fail for the fault of one of them', async () => {
    const database = await openDatabase('postgres')
    try {
      const store = createSubjectTokenStore(database.connect({ hooks: { afterConnect: speakItalian } }))
      const [first, second, third] = newTokens(3)
      if (!first || !second || !third) throw new Error('no tokens')
      await store.insert(first)
      const inserted = [first, second, third].map((token) => store.insert(token))
      expect(await outcomes(inserted)).to.deep.equal(['rejected', 'fulfilled', 'fulfilled'])
    } finally {
      await database.close()
    }
  })
})

/** The server writes the severity of an error in the language of its `lc_messages`. */
function speakItalian(client: unknown): void {
  const connection: unknown = Reflect.get(Object(client), 'connection')
  if (!(connection instanceof EventEmitter)) throw new Error('not a client of node-postgres')
  connection.prependListener('errorMessage', (error: object) => Object.assign(error, { severity: 'ERRORE' }))
}

describe('batches of two processes, on postgres', () => {
  let database: Database
  let one: SubjectTokenStore
  let other: SubjectTokenStore
  beforeOn('postgres', async () => {
    database = await openDatabase('postgres')
    one = createSubjectTokenStore(database.connect({ pool: { max: 1 } }))
    other = createSubjectTokenStore(database.connect({ pool: { max: 1 } }))
    for (const store of [one, other]) await knowIssuer(store)
  })
  after(() => database?.close())

  /** Holds the place of a token's use, as a stop would, while `work` runs, and gives it up. */
  async function holding({ id }: NewSubjectToken, work: () => Promise<unknown>): Promise<void> {
    const transaction = await database.sequelize.transaction()
    try {
      await database.sequelize.query(
        `INSERT INTO subject_token_uses (issuer, token_id) VALUES (${numberOf(ISSUER)}, '${id}')`,
        { transaction },
      )
      await work()
    } finally {
      await transaction.rollback()
    }
  }

  async function waiting(count: number): Promise<number[]> {
    for (;;) {
      const rows = await database.sequelize.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT%'`,
        { type: QueryTypes.SELECT },
      )
      if (rows.length === count) return rows.map(({ pid }) => pid)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  it('lock their rows in the same order, so that they never wait for each other', async () => {
    const tokens = newTokens(3)
    const [first] = tokens
    if (!first) throw new Error('no token')
    await insertAll(one, tokens)
    const spent: Promise<boolean[]>[] = []
    const runs = await recordRuns(database, async () => {
      await holding(first, async () => {
        spent.push(spendAll(one, tokens), spendAll(other, tokens.toReversed()))
        await waiting(2)
      })
      await Promise.all(spent)
    })
    const [here = [], there = []] = await Promise.all(spent)
    const winners = tokens.map((_, index) => Number(here[index]) + Number(there.toReversed()[index]))
    expect(winners).to.deep.equal([1, 1, 1])
    // A deadlock would have rolled one of them back, and its statements would have been sent again.
    expect(sizes(runs)).to.deep.equal([3, 3])
  })

  it('lock them in that order in a kill switch, too', async () => {
    // In another order, two that meet wait for each other in one of two rounds.
    for (let round = 0; round < 6; round += 1) {
      const userId = `round-${round}`
      const tokens = newTokens(2).map((token) => ({ ...token, userId }))
      const held = tokens.at(-1) as NewSubjectToken
      await insertAll(one, tokens)
      const pending: Promise<unknown>[] = []
      const runs = await recordRuns(database, async () => {
        await holding(held, async () => {
          pending.push(spendAll(one, tokens.toReversed()))
          await waiting(1)
          pending.push(allOf(other.revokeWhere(ISSUER, { userId }, NOW, BY_API)))
          await waiting(2)
        })
        await Promise.all(pending)
      })
      const [spent, revoked] = await Promise.all(pending)
      expect(spent).to.deep.equal([true, true])
      expect(revoked).to.have.length(2)
      expect(sizes(runs.filter(({ sql }) => sql.startsWith('INSERT INTO subject_token_uses')))).to.deep.equal(
        [2, 1],
      )
    }
  })

  for (const hooks of [{}, { afterConnect: speakItalian }]) {
    const language = 'afterConnect' in hooks ? 'Italian' : 'English'
    it(`give up only the one whose row stays locked, in ${language}`, async () => {
      const impatient = database.connect({ dialectOptions: { lock_timeout: 100 }, hooks })
      const tokens = newTokens(3)
      const [, second] = tokens
      if (!second) throw new Error('no token')
      await insertAll(one, tokens)
      const store = createSubjectTokenStore(impatient)
      await holding(second, async () => {
        const spent = await outcomes(tokens.map((token) => spend(store, token)))
        expect(spent).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
      })
    })
  }

  it('are not sent again when their connection is lost: they may have taken effect', async () => {
    const tokens = newTokens(3)
    const [, second] = tokens
    if (!second) throw new Error('no token')
    await insertAll(one, tokens)
    const spent: Promise<string[]>[] = []
    const runs = await recordRuns(database, async () => {
      await holding(second, async () => {
        spent.push(outcomes(tokens.map((token) => spend(one, token))))
        for (const pid of await waiting(1))
          await database.sequelize.query(`SELECT pg_terminate_backend(${pid})`)
        await Promise.all(spent)
      })
    })
    expect(await spent[0]).to.deep.equal(['rejected', 'rejected', 'rejected'])
    expect(sizes(runs)).to.deep.equal([3])
    // None of the batch happened without the others.
    expect(await spendAll(other, tokens)).to.deep.equal([true, true, true])
  })
})

describe('statements of one turn, on a SQLite', () => {
  let database: Database
  beforeEach(async () => {
    database = await openDatabase('sqlite')
  })
  afterEach(() => database.close())

  it('in memory stay in a transaction that is open on the one connection', async () => {
    const sequelize = database.connect({ storage: ':memory:' })
    await migrate(sequelize)
    const store = createSubjectTokenStore(sequelize)
    const tokens = newTokens(4)
    await insertAll(store, tokens.slice(0, 2))
    const transaction = await sequelize.transaction()
    const inserted = await outcomes(tokens.map((token) => store.insert(token)))
    expect(inserted).to.deep.equal(['rejected', 'rejected', 'fulfilled', 'fulfilled'])
    await transaction.commit()
    expect(await spendAll(store, tokens)).to.deep.equal([true, true, true, true])
  })

  it('are tried again while another process keeps its lock, and fail when it does so for too long', async () => {
    const store = createSubjectTokenStore(database.sequelize)
    const tokens = newTokens(3)
    await insertAll(store, tokens)
    await database.sequelize.query('PRAGMA busy_timeout = 100')
    const process = new DatabaseSync(database.url.slice('sqlite:'.length))
    process.exec('BEGIN IMMEDIATE')
    const runs = await recordRuns(database, async () => {
      const spent = await outcomes(tokens.map((token) => spend(store, token)))
      expect(spent).to.deep.equal(['rejected', 'rejected', 'rejected'])
    })
    expect(sizes(runs)[0]).to.equal(3)
    process.close()
    expect(await spendAll(store, tokens)).to.deep.equal([true, true, true])
  })

  it('are rolled back when their commit fails, and later statements are durable', async () => {
    const store = createSubjectTokenStore(database.sequelize)
    const tokens = newTokens(3)
    await insertAll(store, tokens)
    // Without a write-ahead log a reader prevents a writer from committing.
    await database.sequelize.query('PRAGMA journal_mode = DELETE')
    await database.sequelize.query('PRAGMA busy_timeout = 100')
    const process = new DatabaseSync(database.url.slice('sqlite:'.length))
    const consumed = process.prepare('SELECT COUNT(used_at) AS rows FROM subject_token_uses')
    process.exec('BEGIN')
    expect(consumed.get()).to.include({ rows: 0 })
    const spent = await outcomes(tokens.map((token) => spend(store, token)))
    expect(spent).to.deep.equal(['rejected', 'rejected', 'rejected'])
    process.exec('COMMIT')
    expect(await spendAll(store, tokens)).to.deep.equal([true, true, true])
    expect(consumed.get()).to.include({ rows: 3 })
    process.close()
  })

  it('are sent one by one through another dialect module', async () => {
    const dialectModule = { ...nodeSqlite, Database: Sqlite3 }
    const store = createSubjectTokenStore(database.connect({ dialectModule }))
    await knowIssuer(store)
    const tokens = newTokens(3)
    const runs = await recordRuns(database, async () => {
      await insertAll(store, tokens)
      expect(await spendAll(store, tokens)).to.deep.equal([true, true, true])
      expect(await spendAll(store, tokens)).to.deep.equal([false, false, false])
      const found = await findAll(
        store,
        tokens.map(({ id }) => id),
      )
      expect(found.map((token) => token?.use?.clientId)).to.deep.equal(['spa', 'spa', 'spa'])
    })
    expect(sizes(runs)).to.deep.equal(Array.from({ length: 12 }, () => 1))
  })

  it('fail one by one through another dialect module', async () => {
    const dialectModule = { ...nodeSqlite, Database: Sqlite3 }
    const sequelize = database.connect({ dialectModule })
    const store = createSubjectTokenStore(sequelize)
    const [one, other] = newTokens(2)
    if (!one || !other) throw new Error('no tokens')
    await store.insert(one)
    const inserted = [{ ...other, id: one.id }, other].map((token) => store.insert(token))
    expect(await outcomes(inserted)).to.deep.equal(['rejected', 'fulfilled'])
    await sequelize.query('DROP TABLE subject_tokens')
    const failure = await store.find(ISSUER, one.id).catch((error: Error) => error.message)
    expect(failure).to.include('oidc-impersonation migrate')
  })

  it('have no rows through another dialect module unless they ask for some', async () => {
    const sqlite3 = new Sqlite3(':memory:', 6, () => {})
    const run = (sql: string, bind: number[]) => sqlite3Driver.run(sqlite3, { sql }, [bind])
    expect(await run('CREATE TABLE t (a INTEGER)', []))
      .to.have.nested.property('[0].rows')
      .that.deep.equals([])
    expect(await run('INSERT INTO t VALUES ($1)', [7])).to.deep.equal([{ rows: [], affected: 1 }])
    const [found] = await run('SELECT a FROM t WHERE a = $1', [7])
    expect(found?.rows.map(({ a }) => a)).to.deep.equal([7])
    sqlite3.close(() => {})
  })

  it('are not sent through a connection that is not of nodeSqlite', async () => {
    const error = await nodeDriver.run({}, { sql: 'SELECT 1' }, [[]]).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(TypeError).with.property('message', 'not a connection of nodeSqlite')
  })
})

/** The interface of the `sqlite3` package, and nothing else. */
class Sqlite3 {
  readonly filename: string
  uuid?: string
  readonly #database: InstanceType<typeof nodeSqlite.Database>
  readonly serialize: (work: () => void) => void
  readonly run: InstanceType<typeof nodeSqlite.Database>['run']
  readonly all: InstanceType<typeof nodeSqlite.Database>['all']
  readonly close: InstanceType<typeof nodeSqlite.Database>['close']
  constructor(...args: ConstructorParameters<typeof nodeSqlite.Database>) {
    this.#database = new nodeSqlite.Database(...args)
    this.filename = this.#database.filename
    this.serialize = (work) => this.#database.serialize(work)
    this.run = (...args) => this.#database.run(...args)
    this.all = (...args) => this.#database.all(...args)
    this.close = (done) => this.#database.close(done)
  }
}
