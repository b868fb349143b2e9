/** What becomes of a statement whose session the server ends: one that reads is sent again, one that writes is not. */
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { DATABASES, type Database, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { outcomes, sizes } from '../../fixtures/together.ts'
import type { Database as Bound } from '../../src/sequelize/database/database.ts'
import { databaseOf } from '../../src/sequelize/database-of.ts'

const SERVERS = {
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
const UPDATE = 'UPDATE host SET value = value + 1 WHERE id = $1'

for (const kind of DATABASES.filter((one) => one !== 'sqlite')) {
  describe(`a session that the server ends, on ${kind}`, () => {
    const server = SERVERS[kind]
    let database: Database
    let bound: Bound
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
    })
    beforeEach(async () => {
      const { sequelize } = database
      await sequelize.query('DROP TABLE IF EXISTS host')
      await sequelize.query('CREATE TABLE host (id INT PRIMARY KEY, value INT)')
      await sequelize.query('INSERT INTO host VALUES (1, 10), (2, 20), (3, 30)')
      bound = databaseOf(database.connect({ pool: { max: 1 } }))
    })
    after(() => database?.close())

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

    /** What comes of calls whose session is ended while they run, and how many went together each time. */
    async function ended(...calls: (() => Promise<unknown>)[]) {
      const settled: Promise<unknown>[] = []
      const runs = await recordRuns(database, async () => {
        await database.sequelize.transaction(async (transaction) => {
          await database.sequelize.query(server.lock, { transaction })
          settled.push(...calls.map((call) => call().catch((error: unknown) => error)))
          await end('waiting')
          await database.sequelize.query(server.unlock, { transaction })
        })
        await Promise.all(settled)
      })
      return { outcomes: await Promise.all(settled), sizes: sizes(runs) }
    }

    it('while it finds: what it was asked for is found through another', async () => {
      expect(await ended(() => bound.find(SELECT, [1]))).to.deep.equal({
        outcomes: [[{ value: kind === 'postgres' ? '10' : 10 }]],
        sizes: [1, 1],
      })
      const row = await ended(() => bound.findRow({ sql: SELECT }, [2]))
      expect(row.sizes).to.deep.equal([1, 1])
      expect(row.outcomes.map((found) => Number(Reflect.get(Object(found), 'value')))).to.deep.equal([20])
    })

    it('while it finds for several: each finds its own', async () => {
      const rows = await ended(...[3, 1, 2].map((id) => () => bound.findRow({ sql: SELECT }, [id])))
      expect(rows.outcomes.map((found) => Number(Reflect.get(Object(found), 'value')))).to.deep.equal([
        30, 10, 20,
      ])
      if (kind === 'postgres') expect(rows.sizes[0]).to.equal(3)
    })

    it('before it is asked: what it is asked for is found', async () => {
      for (let round = 0; round < 5; round += 1) {
        await bound.find(SELECT, [1])
        await end('idle')
        expect(await bound.find(SELECT, [1])).to.have.length(1)
      }
    })

    it('while it writes: no one knows whether it did, and it is not sent again', async () => {
      for (const write of [
        () => bound.write(UPDATE, [1]),
        () => bound.writeAlone({ sql: UPDATE }, [1]),
        () => bound.writeRow({ sql: UPDATE }, [1], 'row'),
      ]) {
        const { outcomes, sizes } = await ended(write)
        expect(sizes).to.deep.equal([1])
        expect(outcomes[0]).to.have.property('name', 'StorageError')
        expect(outcomes[0]).to.have.property('tookEffect', undefined)
      }
      expect(await outcomes([bound.write(UPDATE, [1])])).to.deep.equal(['fulfilled'])
      expect(await bound.find('SELECT value FROM host WHERE value = 11', [])).to.have.length(1)
    })
  })
}
