/**
 * Our own store and adapter keep the contracts that anyone can run, on every database, with what a later version may have
 * added.
 */
import { expect } from 'chai'
import { DATABASES, type Database } from '../../fixtures/databases.ts'
import { useDatabase } from '../../fixtures/on-database.ts'
import { around } from '../../fixtures/runs.ts'
import { adapterContract, subjectTokenStoreContract } from '../../packages/store-contract/src/index.ts'
import { databaseOf } from '../../src/sequelize/drivers.ts'
import { createAdapter, createSubjectTokenStore, migrate, purge } from '../../src/sequelize/index.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'
import { columnsOf, LEASE, MODELS, STEPS, TOKEN_TABLES } from '../../src/sequelize/tables.ts'
import { endUnspent } from '../../src/sequelize/tokens/end-unspent.ts'

const TABLES = [...TOKEN_TABLES, MODELS, STEPS, LEASE]
/** What statements call a value of their own. */
const OF_STATEMENTS = ['found', 'of_first', 'rows_found']

/** To each table a column of a new name, and one of every name that is used elsewhere: bare names are ambiguous then. */
async function widen({ kind, sequelize }: Database): Promise<void> {
  const { types } = databaseOf(sequelize).dialect
  for (const table of TABLES) {
    const others = [...TABLES.flatMap(columnsOf), ...OF_STATEMENTS, 'of_a_later_version']
    const added = [...new Set(others)].filter((name) => !columnsOf(table).includes(name))
    const clauses = added.map((name) => `ADD COLUMN ${name} ${types.small}`)
    const together = kind === 'sqlite' ? clauses : [clauses.join(', ')]
    for (const clause of together) await sequelize.query(`ALTER TABLE ${table.name} ${clause}`)
  }
}

/** Tells of statements that return a column which this version does not know. */
const watchRows = (pool: Database['sequelize'], tell: (sql: string) => void) =>
  around(pool, {
    after: (sql, results) =>
      results.some(({ rows }) => rows.some((row) => 'of_a_later_version' in row)) && tell(sql),
  })

/** Each call goes to the next one, as calls do that come from several processes. */
function inTurn<T extends object>(all: readonly T[]): T {
  let calls = 0
  return new Proxy(Object(all[0]), {
    get: (_, name) => {
      const next = Object(all[calls++ % all.length])
      const value = next[name]
      return typeof value === 'function' ? value.bind(next) : inTurn(all.map((one) => Object(one)[name]))
    },
  })
}

for (const kind of DATABASES) {
  describe(`on ${kind}, from three pools`, () => {
    const database = useDatabase(kind)
    let pools: Database['sequelize'][]
    const unnamed = new Set<string>()
    before(async () => {
      await widen(database)
      pools = [database.sequelize, database.connect(), database.connect()]
      for (const pool of pools) watchRows(pool, (sql) => void unnamed.add(sql))
    })

    subjectTokenStoreContract({
      describe,
      it,
      create: async () => ({ store: inTurn(pools.map((pool) => createSubjectTokenStore(pool))) }),
      createBroken: async () => {
        const pool = database.connect()
        await pool.close()
        return { store: createSubjectTokenStore(pool) }
      },
    })
    adapterContract({
      describe,
      it,
      create: async () => ({ adapter: (model) => inTurn(pools.map((pool) => createAdapter(pool)(model))) }),
    })

    // A suite of its own runs after the others.
    describe('statements', () => {
      it('never read a column that they do not name', async () => {
        await migrate(database.sequelize)
        expect((await statusOf(database.sequelize)).faults).to.deep.equal([])
        await endUnspent(database.sequelize)
        await purge(database.sequelize)
        expect([...unnamed]).to.deep.equal([])
      })
    })
  })
}
