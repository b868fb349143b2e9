/** The facts of SQLite: bytes, and the plans of lists. */
import { QueryTypes } from 'sequelize'
import { type Run, recordRuns } from '../fixtures/runs.ts'
import { STOPS, TOKENS, USES } from '../src/sequelize/tables.ts'
import { busyHour, lifeOf, OTHER_BACKEND, unstopped } from './facts-fill.ts'
import type { Facts } from './facts-ledger.ts'
import { LISTS, NAMELESS_LISTS, runList, runNameless } from './facts-lists.ts'
import { measureStatements } from './facts-statements.ts'
import { countMonth, type Filled, killAll, openFilled, timed } from './facts-work.ts'
import type { Options } from './options.ts'

/** Enough that the kill switch looks for a name among all that is open, and all that lives. */
const BUSY = 60_000
const TABLES = [TOKENS, USES, STOPS].map(({ name }) => name)

export async function measureSqlite(
  { factRows }: Options,
  facts: Facts,
  tell: (text: string) => void,
): Promise<void> {
  tell(`SQLite: without stops, ${factRows} rows`)
  const issued = await openFilled('sqlite', unstopped(factRows, false))
  try {
    facts.atMost('bytes an impersonation', (await bytesOf(issued)) / factRows, 600, ' B')
  } finally {
    await issued.close()
  }
  tell(`SQLite: life, ${factRows} rows`)
  const filled = await openFilled('sqlite', lifeOf(factRows))
  try {
    facts.note('bytes an impersonation, with the stops of 60 %', (await bytesOf(filled)) / factRows, ' B')
    await measurePlans(filled, facts, ', without ANALYZE')
    await filled.sequelize.query('ANALYZE')
    await measurePlans(filled, facts, '')
    const [milliseconds, rows] = await timed(() => countMonth(filled))
    facts.aim(`summary of 30 days, ${rows} rows, as if 375,000`, (milliseconds * 375_000) / rows, 300, ' ms')
  } finally {
    await filled.close()
  }
  const busyRows = Math.min(BUSY, 10 * factRows)
  tell(`SQLite: a busy hour, ${busyRows} rows`)
  const busy = await openFilled('sqlite', busyHour(busyRows))
  try {
    let [milliseconds, count] = [0, 0]
    const runs = await recordRuns(busy.database, async () => {
      ;[milliseconds, count] = await timed(() => killAll(busy, OTHER_BACKEND))
    })
    const texts = new Map(runs.filter(({ sql }) => sql.startsWith('SELECT')).map((run) => [run.sql, run]))
    facts.atMost('scans and sorts of a table, kill switch', await flawsOf(busy, [...texts.values()]), 0)
    facts.aim(`a kill switch, ${count} live, as if 20,000`, (milliseconds * 20_000) / count, 1500, ' ms')
  } finally {
    await busy.close()
  }
  await measureStatements('sqlite', facts)
}

async function bytesOf({ sequelize }: Filled): Promise<number> {
  const value = async (name: string) => {
    const [rows] = await sequelize.query(`PRAGMA ${name}`)
    return Number(Object.values((rows as object[])[0] ?? {})[0])
  }
  const pages = (await value('page_count')) - (await value('freelist_count'))
  return pages * (await value('page_size'))
}

async function measurePlans(filled: Filled, facts: Facts, aside: string): Promise<void> {
  const { database } = filled
  for (const name of LISTS) {
    const { runs } = await runList(database, name)
    facts.atMost(`scans and sorts of a table, list ${name}${aside}`, await flawsOf(filled, runs), 0)
  }
  for (const name of NAMELESS_LISTS) {
    const { runs } = await runNameless(database, name)
    facts.atMost(
      `scans and sorts of a table, list ${name} that no row has${aside}`,
      await flawsOf(filled, runs),
      0,
    )
  }
}

interface Step {
  readonly id: number
  readonly parent: number
  readonly detail: string
}

async function flawsOf({ sequelize }: Filled, runs: readonly Run[]): Promise<number> {
  let flaws = 0
  for (const { sql, bindings } of runs) {
    const rows = await sequelize.query<Step>(`EXPLAIN QUERY PLAN ${sql}`, {
      type: QueryTypes.SELECT,
      bind: [...(bindings[0] ?? [])],
    })
    // A plan that says nothing holds nothing.
    if (rows.length === 0) return Number.NaN
    const read = rows.filter(({ detail }) => !isOfFound(detail, rows))
    flaws += rows.filter((step) => (read.includes(step) && isScan(step)) || isSortOfTable(step, read)).length
  }
  return flaws
}

/** The aliases of tables. */
const TABLE = new RegExp(`^(SCAN|SEARCH) (${[...TABLES, 't', 'u', 's'].join('|')})\\b`)

/** Whether it reads rows that a statement within has found; they may have the alias of a table. */
const isOfFound = (detail: string, plan: readonly Step[]): boolean =>
  plan.some((step) => detail === step.detail.replace(/^(CO-ROUTINE|MATERIALIZE) /, 'SCAN '))

/** Of every row of a table, or of an issuer. */
const isScan = ({ detail }: Step): boolean =>
  TABLE.test(detail) && (detail.startsWith('SCAN') || detail.endsWith('(issuer=?)'))

/** What has not ended. */
const STEP = /_(open \(open|live \(live)>/

/** What begins with a table sorts all that it finds there. What begins with rows that were found sorts a page. */
function isSortOfTable({ parent, detail }: Step, plan: readonly Step[]): boolean {
  if (!detail.startsWith('USE TEMP B-TREE')) return false
  const first = plan.find((step) => step.parent === parent && /^(SCAN|SEARCH)/.test(step.detail))
  return first !== undefined && TABLE.test(first.detail) && !STEP.test(first.detail)
}
