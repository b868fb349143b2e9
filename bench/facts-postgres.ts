/** The facts of PostgreSQL: bytes, write-ahead log, pages. On a server of its own, because others would write to its log. */
import { setTimeout as sleep } from 'node:timers/promises'
import { atEndOfRun } from '../fixtures/end-of-run.ts'
import { startPostgres } from '../fixtures/postgres.ts'
import type { Run } from '../fixtures/runs.ts'
import { epochTime } from '../src/clock.ts'
import type { Row } from '../src/sequelize/database/text.ts'
import { STOPS, TOKENS, USES } from '../src/sequelize/tables.ts'
import { LONGEST_LIFE } from '../src/subject-tokens/subject-token.ts'
import { cpuOf, processesOf } from './database-cpu.ts'
import { ISSUER } from './deployment.ts'
import { busyHour, lifeOf, OTHER_BACKEND, type Shape, unstopped } from './facts-fill.ts'
import type { Facts } from './facts-ledger.ts'
import { LISTS, type Listed, mostPages, NAMELESS_LISTS, runList, runNameless } from './facts-lists.ts'
import { measureStatements } from './facts-statements.ts'
import {
  countMonth,
  exchangeMany,
  type Filled,
  issueMany,
  killAll,
  openFilled,
  stopAndReportMany,
  stopMany,
  timed,
} from './facts-work.ts'
import type { Options } from './options.ts'

type Tell = (text: string) => void

/** As many as a WAL of single operations is the mean of. */
const OPERATIONS = 10_000
const SMALL = 20_000
/** Beside which the pages of larger tables are printed. */
const COMPARED = 100_000
/** Enough that 70,000 of them are stopped. */
const BUSY = 150_000

export async function measurePostgres({ factRows }: Options, facts: Facts, tell: Tell): Promise<void> {
  const server = await startPostgres({
    // The log is measured: nothing may write to it that no one asked for. Commits need not reach the disk.
    args: [
      '-c',
      'autovacuum=off',
      '-c',
      'fsync=off',
      '-c',
      'max_wal_size=16GB',
      '-c',
      'checkpoint_timeout=1d',
    ],
  })
  if (!server) throw new Error('no PostgreSQL to start')
  atEndOfRun(() => server.stop())
  process.env.TEST_POSTGRES_URL = server.url

  const during = async (name: string, shape: Shape, work: (filled: Filled) => Promise<void>) => {
    tell(`PostgreSQL: ${name}, ${shape.rows} rows`)
    const filled = await openFilled('postgres', shape)
    try {
      await work(filled)
    } finally {
      await filled.close()
    }
  }

  const before = new Map<string, number>()
  if (factRows > COMPARED) {
    await during('lists to compare with', lifeOf(COMPARED), async (filled) => {
      await filled.sequelize.query('VACUUM ANALYZE')
      for (const name of LISTS)
        before.set(name, (await pagesOf(filled, await runList(filled.database, name))).pages)
    })
  }
  await during('life', lifeOf(factRows), async (filled) => {
    await measureBytes(filled, factRows, facts)
    tell('PostgreSQL: lists')
    await filled.sequelize.query('VACUUM ANALYZE')
    await measureLists(filled, factRows, facts, before)
    await measureMonth(filled, facts)
    await measureWrites(filled, facts, tell)
  })
  const plain = new Map<string, number>()
  await during('without tickets', unstopped(SMALL, false), async (filled) => {
    plain.set('bytes', (await sizesOf(filled)).all / SMALL)
  })
  await during('with tickets', unstopped(SMALL, true), async (filled) => {
    const bytes = (await sizesOf(filled)).all / SMALL
    facts.atMost('bytes that a ticket of nine characters adds', bytes - (plain.get('bytes') ?? 0), 75, ' B')
  })
  await during('no statistics', lifeOf(SMALL), (filled) =>
    measureLists(filled, SMALL, facts, new Map(), ', without ANALYZE'),
  )
  await during('a busy hour', busyHour(BUSY), (filled) => measureBusyHour(filled, facts))
  await measureStatements('postgres', facts)
}

interface Sizes {
  readonly tokensAndUses: number
  readonly all: number
  readonly of: (relation: string) => number
}

async function sizesOf({ find }: Filled): Promise<Sizes> {
  const rows = await find(
    `SELECT relname, pg_relation_size(oid) AS bytes FROM pg_class WHERE relname LIKE 'subject_token%' AND relkind IN ('r', 'i')`,
    [],
  )
  const sizes = new Map(rows.map(({ relname, bytes }) => [String(relname), Number(bytes)]))
  const sum = (test: (name: string) => boolean) =>
    [...sizes].reduce((total, [name, bytes]) => total + (test(name) ? bytes : 0), 0)
  return {
    tokensAndUses: sum((name) => !name.startsWith('subject_token_stops')),
    all: sum(() => true),
    of: (relation) => sizes.get(relation) ?? Number.NaN,
  }
}

