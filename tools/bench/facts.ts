/**
 * Facts, and not clocks: bytes, write-ahead log and pages, which are the same on every machine and under every load. One
 * that is missed fails the run. Aims are times: they are printed, and fail nothing.
 */
import type { DatabaseKind } from '../../fixtures/databases.ts'
import { atEndOfRun } from '../../fixtures/end-of-run.ts'
import { startMariadb } from '../../fixtures/mariadb.ts'
import { startPostgres } from '../../fixtures/postgres.ts'
import { STOPS, TOKENS, USES } from '../../src/sequelize/tables.ts'
import { busyHour, lifeOf, OTHER_BACKEND, unstopped } from './facts-fill.ts'
import { measureBusyHour, measureLife, measureTickets } from './facts-postgres.ts'
import { measureStatusList } from './facts-status.ts'
import { countMonth, type Filled, killAll, timed, withFilled } from './facts-work.ts'
import { type Facts, Ledger } from './ledger.ts'
import type { Options } from './options.ts'

type Tell = (text: string) => void

/** What is known of one database: limits of its own, and what is measured beside what each is measured by. */
interface Measured {
  /** Starts a server, because others would write to its log and take its memory. */
  readonly start?: () => Promise<void>
  readonly beside?: (rows: number, facts: Facts) => Promise<void>
  readonly life: (filled: Filled, rows: number, facts: Facts, tell: Tell) => Promise<void>
  readonly busyHour?: (filled: Filled, facts: Facts) => Promise<void>
  /** Milliseconds that a summary of 375,000 is to take. */
  readonly month: number
  /** Enough that a kill switch looks for a name among all that is open, and all that lives. */
  readonly busyRows: number
}

const MEASURED: Readonly<Record<DatabaseKind, Measured>> = {
  postgres: {
    async start() {
      // The log is measured: nothing may write to it that no one asked for. Commits need not reach the disk.
      const settings = ['autovacuum=off', 'fsync=off', 'max_wal_size=16GB', 'checkpoint_timeout=1d']
      const server = await startPostgres({ args: settings.flatMap((setting) => ['-c', setting]) })
      if (!server) throw new Error('no PostgreSQL to start')
      atEndOfRun(() => server.stop())
      process.env.TEST_POSTGRES_URL = server.url
    },
    beside: (_rows, facts) => measureTickets(facts),
    life: measureLife,
    busyHour: measureBusyHour,
    month: 500,
    // Enough that 70,000 of them are stopped.
    busyRows: 150_000,
  },
  mysql: {
    async start() {
      const settings = ['flush-log-at-trx-commit=0', 'buffer-pool-size=512M']
      const server = await startMariadb({ args: settings.map((setting) => `--innodb-${setting}`) })
      if (!server) throw new Error('no MariaDB to start')
      atEndOfRun(() => server.stop())
      process.env.TEST_MYSQL_URL = server.url
    },
    life: measureBytesOfMariadb,
    month: 2000,
    busyRows: 60_000,
  },
  sqlite: {
    beside: (rows, facts) =>
      withFilled('sqlite', unstopped(rows, false), async (filled) => {
        facts.atMost('bytes an impersonation', (await bytesOfSqlite(filled)) / rows, 600, ' B')
      }),
    async life(filled, rows, facts) {
      facts.note('bytes an impersonation, with the stops of 60 %', (await bytesOfSqlite(filled)) / rows, ' B')
      await filled.sequelize.query('ANALYZE')
    },
    month: 300,
    busyRows: 60_000,
  },
}

export async function measureFacts(options: Options, tell: Tell): Promise<void> {
  const { kinds, limits } = options
  const ledger = new Ledger(limits)
  for (const kind of kinds) await measure(kind, options, ledger.of(kind), tell)
  await measureStatusList(ledger.of('status list'))
  tell('')
  console.log(ledger.table())
  const { missed } = ledger
  console.log(missed === 0 ? '\nEvery fact holds.' : `\n${missed} MISSED.`)
  process.exitCode = missed === 0 ? 0 : 1
}

async function measure(kind: DatabaseKind, { factRows }: Options, facts: Facts, tell: Tell): Promise<void> {
  const measured = MEASURED[kind]
  await measured.start?.()
  tell(`${kind}: ${factRows} rows`)
  await measured.beside?.(factRows, facts)
  await withFilled(kind, lifeOf(factRows), async (filled) => {
    await measured.life(filled, factRows, facts, tell)
    const [milliseconds, rows] = await timed(() => countMonth(filled))
    const asIf = (milliseconds * 375_000) / rows
    facts.aim(`summary of 30 days, ${rows} rows, as if 375,000`, asIf, measured.month, ' ms')
  })
  const busyRows = Math.min(measured.busyRows, 10 * factRows)
  tell(`${kind}: a busy hour, ${busyRows} rows`)
  await withFilled(kind, busyHour(busyRows), async (filled) => {
    await measured.busyHour?.(filled, facts)
    const [milliseconds, count] = await timed(() => killAll(filled, OTHER_BACKEND))
    facts.aim(`a kill switch, ${count} live, as if 20,000`, (milliseconds * 20_000) / count, 1500, ' ms')
  })
}

async function measureBytesOfMariadb({ find, sequelize }: Filled, rows: number, facts: Facts): Promise<void> {
  await sequelize.query(`ANALYZE TABLE ${TOKENS.name}, ${USES.name}, ${STOPS.name}`)
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

async function bytesOfSqlite({ sequelize }: Filled): Promise<number> {
  const value = async (name: string) => {
    const [rows] = await sequelize.query(`PRAGMA ${name}`)
    return Number(Object.values((rows as object[])[0] ?? {})[0])
  }
  const pages = (await value('page_count')) - (await value('freelist_count'))
  return pages * (await value('page_size'))
}
