/** A step behind a transaction that someone has left open: it gives way each time, and says who is in the way. */
import { expect } from 'chai'
import { QueryTypes, type Sequelize } from 'sequelize'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { describeOn, useDatabase } from '../../fixtures/on-database.ts'
import { NAME, NEXT_VERSION } from '../../fixtures/rehearsal/step.ts'
import { migrateTo } from '../../src/sequelize/schema/migrate.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'

const OWN_ID = { postgres: 'SELECT pg_backend_pid() AS id', mysql: 'SELECT CONNECTION_ID() AS id' }
const WITHOUT_END = 1_000_000

interface Client {
  query(sql: string, ...others: unknown[]): unknown
}

/** Returns what is sent on each connection. */
function recordConnections(pool: Sequelize): string[][] {
  const connections: string[][] = []
  pool.addHook('afterConnect', (connection) => {
    const client = connection as Client
    const query = client.query.bind(client)
    const sent: string[] = []
    connections.push(sent)
    client.query = (sql, ...others) => {
      if (typeof sql === 'string') sent.push(sql)
      return query(sql, ...others)
    }
  })
  return connections
}

for (const [kind, name] of [
  ['postgres', 'PostgreSQL'],
  ['mysql', 'MariaDB'],
] as const) {
  describeOn(kind, `a step behind a transaction, on ${name}`, () => {
    const database = useDatabase(kind, { each: true })

    /** Runs `work` while a connection, whose id it gets, has read the tables and its transaction is open. */
    const beside = async ({ sequelize }: Database, work: (id: number) => Promise<void>) => {
      const transaction = await sequelize.transaction()
      try {
        const [row] = await sequelize.query<{ id: number }>(OWN_ID[kind], {
          type: QueryTypes.SELECT,
          transaction,
        })
        await sequelize.query('SELECT id FROM subject_tokens', { transaction })
        await work(Number(row?.id))
      } finally {
        await transaction.commit()
      }
    }
    const upgrade = (pool: Sequelize, attempts: number) =>
      migrateTo(NEXT_VERSION, pool, () => {}, attempts).then(
        () => 'done',
        (error: unknown) => (error instanceof Error ? error.message : error),
      )

    it('is given up, and names its connection, and no one else', async () => {
      const other = await openDatabase(kind)
      try {
        await beside(other, () =>
          beside(database, async (id) => {
            expect(await upgrade(database.connect(), 2)).to.equal(
              `subject_tokens was locked at each of 2 attempts to change it, by the connections ${id}: call migrate again`,
            )
          }),
        )
      } finally {
        await other.close()
      }
      expect(await upgrade(database.sequelize, 2)).to.equal('done')
    })

    it('is done when the transaction has ended', async () => {
      let upgrading: Promise<unknown> | undefined
      const { promise: tried, resolve } = Promise.withResolvers<void>()
      const logging = (sql: string) => {
        if (sql.includes('ADD COLUMN')) resolve()
      }
      await beside(database, async () => {
        upgrading = upgrade(database.connect({ logging }), WITHOUT_END)
        await tried
      })
      expect(await upgrading).to.equal('done')
    })

    if (kind === 'mysql')
      it('is given up in sessions of its own, which take the limit and end', async () => {
        const pool = database.connect()
        const connections = recordConnections(pool)
        await beside(database, async (id) => {
          expect(await upgrade(pool, 1)).to.include(`by the connections ${id}: call migrate again`)
        })
        expect(await upgrade(pool, 1)).to.equal('done')
        const limited = connections.filter((sent) => sent.some((sql) => sql.startsWith('SET SESSION lock')))
        // The column at two attempts, two indexes, and the record of the step.
        expect(limited).to.have.length(5)
        for (const sent of limited) {
          expect(sent.at(-2)).to.equal('SET SESSION lock_wait_timeout = 1')
          expect(sent.at(-1)).to.match(/^(ALTER TABLE subject_tokens ADD |INSERT INTO impersonation_steps )/)
        }
        expect((await statusOf(pool)).unknown).to.deep.equal([NAME])
      })
  })
}
