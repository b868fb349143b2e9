/** The facts of MariaDB: bytes, and what the engine reads for lists. */
import { atEndOfRun } from '../fixtures/end-of-run.ts'
import { startMariadb } from '../fixtures/mariadb.ts'
import type { Run } from '../fixtures/runs.ts'
import { databaseOf } from '../src/sequelize/database-of.ts'
import { STOPS, TOKENS, USES } from '../src/sequelize/tables.ts'
import { cpuOf, processesOf } from './database-cpu.ts'
import { busyHour, lifeOf, OTHER_BACKEND } from './facts-fill.ts'
import type { Facts } from './facts-ledger.ts'
import { LISTS, mostPages, NAMELESS_LISTS, runList, runNameless } from './facts-lists.ts'
import { measureStatements } from './facts-statements.ts'
import {
  countMonth,
  exchangeMany,
  type Filled,
  issueMany,
  killAll,
  openFilled,
  stopMany,
  timed,
} from './facts-work.ts'
import type { Options } from './options.ts'

const OPERATIONS = 5000
const SMALL = 20_000
const BUSY = 60_000

const ANALYZE = `ANALYZE TABLE ${TOKENS.name}, ${USES.name}, ${STOPS.name}`

export async function measureMysql(
  { factRows }: Options,
  facts: Facts,
  tell: (text: string) => void,
): Promise<void> {
  const server = await startMariadb({
    args: [
      '--innodb-flush-log-at-trx-commit=0',
      '--innodb-buffer-pool-size=512M',
      '--max-prepared-stmt-count=10000',
    ],
  })
  if (!server) throw new Error('no MariaDB to start')
  atEndOfRun(() => server.stop())
  process.env.TEST_MYSQL_URL = server.url

  tell(`MariaDB: life, ${factRows} rows`)
  const filled = await openFilled('mysql', lifeOf(factRows))
  try {
    await filled.sequelize.query(ANALYZE)
    await measureBytes(filled, factRows, facts)
    await measureLists(filled, factRows, facts, '')
    await measureCpu(filled, facts)
    const [milliseconds, rows] = await timed(() => countMonth(filled))
    facts.aim(`summary of 30 days, ${rows} rows, as if 375,000`, (milliseconds * 375_000) / rows, 2000, ' ms')
  } finally {
    await filled.close()
  }
  tell(`MariaDB: no statistics, ${SMALL} rows`)
  const fresh = await openFilled('mysql', lifeOf(SMALL))
  try {
    await measureLists(fresh, SMALL, facts, ', without ANALYZE')
  } finally {
    await fresh.close()
  }
  tell(`MariaDB: a busy hour, ${BUSY} rows`)
  const busy = await openFilled('mysql', busyHour(BUSY))
  try {
    const [milliseconds, count] = await timed(() => killAll(busy, OTHER_BACKEND))
    facts.aim(`a kill switch, ${count} live, as if 20,000`, (milliseconds * 20_000) / count, 1500, ' ms')
  } finally {
    await busy.close()
  }
  await measureStatements('mysql', facts)
}

async function measureBytes({ find }: Filled, rows: number, facts: Facts): Promise<void> {
  const sizes = await find(
    `SELECT table_name AS its, stat_name AS stat, SUM(stat_value) * @@innodb_page_size AS bytes
      FROM mysql.innodb_index_stats WHERE database_name = DATABASE() GROUP BY table_name, stat_name`,
    [],
  )
  const of = (table: string, name: string) =>
    Number(sizes.find(({ its, stat }) => String(its) === table && String(stat) === name)?.bytes)
  const both = (name: string) => (of(TOKENS.name, name) + of(USES.name, name)) / rows
  // What the engine reserves beside, up to a megabyte for each index, is the smaller a share the larger the table.
  // Some 40 of them are the index of open sessions: this database keeps an entry also for what has no value there.
  facts.atMost('bytes an impersonation, in the leaves', both('n_leaf_pages'), 730, ' B')
  if (rows >= 1_000_000) facts.atMost('bytes an impersonation', both('size'), 760, ' B')
  else facts.note('bytes an impersonation', both('size'), ' B')
  facts.note('bytes an impersonation that the stops of 60 % add', of(STOPS.name, 'size') / rows, ' B')
}

async function measureLists(filled: Filled, size: number, facts: Facts, aside: string): Promise<void> {
  const { database } = filled
  const read = await readerOf(filled)
  for (const name of LISTS) {
    const { runs, rows } = await runList(database, name)
    facts.atMost(
      `reads of a list ${name}, ${rows} rows${aside}`,
      await read(runs),
      mostPages(name, rows, size),
    )
  }
  for (const name of NAMELESS_LISTS) {
    const { runs } = await runNameless(database, name)
    facts.atMost(`reads of a list ${name} that no row has${aside}`, await read(runs), 12)
  }
}

/** Counts what the engine was asked for: on a pool of one connection, because the counters belong to a session. */
async function readerOf({ database }: Filled): Promise<(runs: readonly Run[]) => Promise<number>> {
  const { find } = databaseOf(database.connect({ logging: false, pool: { max: 1, min: 1 } }))
  const count = async () => {
    const rows = await find("SHOW SESSION STATUS LIKE 'Handler_read%'", [])
    return rows.reduce((sum, row) => sum + Number(row.Value), 0)
  }
  // Counting is read from a table, too.
  const own = -(await count()) + (await count())
  return async (runs) => {
    let reads = 0
    for (const { sql, bindings } of runs) {
      const before = await count()
      await find(sql, bindings[0] ?? [])
      reads += (await count()) - before - own
    }
    return reads
  }
}

async function measureCpu(filled: Filled, facts: Facts): Promise<void> {
  const pids = await processesOf('mysql', filled.sequelize)
  const drafts = await issueMany(filled, OPERATIONS)
  const start = cpuOf(pids)
  await exchangeMany(filled, drafts)
  const spent = cpuOf(pids)
  await stopMany(filled, drafts)
  const [cpuOfSpend, cpuOfStop] = [(spent - start) / OPERATIONS, (cpuOf(pids) - spent) / OPERATIONS]
  facts.note('CPU of the server for an exchange (find, spend)', cpuOfSpend, ' µs')
  facts.aim('CPU of the server for a stop', cpuOfStop, 2.5 * cpuOfSpend, ' µs')
}
