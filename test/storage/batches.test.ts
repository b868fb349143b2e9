/** Statements that are sent to the database together: each has the outcome that it would have alone. */
import { EventEmitter } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { QueryTypes, type Sequelize } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { DATABASES, type Database, type DatabaseKind } from '../../fixtures/databases.ts'
import { describeOn, useDatabase } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { BY_API, NOW, newUse } from '../../fixtures/subject-tokens.ts'
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
import type { Binding, Text } from '../../src/sequelize/database/text.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import { numberOf } from '../../src/sequelize/tokens/place.ts'
import { mintId } from '../../src/tokens/id.ts'
import type { SubjectTokenStore } from '../../src/tokens/store.ts'
import type { NewSubjectToken } from '../../src/tokens/subject-token.ts'

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
    const database = useDatabase(kind)
    let store: SubjectTokenStore
    before(async () => {
      store = createSubjectTokenStore(database.sequelize)
      await knowIssuer(store)
    })

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
  })
}

describeOn('postgres', 'a batch that a PostgreSQL of another language refuses', () => {
  const database = useDatabase('postgres')

  it('does not fail for the fault of one of them', async () => {
    const store = createSubjectTokenStore(database.connect({ hooks: { afterConnect: speakItalian } }))
    const [first, second, third] = newTokens(3)
    if (!first || !second || !third) throw new Error('no tokens')
    await store.insert(first)
    const inserted = [first, second, third].map((token) => store.insert(token))
    expect(await outcomes(inserted)).to.deep.equal(['rejected', 'fulfilled', 'fulfilled'])
  })
})

/** The server writes the severity of an error in the language of its `lc_messages`. */
function speakItalian(client: unknown): void {
  const connection: unknown = Reflect.get(Object(client), 'connection')
  if (!(connection instanceof EventEmitter)) throw new Error('not a client of node-postgres')
  connection.prependListener('errorMessage', (error: object) => Object.assign(error, { severity: 'ERRORE' }))
}

/** How a server holds the place of a token's use, and shows who waits for it. */
const SERVERS = {
  postgres: {
    hold: (id: string) =>
      `INSERT INTO subject_token_uses (issuer, token_id) VALUES (${numberOf(ISSUER)}, '${id}')`,
    waiting: `SELECT pid AS id FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT%'`,
    end: (id: number) => `SELECT pg_terminate_backend(${id})`,
  },
  mysql: {
    hold: (id: string) =>
      `SELECT 1 FROM subject_token_uses WHERE issuer = ${numberOf(ISSUER)} AND token_id = X'${id}' FOR UPDATE`,
    waiting: `SELECT p.id FROM information_schema.innodb_trx x JOIN information_schema.processlist p
      ON p.id = x.trx_mysql_thread_id WHERE p.db = DATABASE() AND x.trx_state = 'LOCK WAIT'`,
    end: (id: number) => `KILL ${id}`,
  },
} as const

