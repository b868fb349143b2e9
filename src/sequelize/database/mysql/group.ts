/**
 * Several rows in one statement, because MariaDB and MySQL run one statement at a time. In autocommit a statement is
 * a transaction: several claims are written or refused as one.
 *
 * There is a text for each of few sizes, which the server keeps prepared. What finds rows by their keys is filled up
 * with repeated keys, which change nothing. Rows to insert cannot be, and have a text for each size: in two parts they were
 * two commits.
 */
import type { Binding, Bound, Find, Intent, Result, Row, Text } from '../text.ts'

/** More would save little, and make the first wait for the last. */
const MOST = 16

export const most = ({ intent }: Text): number => (intent ? MOST : 1)

/** Runs one statement, whose parameters are written `?`. */
type Execute = (text: Text, values: readonly Bound[]) => Promise<Result>

/** Does for each of several bindings what is wanted of its row. */
export async function runGroup(
  execute: Execute,
  intent: Intent,
  bindings: readonly Binding[],
): Promise<readonly Result[]> {
  if (intent.to === 'find') return findAll(execute, intent, bindings)
  const row = `(${placeholders(intent.columns)})`
  const rows = bindings.map(() => row).join(', ')
  const sql = `INSERT INTO ${intent.table} (${intent.columns.join(', ')}) VALUES ${rows}`
  await execute({ sql }, bindings.flat())
  return bindings.map(() => ({ rows: [], affected: 1 }))
}

/** Look-ups that share a statement have all but their keys in common. */
async function findAll(execute: Execute, intent: Find, bindings: readonly Binding[]): Promise<Result[]> {
  const results = new Map<Binding, Result>()
  for (const alike of Map.groupBy(bindings, ([, ...others]) => JSON.stringify(others.map(bytes))).values()) {
    const found = await findAlike(execute, intent, alike)
    for (const bind of alike) {
      const row = found.get(bytes(bind[0]))
      results.set(bind, { rows: row ? [row] : [], affected: 0 })
    }
  }
  return bindings.map((bind) => results.get(bind) ?? { rows: [], affected: 0 })
}

/** The rows by their keys. The planner would read the whole of a table that it believes to be small. */
async function findAlike(
  execute: Execute,
  { table, join = '', columns, key, equal, index }: Find,
  bindings: readonly Binding[],
): Promise<ReadonlyMap<string, Row>> {
  const keys = filled(bindings).map(([value = null]) => value)
  const [[, ...others] = []] = bindings
  const conditions = [`${key} IN (${placeholders(keys)})`, ...equal.map((column) => `${column} = ?`)]
  const sql = `SELECT ${columns}, ${key} AS found_by FROM ${table} FORCE INDEX (${index}) ${join}
    WHERE ${conditions.join(' AND ')}`
  const { rows } = await execute({ sql }, [...keys, ...others])
  return new Map(rows.map((row) => [bytes(row.found_by), row]))
}

/** Names come back as bytes. Each sequence of bytes is another text in this encoding. */
const bytes = (value: unknown): string =>
  (Buffer.isBuffer(value) ? value : Buffer.from(String(value))).toString('latin1')

const placeholders = (values: readonly unknown[]): string => values.map(() => '?').join(', ')

/** Filled up to a size with the last one. */
function filled(bindings: readonly Binding[]): Binding[] {
  const size = 2 ** Math.ceil(Math.log2(bindings.length))
  return Array.from({ length: size }, (_, index) => bindings[index] ?? bindings.at(-1) ?? [])
}