async function measureBytes(filled: Filled, rows: number, facts: Facts): Promise<void> {
  const { tokensAndUses, all, of } = await sizesOf(filled)
  facts.atMost('bytes an impersonation', tokensAndUses / rows, 760, ' B')
  facts.atMost('bytes an impersonation, with the stops of 60 %', all / rows, 860, ' B')
  facts.atMost('bytes a row of the index of what is open', of('subject_tokens_open') / rows, 12, ' B')
  facts.atMost('bytes a row of the index of what lives', of('subject_token_uses_live') / rows, 12, ' B')
}

/** Bytes of write-ahead log, commits included, for each of these. */
async function walOf({ find }: Filled, count: number, work: () => Promise<unknown>): Promise<number> {
  const [before] = await find('SELECT pg_current_wal_insert_lsn() AS lsn', [])
  await work()
  const [row] = await find('SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1) AS bytes', [
    String(before?.lsn),
  ])
  return Number(row?.bytes) / count
}

const setFullPages = async ({ sequelize, find }: Filled, value: 'on' | 'off') => {
  await sequelize.query(`ALTER SYSTEM SET full_page_writes = ${value}`)
  await sequelize.query('SELECT pg_reload_conf()')
  for (let known: unknown; known !== value; )
    known = (await find('SHOW full_page_writes', []))[0]?.full_page_writes
  await sequelize.query('CHECKPOINT')
}

async function measureWrites(filled: Filled, facts: Facts, tell: Tell): Promise<void> {
  const wal = (work: () => Promise<unknown>, count = OPERATIONS) => walOf(filled, count, work)
  tell('PostgreSQL: issue and exchange')
  await setFullPages(filled, 'off')
  let drafts: Awaited<ReturnType<typeof issueMany>> = []
  const issued = await wal(async () => {
    drafts = await issueMany(filled, OPERATIONS)
  })
  facts.atMost('WAL of an issue, without context', issued, 650, ' B')
  // By now every connection is open.
  const pids = await processesOf('postgres', filled.sequelize)
  const startOfSpends = cpuOf(pids)
  facts.atMost('WAL of an exchange', await wal(() => exchangeMany(filled, drafts)), 560, ' B')
  const cpuOfSpend = (cpuOf(pids) - startOfSpends) / OPERATIONS
  const few = OPERATIONS / 5
  let constrained: typeof drafts = []
  const issuedConstrained = await wal(async () => {
    constrained = await issueMany(filled, few, { constrained: true })
  }, few)
  facts.atMost('WAL of an issue with clientId and actorId, without context', issuedConstrained, 860, ' B')
  facts.atMost(
    'WAL of an exchange, with clientId and actorId',
    await wal(() => exchangeMany(filled, constrained), few),
    400,
    ' B',
  )

  tell('PostgreSQL: stops')
  const bytesBefore = (await sizesOf(filled)).all
  facts.atMost('WAL of a stop and its report', await wal(() => stopAndReportMany(filled, drafts)), 700, ' B')
  facts.note('bytes of a stop and its report', ((await sizesOf(filled)).all - bytesBefore) / OPERATIONS, ' B')
  // As every server does for its status list: a page that is read is cleared of dead rows.
  await filled.store.findStopped(ISSUER, epochTime() - LONGEST_LIFE)
  await measureUpdates(filled, facts)

  const others = await issueMany(filled, few)
  await exchangeMany(filled, others)
  const startOfStops = cpuOf(pids)
  facts.atMost('WAL of a stop', await wal(() => stopMany(filled, others), few), 500, ' B')
  facts.note('CPU of the server for an exchange (find, spend)', cpuOfSpend, ' µs')
  facts.aim('CPU of the server for a stop', (cpuOf(pids) - startOfStops) / few, 2.5 * cpuOfSpend, ' µs')

  const more = await issueMany(filled, OPERATIONS)
  await exchangeMany(filled, more)
  await setFullPages(filled, 'on')
  facts.atMost(
    'WAL of a stop after a checkpoint, with full pages',
    await wal(() => stopMany(filled, more)),
    700,
    ' B',
  )
}

