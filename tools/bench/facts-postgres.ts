/** The facts of PostgreSQL: bytes, write-ahead log, pages. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Run } from '../../fixtures/runs.ts'
import { epochTime } from '../../src/base/clock.ts'
import type { Row } from '../../src/sequelize/database/text.ts'
import { STOPS, TOKENS, USES } from '../../src/sequelize/tables.ts'
import { LONGEST_LIFE } from '../../src/tokens/subject-token.ts'
import { ISSUER } from './deployment.ts'
import { unstopped } from './facts-fill.ts'
import { mostPages, runLists } from './facts-lists.ts'
import {
  exchangeMany,
  type Filled,
  issueMany,
  stopAndReportMany,
  stopMany,
  withFilled,
} from './facts-work.ts'
import type { Facts } from './ledger.ts'

type Tell = (text: string) => void

/** As many as a WAL of single operations is the mean of. */
const OPERATIONS = 10_000
const SMALL = 20_000

export async function measureLife(filled: Filled, rows: number, facts: Facts, tell: Tell): Promise<void> {
  await measureBytes(filled, rows, facts)
  tell('PostgreSQL: lists')
  await filled.sequelize.query('VACUUM ANALYZE')
  await measureLists(filled, rows, facts)
  await measureWrites(filled, facts, tell)
}

export async function measureTickets(facts: Facts): Promise<void> {
  const bytesOf = async (tickets: boolean) => {
    let bytes = Number.NaN
    await withFilled('postgres', unstopped(SMALL, tickets), async (filled) => {
      bytes = (await sizesOf(filled)).all / SMALL
    })
    return bytes
  }
  const added = (await bytesOf(true)) - (await bytesOf(false))
  facts.atMost('bytes that a ticket of nine characters adds', added, 75, ' B')
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
  facts.atMost('WAL of an exchange', await wal(() => exchangeMany(filled, drafts)), 560, ' B')
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
  facts.atMost('WAL of a stop', await wal(() => stopMany(filled, others), few), 500, ' B')

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

/** What a list reads, in the tables and indexes. The second time, because the first may note what has been committed. */
async function pagesOf(filled: Filled, runs: readonly Run[]): Promise<number> {
  let pages = 0
  for (const run of runs) {
    await explain(filled, run)
    const [plan] = await explain(filled, run)
    pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  }
  return pages
}

async function explain({ find }: Filled, { sql, bindings }: Run): Promise<readonly [Node, number]> {
  const [row] = await find(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${sql}`, bindings[0] ?? [])
  const [{ Plan, 'Execution Time': time }] = JSON.parse(String(row?.['QUERY PLAN']))
  return [Plan, time]
}

async function measureLists(filled: Filled, size: number, facts: Facts): Promise<void> {
  for await (const { name, runs, rows } of runLists(filled.database))
    facts.atMost(
      `pages of a list ${name}, ${rows} rows`,
      await pagesOf(filled, runs),
      mostPages(name, rows, size),
    )
  // Three tables, each by its key: one level more each from some millions of rows on.
  facts.atMost('pages of a find', await pagesOfFind(filled), size > 1e6 ? 13 : 10)
}

async function pagesOfFind(filled: Filled): Promise<number> {
  const { database } = filled
  const [draft] = await issueMany(filled, 1)
  const from = database.runs.length
  if (draft) await filled.store.find(draft.issuer, draft.id)
  return pagesOf(filled, database.runs.slice(from))
}

export async function measureBusyHour(filled: Filled, facts: Facts): Promise<void> {
  const { database, store } = filled
  const from = database.runs.length
  const { length } = await store.findStopped(ISSUER, 0)
  const [run] = database.runs.slice(from)
  let best = Number.NaN
  for (let time = 0; run && time < 5; time += 1) {
    const [, milliseconds] = await explain(filled, run)
    best = best < milliseconds ? best : milliseconds
  }
  facts.atMost(
    `reading what was stopped, ${length} of them, as if 70,000`,
    (best * 70_000) / length,
    20,
    ' ms',
  )
}