for (const kind of ['postgres', 'mysql'] as const)
  describeOn(kind, `batches of two processes, on ${kind}`, () => {
    const server = SERVERS[kind]
    const database = useDatabase(kind)
    let one: SubjectTokenStore
    let other: SubjectTokenStore
    before(async () => {
      one = createSubjectTokenStore(database.connect({ pool: { max: 1 } }))
      other = createSubjectTokenStore(database.connect({ pool: { max: 1 } }))
      for (const store of [one, other]) await knowIssuer(store)
    })

    type Hold = (token: Pick<NewSubjectToken, 'id'>) => Promise<unknown>

    /** Holds the place of a token's use, as a stop would, while `work` runs, and gives it up. */
    async function holding(token: NewSubjectToken, work: (hold: Hold) => Promise<unknown>): Promise<void> {
      const transaction = await database.sequelize.transaction()
      const query = (sql: string) => database.sequelize.query(sql, { transaction })
      try {
        // MariaDB rolls back the transaction that has written less: not this one.
        for (let index = 0; kind === 'mysql' && index < 20; index += 1)
          await query(`INSERT INTO subject_token_actors (token_id, issuer, actor_id, chain)
            VALUES (X'${mintId()}', 1, 'other', X'${mintId()}')`)
        const hold: Hold = ({ id }) => query(server.hold(id))
        await hold(token)
        await work(hold)
      } finally {
        await transaction.rollback()
      }
    }

    /** The connections that wait for a row, once there are so many. */
    async function waiting(count: number): Promise<number[]> {
      for (;;) {
        const rows = await database.sequelize.query<{ id: number }>(server.waiting, {
          type: QueryTypes.SELECT,
        })
        if (rows.length === count) return rows.map(({ id }) => id)
        // MariaDB renews this table when it was not read for a tenth of a second.
        await new Promise((resolve) => setTimeout(resolve, kind === 'mysql' ? 120 : 10))
      }
    }

    /** Tokens between whose places there are uses, so that MariaDB can hold the place of one alone. */
    async function tokensApart(count: number, userId = 'alice'): Promise<NewSubjectToken[]> {
      const all = newTokens(2 * count + 1).map((token, index) => (index % 2 ? { ...token, userId } : token))
      await insertAll(one, all)
      await spendAll(
        one,
        all.filter((_, index) => index % 2 === 0),
      )
      return all.filter((_, index) => index % 2 === 1)
    }

    it('lock their rows in the order that a kill switch uses', async () => {
      // In another order, two that meet wait for each other in one of two rounds.
      for (let round = 0; round < 6; round += 1) {
        const userId = `round-${round}`
        const tokens = await tokensApart(2, userId)
        const pending: Promise<unknown>[] = []
        const runs = await recordRuns(database, async () => {
          await holding(tokens.at(-1) as NewSubjectToken, async () => {
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
        // A deadlock would have rolled one of them back, and its statements would have been sent again.
        const writes = runs.filter(({ sql }) => sql.startsWith('INSERT INTO subject_token_uses'))
        expect(sizes(writes)).to.deep.equal([2, 1])
      }
    })

    it('are not sent again when their connection is lost: they may have taken effect', async () => {
      const tokens = await tokensApart(3)
      const spent: Promise<PromiseSettledResult<boolean>[]>[] = []
      const runs = await recordRuns(database, async () => {
        await holding(tokens[1] as NewSubjectToken, async () => {
          spent.push(Promise.allSettled(tokens.map((token) => spend(one, token))))
          for (const id of await waiting(1)) await database.sequelize.query(server.end(id))
          await Promise.all(spent)
        })
      })
      for (const outcome of (await spent[0]) ?? [])
        expect(Reflect.get(outcome, 'reason')).to.include({ name: 'StorageError', tookEffect: undefined })
      expect(sizes(runs)).to.deep.equal([3])
      // None of the batch happened without the others.
      expect(await spendAll(other, tokens)).to.deep.equal([true, true, true])
    })

    if (kind === 'mysql')
      it('are repeated one by one when the database has rolled them back', async () => {
        const tokens = await tokensApart(4)
        const [first, , , last] = tokens as [NewSubjectToken, unknown, unknown, NewSubjectToken]
        const spent: Promise<boolean[]>[] = []
        const runs = await recordRuns(database, async () => {
          await holding(last, async (hold) => {
            spent.push(spendAll(one, tokens))
            await waiting(1)
            // The group holds the first and waits for the last: a deadlock.
            await hold(first)
          })
          await Promise.all(spent)
        })
        expect(await spent[0]).to.deep.equal([true, true, true, true])
        expect(sizes(runs)).to.deep.equal([4, 1, 1, 1, 1])
      })
    else
      for (const hooks of [{}, { afterConnect: speakItalian }]) {
        const language = 'afterConnect' in hooks ? 'Italian' : 'English'
        it(`give up only the one whose row stays locked, in ${language}`, async () => {
          const impatient = database.connect({ dialectOptions: { lock_timeout: 100 }, hooks })
          const tokens = await tokensApart(3)
          const store = createSubjectTokenStore(impatient)
          await holding(tokens[1] as NewSubjectToken, async () => {
            const spent = await outcomes(tokens.map((token) => spend(store, token)))
            expect(spent).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
          })
        })
      }
  })

describeOn('mysql', 'a group of calls, which is one statement on MariaDB', () => {
  const database = useDatabase('mysql')

  it('asks once for a token that several calls ask for', async () => {
    const { pool, sent } = watched(database)
    const store = createSubjectTokenStore(pool)
    const [token] = newTokens(1) as [NewSubjectToken]
    await store.insert(token)
    sent.length = 0
    const found = await findAll(store, [token.id, mintId(), token.id])
    expect(found.map((one) => one?.id)).to.deep.equal([token.id, undefined, token.id])
    expect(verbs(sent)).to.deep.equal(['SELECT'])
  })

  // On a cluster, what finds and writes nothing is sent again.
  it('says of each call whether it has written, and has no rows for it', async () => {
    const pool = database.connect({ pool: { max: 1 } })
    await pool.query('CREATE TABLE numbers (id INT PRIMARY KEY, used INT)')
    const insert: Text = {
      sql: 'INSERT INTO numbers (id, used) VALUES ($1, $2)',
      intent: { to: 'insert', table: 'numbers', columns: ['id', 'used'] },
    }
    const { connectionManager } = pool
    const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
    try {
      const run = (text: Text, bindings: Binding[]) => driverOf(pool).run(connection, text, bindings)
      const WRITTEN = { rows: [], affected: 1 }
      expect(await run(insert, [[1, null]])).to.deep.equal([WRITTEN])
      expect(
        await run(insert, [
          [2, null],
          [3, null],
        ]),
      ).to.deep.equal([WRITTEN, WRITTEN])
    } finally {
      connectionManager.releaseConnection(connection)
    }
  })

  it('writes to each row what its own call says, and finds each row with its own issuer', async () => {
    const store = createSubjectTokenStore(database.sequelize)
    const tokens = newTokens(5).map((token, index) => ({ ...token, issuer: `${ISSUER}/${index}` }))
    await insertAll(store, tokens)
    const uses = tokens.map((_, index) =>
      newUse({
        at: NOW + index,
        clientId: `client-${index} é\u0000`.slice(0, -1),
        ...(index % 2 && { actor: { sub: `actor-${index}`, clientId: 'crm' }, scope: `read ${index}` }),
        ...(index % 3 && { grantId: `grant-${index}` }),
        resource: `https://api-${index}.example.com`,
        accessToken: { format: index % 3 ? 'opaque' : 'jwt', expiresAt: NOW + 600 + index },
      }),
    )
    const spent = tokens.map((token, index) => store.consume(token, NOW, uses[index] ?? newUse()))
    expect(await Promise.all(spent)).to.deep.equal([true, true, true, true, true])
    const asked = tokens.map(({ issuer, id }) => store.find(issuer, id))
    const others = tokens.map(({ id }) => store.find(ISSUER, id))
    expect((await Promise.all(asked)).map((token) => token?.use)).to.deep.equal(uses)
    expect(await Promise.all(others)).to.deep.equal(tokens.map(() => undefined))
  })

  it('spends those that can be spent, and no other', async () => {
    const { pool, sent } = watched(database)
    const store = createSubjectTokenStore(pool)
    const tokens = newTokens(8).map((token, index) => ({
      ...token,
      expiresAt: NOW + ([600, 600, 0, 1][index] ?? 600),
    }))
    const [spent, revoked] = tokens
    if (!spent || !revoked) throw new Error('no tokens')
    await insertAll(store, tokens)
    await spend(store, spent)
    await store.revoke(ISSUER, revoked.id, NOW, BY_API)
    sent.length = 0
    const calls = tokens.map((token, index) =>
      // Each is judged by its own time.
      store.consume(token, index === 3 ? NOW + 1 : NOW, newUse({ clientId: `client-${index}` })),
    )
    expect(await Promise.all(calls)).to.deep.equal([false, false, false, false, true, true, true, true])
    // What has expired is not sent; the other six are sent together, and then each again alone.
    expect(verbs(sent)).to.deep.equal(Array.from({ length: 1 + 6 }, () => 'INSERT'))
    const found = await findAll(
      store,
      tokens.map(({ id }) => id),
    )
    expect(found.map((token) => token?.use?.clientId)).to.deep.equal([
      'spa',
      ...[undefined, undefined, undefined],
      ...['client-4', 'client-5', 'client-6', 'client-7'],
    ])
  })

  it('use the primary keys, among many other rows, analyzed or not', async () => {
    const { pool, sent } = watched(database)
    const store = createSubjectTokenStore(pool)
    const tokens = newTokens(16)
    await insertAll(store, tokens)
    for (let part = 0; part < 6; part += 1) await insertAll(store, newTokens(500))
    for (const prepare of ['SELECT 1', 'ANALYZE TABLE subject_tokens']) {
      await database.sequelize.query(prepare)
      sent.length = 0
      await findAll(
        store,
        tokens.map(({ id }) => id),
      )
      const [{ sql, values } = expect.fail('nothing was sent')] = sent
      const plan = await explain(pool, sql, values)
      expect(plan.map(({ table, type, key }) => [table, type, key])).to.deep.equal([
        ['t', 'range', 'PRIMARY'],
        ['u', 'eq_ref', 'PRIMARY'],
        ['s', 'eq_ref', 'PRIMARY'],
      ])
    }
  })
})

interface Sent {
  readonly sql: string
  readonly values: readonly unknown[]
}
interface Client {
  execute(sql: string, values: readonly unknown[], done: (error: unknown, result: unknown) => void): void
}

/** A pool of one connection, and what it sends. */
function watched({ connect }: Database): { pool: Sequelize; sent: Sent[] } {
  const sent: Sent[] = []
  const watch = (connection: unknown) => {
    const client = connection as Client
    const execute = client.execute.bind(client)
    client.execute = (sql, values, done) => {
      sent.push({ sql, values })
      execute(sql, values, done)
    }
  }
  return { pool: connect({ pool: { max: 1 }, hooks: { afterConnect: watch } }), sent }
}

const verbs = (sent: readonly Sent[]) =>
  sent.map(({ sql }) => sql.split(' ')[0]).filter((verb) => verb !== 'SHOW')

interface Plan {
  readonly table: string
  readonly key: string
  readonly type: string
}

async function explain(pool: Sequelize, sql: string, values: readonly unknown[]): Promise<Plan[]> {
  const { connectionManager } = pool
  const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
  try {
    return await new Promise((resolve, reject) => {
      ;(connection as Client).execute(`EXPLAIN ${sql}`, values, (error, plan) =>
        error ? reject(error) : resolve(plan as Plan[]),
      )
    })
  } finally {
    connectionManager.releaseConnection(connection)
  }
}

describe('statements of one turn, on a SQLite', () => {
  const database = useDatabase('sqlite', { each: true })

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

  it('are sent, and fail, one by one through another dialect module', async () => {
    const sequelize = database.connect({ dialectModule: { ...nodeSqlite, Database: Sqlite3 } })
    const store = createSubjectTokenStore(sequelize)
    await knowIssuer(store)
    const tokens = newTokens(3)
    const ids = tokens.map(({ id }) => id)
    const runs = await recordRuns(database, async () => {
      await insertAll(store, tokens)
      expect(await spendAll(store, tokens)).to.deep.equal([true, true, true])
      expect(await spendAll(store, tokens)).to.deep.equal([false, false, false])
      const found = await findAll(store, ids)
      expect(found.map((token) => token?.use?.clientId)).to.deep.equal(['spa', 'spa', 'spa'])
    })
    expect(sizes(runs)).to.deep.equal(Array.from({ length: 12 }, () => 1))
    const [again, other] = newTokens(2) as [NewSubjectToken, NewSubjectToken]
    const inserted = [{ ...again, id: ids[0] ?? '' }, other].map((token) => store.insert(token))
    expect(await outcomes(inserted)).to.deep.equal(['rejected', 'fulfilled'])
    await sequelize.query('DROP TABLE subject_tokens')
    const failure = await store.find(ISSUER, other.id).catch((error: Error) => error.message)
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
