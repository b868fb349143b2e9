/** What only a server does: it rolls back, forgets, lags behind, reads only, or ends a session. */
import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { expect } from 'chai'
import { QueryTypes, type Sequelize } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { describeOn, useDatabase } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { BY_API, NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import { findAll, insertAll, newTokens, sizes } from '../../fixtures/together.ts'
import type { Database as Bound } from '../../src/sequelize/database/database.ts'
import { databaseOf } from '../../src/sequelize/drivers.ts'
import { createAdapter, createSubjectTokenStore, migrate, purge } from '../../src/sequelize/index.ts'
import { mintId } from '../../src/tokens/id.ts'

const USE = newUse()

const suite = (kind: DatabaseKind, title: string, tests: (database: Database) => void) =>
  describeOn(kind, `${title}, on ${kind}`, () => tests(useDatabase(kind)))

suite('postgres', 'a statement that was rolled back', (database) => {
  it('is repeated: with serializable transactions too, exactly one of 50 uses wins and none fails', async () => {
    const { sequelize, url } = database
    const name = new URL(url).pathname.slice(1)
    await sequelize.query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
    const pool = database.connect({ pool: { max: 20 } })
    const store = createSubjectTokenStore(pool)
    for (let round = 0; round < 10; round += 1) {
      const token = newToken()
      await store.insert(token)
      const uses = Array.from({ length: 50 }, () => store.consume(token, NOW, USE))
      expect((await Promise.all(uses)).filter(Boolean)).to.have.length(1)
    }
  })
})

suite('postgres', 'a prepared statement', (database) => {
  const spoilt: [title: string, sql: string[]][] = [
    ['that the server has forgotten', ['DEALLOCATE ALL']],
    [
      'whose columns have changed',
      [
        'ALTER TABLE subject_token_uses ALTER kept TYPE bigint',
        'ALTER TABLE subject_token_uses ALTER kept TYPE smallint',
      ],
    ],
  ]
  for (const [title, statements] of spoilt) {
    it(`${title} is prepared again, and no one notices`, async () => {
      const pool = database.connect({ pool: { max: 1 } })
      const store = createSubjectTokenStore(pool)
      const token = newToken()
      await store.insert(token)
      await store.find(ISSUER, token.id)
      for (const sql of statements) {
        await pool.query(sql)
        expect(await store.find(ISSUER, token.id)).to.have.property('id', token.id)
      }
    })
  }

  it('that the server has forgotten is the last: the log of Sequelize says so, once', async () => {
    const log: string[] = []
    const pool = database.connect({ pool: { max: 1 }, logging: (text) => void log.push(text) })
    const store = createSubjectTokenStore(pool)
    for (let round = 0; round < 3; round += 1) {
      await store.find(ISSUER, mintId())
      await pool.query('DEALLOCATE ALL')
    }
    expect(log.filter((text) => text.includes('do not keep prepared statements'))).to.have.length(1)
  })
})

suite('postgres', 'the names of prepared statements', (database) => {
  const namesIn = async (pool: Sequelize) => {
    const rows = await pool.query<{ name: string }>(
      `SELECT name FROM pg_prepared_statements WHERE name LIKE 'impersonation%' ORDER BY name`,
      { type: QueryTypes.SELECT },
    )
    return rows.map(({ name }) => name)
  }

  it('are the same in every process, and no longer than the server reads', async () => {
    const pools = [1, 2].map(() => database.connect({ pool: { max: 1 } }))
    for (const pool of pools) {
      const store = createSubjectTokenStore(pool)
      const token = newToken()
      await store.find(ISSUER, token.id)
      await store.consume(token, NOW, USE)
    }
    const [here = [], there] = await Promise.all(pools.map(namesIn))
    expect(here).to.have.length(2)
    expect(here).to.deep.equal(there)
    for (const name of here) expect(name).to.match(/^impersonation_[0-9a-f]{32}$/)
  })

  it('are kept when a statement fails for a reason of its own', async () => {
    const log: string[] = []
    const pool = database.connect({ pool: { max: 1 }, logging: (text) => void log.push(text) })
    const store = createSubjectTokenStore(pool)
    const token = newToken()
    await store.insert(token)
    const repeated = await store.insert(token).catch((error: unknown) => error)
    expect(repeated).to.include({ code: '23505' })
    expect(log.filter((text) => text.includes('do not keep prepared statements'))).to.deep.equal([])
    expect(await store.find(ISSUER, token.id)).to.have.property('id', token.id)
    expect(await namesIn(pool)).to.have.length(2)
  })
})

suite('postgres', 'the columns of a statement', (database) => {
  it('are described once for all connections of a pool', async () => {
    let described = 0
    const watch = (client: unknown) => {
      const connection: unknown = Reflect.get(Object(client), 'connection')
      if (!(connection instanceof EventEmitter)) throw new Error('not a client of node-postgres')
      connection.on('rowDescription', () => {
        described += 1
      })
    }
    const pool = database.connect({ pool: { max: 2 }, hooks: { afterConnect: watch } })
    const store = createSubjectTokenStore(pool)
    const token = newToken()
    await store.insert(token)
    const find = () => store.find(ISSUER, token.id)
    await find()
    const before = described
    // In two turns, so that they do not share a connection.
    const first = find()
    await new Promise(setImmediate)
    for (const found of await Promise.all([first, find()])) expect(found).to.have.property('id', token.id)
    expect(described).to.equal(before).and.to.be.greaterThan(0)
  })
})

/** What a session of a pool's only connection is left in. */
const SPOILT: readonly (readonly [DatabaseKind, title: string, sql: readonly string[]])[] = [
  ['postgres', 'that only reads, as those of a standby', ['SET default_transaction_read_only = on']],
  ['postgres', 'inside a transaction that has failed', ['BEGIN', 'SELECT 1 / 0']],
  ['mysql', 'that only reads', ['SET SESSION TRANSACTION READ ONLY']],
]

for (const [kind, title, statements] of SPOILT) {
  suite(kind, `a connection ${title}`, (database) => {
    it('is given up, and nothing fails', async () => {
      const pool = database.connect({ pool: { max: 1 } })
      const store = createSubjectTokenStore(pool)
      for (let round = 0; round < 3; round += 1) {
        const token = newToken()
        await store.insert(token)
        for (const sql of statements) await pool.query(sql).catch(() => {})
        expect(await store.consume(token, NOW, USE)).to.equal(true)
        expect(await store.consume(token, NOW, USE)).to.equal(false)
      }
    })
  })
}

suite('postgres', 'the oldest pg that Sequelize takes', (database) => {
  it('serves subject tokens and models', async () => {
    const dialectModule = createRequire(import.meta.url)('pg-oldest')
    const pool = database.connect({ dialectModule })
    const store = createSubjectTokenStore(pool)
    const token = newToken()
    await store.insert(token)
    const uses = Array.from({ length: 20 }, () => store.consume(token, NOW, USE))
    expect((await Promise.all(uses)).filter(Boolean)).to.have.length(1)
    expect((await store.find(ISSUER, token.id))?.use?.clientId).to.equal('spa')
    const adapter = createAdapter(pool)('Session')
    await adapter.upsert('id', { jti: 'id' }, 60)
    expect(await adapter.find('id')).to.deep.equal({ jti: 'id' })
  })
})

for (const kind of ['postgres', 'mysql'] as const) {
  suite(kind, 'a replica that lags', (database) => {
    let stale: Database
    before(async () => {
      stale = await openDatabase(kind)
    })
    after(() => stale?.close())

    /** Reads go to a database that does not have what was just written. */
    const replicated = (): Sequelize => {
      const place = (url: string) => {
        const { hostname, port, username, password, pathname } = new URL(url)
        return { host: hostname, port, username, password, database: pathname.slice(1) }
      }
      return database.connect({ replication: { read: [place(stale.url)], write: place(database.url) } })
    }

    it('is never queried for a subject token', async () => {
      const store = createSubjectTokenStore(replicated())
      const token = newToken()
      await store.insert(token)
      expect(await store.find(ISSUER, token.id)).to.have.property('id', token.id)
      expect(await store.consume(token, NOW, USE)).to.equal(true)
      expect((await store.find(ISSUER, token.id))?.use?.clientId).to.equal('spa')
      expect((await store.list(ISSUER, {}, { limit: 1, now: NOW })).tokens).to.have.length(1)
      expect(await allOf(store.revokeWhere(ISSUER, { userId: 'alice' }, NOW, BY_API))).to.have.length(1)
    })

    it('is never queried for a code or a session', async () => {
      const adapter = createAdapter(replicated())('AuthorizationCode')
      await adapter.upsert('code', { jti: 'code' }, 60)
      expect(await adapter.find('code')).to.deep.equal({ jti: 'code' })
    })

    it('does not hide finished steps from a migration', async () => {
      await migrate(replicated())
    })
  })
}

/** How many prepared statements the server keeps for the one connection of a pool, our own among them. */
const KEPT = {
  postgres: async (pool: Sequelize) => {
    const rows = await pool.query(
      `SELECT name FROM pg_prepared_statements WHERE name LIKE 'impersonation%'`,
      {
        type: QueryTypes.SELECT,
      },
    )
    return rows.length
  },
  mysql: async (pool: Sequelize) => {
    const rows = await pool.query<{ Variable_name: string; Value: string }>(
      "SHOW SESSION STATUS WHERE Variable_name IN ('Com_stmt_prepare', 'Com_stmt_close')",
      { type: QueryTypes.SELECT },
    )
    const [closed, prepared] = rows
      .sort((one, other) => (one.Variable_name < other.Variable_name ? -1 : 1))
      .map(({ Value }) => Number(Value))
    return Number(prepared) - Number(closed)
  },
}

for (const kind of ['postgres', 'mysql'] as const) {
  suite(kind, 'a connection', (database) => {
    it('keeps nothing prepared for lists, kill switches and the purge', async () => {
      const pool = database.connect({ pool: { max: 1 } })
      const store = createSubjectTokenStore(pool)
      const states = ['active', 'consumed', 'expired', 'revoked', undefined] as const
      for (const state of states) {
        for (const filter of [{}, { userId: ['nobody'] as const }, { clientId: 'spa', createdBy: 'b' }])
          expect(await store.list(ISSUER, { ...filter, state }, { limit: 50, now: NOW })).to.deep.equal({
            tokens: [],
          })
      }
      await allOf(store.revokeWhere(ISSUER, { userId: 'nobody' }, NOW, BY_API))
      await purge(pool)
      expect(await KEPT[kind](pool)).to.equal(0)
    })

    it('keeps each statement of an exchange prepared', async () => {
      const pool = database.connect({ pool: { max: 1 } })
      const store = createSubjectTokenStore(pool)
      for (let index = 0; index < 20; index += 1) {
        const token = newToken()
        await store.insert(token)
        await store.find(ISSUER, token.id)
        expect(await store.consume(token, NOW, USE)).to.equal(true)
      }
      expect(await KEPT[kind](pool)).to.equal(3)
    })

    if (kind === 'mysql')
      it('keeps few texts of groups: sixteen to insert, five to find, and sixteen to spend', async () => {
        const pool = database.connect({ pool: { max: 1 } })
        const store = createSubjectTokenStore(pool)
        for (let count = 1; count <= 20; count += 1) {
          const tokens = newTokens(count)
          await insertAll(store, tokens)
          await findAll(
            store,
            tokens.map(({ id }) => id),
          )
          await Promise.all(tokens.slice(1).map((token) => store.consume(token, NOW, USE)))
          const [first = false] = await Promise.all(tokens.map((token) => store.consume(token, NOW, USE)))
          expect(first).to.equal(true)
        }
        expect(await KEPT.mysql(pool)).to.equal(16 + 5 + 16)
      })
  })
}

suite('postgres', 'a log that throws', (database) => {
  it('keeps no connection', async () => {
    let broken = true
    const pool = database.connect({
      pool: { max: 2, acquire: 2000 },
      logging: () => {
        if (broken) throw new Error('the log is broken')
      },
    })
    const store = createSubjectTokenStore(pool)
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const error = await store.find(ISSUER, mintId()).catch((thrown: unknown) => thrown)
      expect(error).to.be.an('error')
    }
    broken = false
    expect(await store.find(ISSUER, mintId())).to.equal(undefined)
  })
})

