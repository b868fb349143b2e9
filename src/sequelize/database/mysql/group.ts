/**
 * Several rows in one statement, because MariaDB and MySQL run one statement at a time. In autocommit a statement is
 * a transaction: several claims are written or refused as one.
 *
 * There is a text for each of few sizes, which the server keeps prepared. What finds rows by their keys is filled up
 * with repeated keys, which change nothing. Rows to insert cannot be, and have a text for each size: in two parts they were
 * two commits.
 */
import type { Binding, Bound, Claim, Find, Insertion, Intent, Result, Row, Text } from '../text.ts'

/** More would save little, and make the first wait for the last. */
const MOST = 16

export const most = ({ intent }: Text): number => (intent ? MOST : 1)

/** The texts of groups that a pool has written, by their sizes. */
export type GroupTexts = WeakMap<Intent, Map<number, Text>>

interface Connection {
  /** Runs one statement, whose parameters are written `?`. */
  execute(text: Text, values: readonly Bound[]): Promise<Result>
  /** Those of its pool. */
  readonly texts: GroupTexts
}

/** Does for each of several bindings what is wanted of its row. */
export function runGroup(
  connection: Connection,
  intent: Intent,
  bindings: readonly Binding[],
): Promise<readonly Result[]> {
  return intent.to === 'find'
    ? findAll(connection, intent, bindings)
    : insertAll(connection, intent, bindings)
}

async function insertAll(
  { execute, texts }: Connection,
  intent: Insertion | Claim,
  bindings: readonly Binding[],
): Promise<Result[]> {
  const text = known(texts, intent, bindings.length, () => {
    const row = `(${placeholders(intent.columns.length)})`
    const rows = bindings.map(() => row).join(', ')
    return `INSERT INTO ${intent.table} (${intent.columns.join(', ')}) VALUES ${rows}`
  })
  await execute(text, bindings.flat())
  return bindings.map(() => ({ rows: [], affected: 1 }))
}

/** What one statement finds has all but its keys in common. */
async function findAll(
  connection: Connection,
  intent: Find,
  bindings: readonly Binding[],
): Promise<Result[]> {
  const results = new Map<Binding, Result>()
  for (const alike of Map.groupBy(bindings, ([, ...others]) => JSON.stringify(others.map(bytes))).values()) {
    const found = await findAlike(connection, intent, alike)
    for (const bind of alike) {
      const row = found.get(bytes(bind[0]))
      results.set(bind, { rows: row ? [row] : [], affected: 0 })
    }
  }
  return bindings.map((bind) => results.get(bind) ?? { rows: [], affected: 0 })
}

/** The rows by their keys. */
async function findAlike(
  { execute, texts }: Connection,
  intent: Find,
  bindings: readonly Binding[],
): Promise<ReadonlyMap<string, Row>> {
  const { columns, key, equal } = intent
  const keys = filled(bindings).map(([value = null]) => value)
  const [[, ...others] = []] = bindings
  // The planner would read the whole of a table that it believes to be small.
  const text = known(texts, intent, keys.length, () =>
    [
      `SELECT ${columns}, ${key} AS found_by ${from(intent, keys)}`,
      ...equal.map((column) => `${column} = ?`),
    ].join(' AND '),
  )
  const { rows } = await execute(text, [...keys, ...others])
  return new Map(rows.map((row) => [bytes(row.found_by), row]))
}

/** Names come back as bytes. Each sequence of bytes is another text in this encoding. */
const bytes = (value: unknown): string =>
  (Buffer.isBuffer(value) ? value : Buffer.from(String(value))).toString('latin1')

const placeholders = (count: number): string => Array.from({ length: count }, () => '?').join(', ')

const from = (
  { table, join, key, index }: Pick<Find, 'table' | 'join' | 'key' | 'index'>,
  keys: readonly unknown[],
): string =>
  [`FROM ${table} FORCE INDEX (${index})`, join, `WHERE ${key} IN (${placeholders(keys.length)})`]
    .filter(Boolean)
    .join(' ')

/** Filled up to a size with the last one. */
function filled(bindings: readonly Binding[]): Binding[] {
  const size = 2 ** Math.ceil(Math.log2(bindings.length))
  return Array.from({ length: size }, (_, index) => bindings[index] ?? bindings.at(-1) ?? [])
}

function known(texts: GroupTexts, intent: Intent, size: number, sql: () => string): Text {
  const sizes = texts.get(intent) ?? new Map<number, Text>()
  texts.set(intent, sizes)
  const text = sizes.get(size) ?? { sql: sql() }
  sizes.set(size, text)
  return text
}