async function measureUpdates({ sequelize, find }: Filled, facts: Facts): Promise<void> {
  // What a connection counts reaches the statistics after it has been idle for ten seconds.
  const counted = async () => {
    await sequelize.query('SELECT pg_stat_clear_snapshot()')
    return find(
      `SELECT relname, n_tup_upd, n_tup_hot_upd, n_dead_tup, n_live_tup FROM pg_stat_user_tables WHERE relname LIKE 'subject_token%'`,
      [],
    )
  }
  const updated = (rows: readonly Row[]) =>
    Number(rows.find(({ relname }) => relname === STOPS.name)?.n_tup_upd)
  let rows = await counted()
  for (let second = 0; second < 12 && updated(rows) < OPERATIONS; second += 1) {
    await sleep(1000)
    rows = await counted()
  }
  const of = (table: string) => rows.find(({ relname }) => relname === table)
  for (const { name } of [TOKENS, USES]) facts.atMost(`updates of ${name}`, Number(of(name)?.n_tup_upd), 0)
  const stops = of(STOPS.name)
  // Counted in the pages: what connections have added and cleared need not reach the statistics in that order.
  await sequelize.query(`ANALYZE ${STOPS.name}`)
  const counts = (await counted()).find(({ relname }) => relname === STOPS.name)
  const [dead, alive] = [Number(counts?.n_dead_tup), Number(counts?.n_live_tup)]
  facts.atMost('dead rows of stops, of all', dead / (dead + alive), 0.1)
  // These are in the pages that connections have not filled yet: their number does not grow with that of the stops.
  facts.note('dead rows of stops, of 10,000 reported at once', dead / OPERATIONS)
  facts.note('updates of stops, of 10,000 reported', Number(stops?.n_tup_upd) / OPERATIONS)
  facts.note('share of them that changes no index', Number(stops?.n_tup_hot_upd) / Number(stops?.n_tup_upd))
}

interface Node {
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
}

interface Explained {
  readonly pages: number
  readonly milliseconds: number
}

/** What a list reads, in the tables and indexes. The second time, because the first may note what has been committed. */
async function pagesOf(filled: Filled, { runs }: Pick<Listed, 'runs'>): Promise<Explained> {
  let pages = 0
  let milliseconds = 0
  for (const run of runs) {
    await explain(filled, run)
    const [plan, time] = await explain(filled, run)
    pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    milliseconds += time
  }
  return { pages, milliseconds }
}

async function explain({ find }: Filled, { sql, bindings }: Run): Promise<readonly [Node, number]> {
  const [row] = await find(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${sql}`, bindings[0] ?? [])
  const [{ Plan, 'Execution Time': time }] = JSON.parse(String(row?.['QUERY PLAN']))
  return [Plan, time]
}

async function measureLists(
  filled: Filled,
  size: number,
  facts: Facts,
  before: ReadonlyMap<string, number>,
  aside = '',
): Promise<void> {
  const { database } = filled
  for (const name of LISTS) {
    const listed = await runList(database, name)
    const { pages } = await pagesOf(filled, listed)
    facts.atMost(
      `pages of a list ${name}, ${listed.rows} rows${aside}`,
      pages,
      mostPages(name, listed.rows, size),
    )
    const compared = before.get(name)
    if (compared !== undefined) facts.note(`  the same among ${COMPARED} rows`, compared)
  }
  for (const name of NAMELESS_LISTS) {
    const { pages } = await pagesOf(filled, await runNameless(database, name))
    facts.atMost(`pages of a list ${name} that no row has${aside}`, pages, 12)
  }
  // Three tables, each by its key: one level more each from some millions of rows on.
  facts.atMost(`pages of a find${aside}`, await pagesOfFind(filled), size > 1e6 ? 13 : 10)
}

async function pagesOfFind(filled: Filled): Promise<number> {
  const { database } = filled
  const [draft] = await issueMany(filled, 1)
  const from = database.runs.length
  if (draft) await filled.store.find(draft.issuer, draft.id)
  const { pages } = await pagesOf(filled, { runs: database.runs.slice(from) })
  return pages
}

async function measureMonth(filled: Filled, facts: Facts): Promise<void> {
  await timed(() => countMonth(filled))
  const [milliseconds, rows] = await timed(() => countMonth(filled))
  facts.aim(`summary of 30 days, ${rows} rows, as if 375,000`, (milliseconds * 375_000) / rows, 500, ' ms')
}

async function measureBusyHour(filled: Filled, facts: Facts): Promise<void> {
  const { database, store } = filled
  const from = database.runs.length
  const stopped = await store.findStopped(ISSUER, 0)
  const [run] = database.runs.slice(from)
  if (run) {
    let best = Number.POSITIVE_INFINITY
    for (let time = 0; time < 5; time += 1) best = Math.min(best, (await explain(filled, run))[1])
    facts.atMost(
      `reading what was stopped, ${stopped.length} of them, as if 70,000`,
      (best * 70_000) / stopped.length,
      20,
      ' ms',
    )
  }
  const live = await runList(database, 'live')
  const { pages } = await pagesOf(filled, live)
  facts.note(`pages of a list live in a busy hour, ${live.rows} rows`, pages)
  const [milliseconds, count] = await timed(() => killAll(filled, OTHER_BACKEND))
  facts.aim(`a kill switch, ${count} live, as if 20,000`, (milliseconds * 20_000) / count, 1500, ' ms')
}