/** How a server shows the sessions of this database, and ends one. */
const ENDING = {
  postgres: {
    lock: 'LOCK TABLE host IN ACCESS EXCLUSIVE MODE',
    unlock: 'SELECT 1',
    waiting: `SELECT pid AS id FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    idle: `SELECT pid AS id FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle'`,
    end: (id: number) => `SELECT pg_terminate_backend(${id})`,
  },
  mysql: {
    lock: 'LOCK TABLES host WRITE',
    unlock: 'UNLOCK TABLES',
    waiting: `SELECT id FROM information_schema.processlist
      WHERE db = DATABASE() AND state LIKE 'Waiting for table%lock'`,
    idle: `SELECT id FROM information_schema.processlist
      WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command = 'Sleep'`,
    end: (id: number) => `KILL ${id}`,
  },
} as const

const SELECT = 'SELECT value FROM host WHERE id = $1'

for (const kind of ['postgres', 'mysql'] as const) {
  suite(kind, 'a session that the server ends', (database) => {
    const server = ENDING[kind]
    let bound: Bound
    before(async () => {
      await database.sequelize.query('CREATE TABLE host (id INT PRIMARY KEY, value INT)')
      await database.sequelize.query('INSERT INTO host VALUES (1, 10), (2, 20), (3, 30)')
      bound = databaseOf(database.connect({ pool: { max: 1 } }))
    })

    /** Ends the sessions of this database that are in a state, once there are some. */
    async function end(state: 'waiting' | 'idle'): Promise<void> {
      for (let ended = 0; ended === 0; ) {
        const found = await database.sequelize.query<{ id: number }>(server[state], {
          type: QueryTypes.SELECT,
        })
        for (const { id } of found) await database.sequelize.query(server.end(id))
        ended = found.length
        if (ended === 0) await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }

    /** What calls find whose session is ended while they run, and how many went together each time. */
    async function ended(...calls: (() => Promise<unknown>)[]) {
      const { sequelize } = database
      const found: Promise<unknown>[] = []
      const runs = await recordRuns(database, async () => {
        await sequelize.transaction(async (transaction) => {
          await sequelize.query(server.lock, { transaction })
          found.push(...calls.map((call) => call()))
          await end('waiting')
          await sequelize.query(server.unlock, { transaction })
        })
        await Promise.all(found)
      })
      const values = (await Promise.all(found)).flat().map((row) => Number(Reflect.get(Object(row), 'value')))
      return { values, sizes: sizes(runs) }
    }

    it('while it finds: each finds what it was asked for through another', async () => {
      expect(await ended(() => bound.find(SELECT, [1]))).to.deep.equal({ values: [10], sizes: [1, 1] })
      const row = await ended(() => bound.findRow({ sql: SELECT }, [2]))
      expect(row).to.deep.equal({ values: [20], sizes: [1, 1] })
      const several = await ended(...[3, 1, 2].map((id) => () => bound.findRow({ sql: SELECT }, [id])))
      expect(several.values).to.deep.equal([30, 10, 20])
      if (kind === 'postgres') expect(several.sizes[0]).to.equal(3)
    })

    it('before it is asked: what it is asked for is found', async () => {
      for (let round = 0; round < 5; round += 1) {
        await bound.find(SELECT, [1])
        await end('idle')
        expect(await bound.find(SELECT, [1])).to.have.length(1)
      }
    })
  })
}
