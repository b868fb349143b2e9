/**
 * Several rows in one statement, because MariaDB and MySQL run one statement at a time. In autocommit a statement is
 * a transaction, so that a compare-and-set of several rows decides each of them as one of a single row would.
 *
 * There is a text for each of few sizes, which the server keeps prepared. What finds rows by their keys is filled up
 * with repeated keys, which change nothing.
 */
import type { Binding, Bound, Claim, CompareAndSet, Find, Insertion, Intent, Result, Text } from '../text.ts'

/** More would save little, and make the first wait for the last. */
const MOST = 16

export const most = ({ intent }: Text): number => (intent ? MOST : 1)

/**
 * Rows to insert cannot be repeated, what is found together has all but its keys in common, and two compare-and-sets of
 * one row are two statements.
 */
export function fitting({ intent }: Text, bindings: readonly Binding[]): number {
  if (intent?.to === 'insert' || intent?.to === 'claim')
    return 2 ** Math.floor(Math.log2(Math.min(bindings.length, MOST)))
  if (intent?.to === 'find') {
    const [[, ...first] = []] = bindings
    const different = bindings.findIndex((bind) =>
      first.some((value, index) => bytes(bind[1 + index]) !== bytes(value)),
    )
    return different === -1 ? bindings.length : different
  }
  if (!intent) return bindings.length
  const keys = bindings.map(([key]) => key)
  const repeated = keys.findIndex((key, index) => keys.indexOf(key) < index)
  return repeated === -1 ? bindings.length : repeated
}

/** The texts of groups that a pool has written, by their sizes. */
export type GroupTexts = WeakMap<Intent, Map<number, Text>>

interface Connection {
  /** Runs one statement, whose parameters are written `?`. */
  execute(text: Text, values: readonly Bound[]): Promise<Result>
  /** Those of its pool. */
  readonly texts: GroupTexts
}

/** The statement did what it was to do, but for which of its callers is not known. */
class UnreadMarks extends Error {
  override readonly name = 'UnreadMarks'
}

/** Does for each of several bindings what is wanted of its row. */
export function runGroup(
  connection: Connection,
  intent: Intent,
  bindings: readonly Binding[],
): Promise<readonly Result[]> {
  if (intent.to === 'insert' || intent.to === 'claim') return insertAll(connection, intent, bindings)
  return intent.to === 'find' ? findAll(connection, intent, bindings) : setAll(connection, intent, bindings)
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
  return bindings.map(() => written(true))
}

async function findAll(
  { execute, texts }: Connection,
  intent: Find,
  bindings: readonly Binding[],
): Promise<Result[]> {
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
  const found = new Map(rows.map((row) => [bytes(row.found_by), row]))
  return bindings.map(([value]) => {
    const row = found.get(bytes(value))
    return { rows: row ? [row] : [], affected: 0 }
  })
}

/** Names come back as bytes. Each sequence of bytes is another text in this encoding. */
const bytes = (value: unknown): string =>
  (Buffer.isBuffer(value) ? value : Buffer.from(String(value))).toString('latin1')

async function setAll(
  { execute, texts }: Connection,
  intent: CompareAndSet,
  bindings: readonly Binding[],
): Promise<Result[]> {
  const { set, compared } = intent
  const rows = filled(bindings)
  const keys = rows.map(([key = null]) => key)
  const cases = (position: number) =>
    rows.flatMap((row, index) => [keys[index] ?? null, row[position] ?? null])
  const { affected } = await execute(
    known(texts, intent, rows.length, () => updateOf(intent, rows.length)),
    [
      ...set.flatMap((_, index) => cases(1 + compared.length + index)),
      ...keys,
      ...compared.flatMap((_, index) => cases(1 + index)),
    ],
  )
  if (affected === 0 || affected === bindings.length) return bindings.map(() => written(affected > 0))
  return readMarks(execute, intent, bindings, affected)
}

/** The rows are found, and locked, in the order of the index. */
function updateOf({ table, set, key, compared, absent }: CompareAndSet, size: number): string {
  const own = `CASE ${key}${' WHEN ? THEN ?'.repeat(size)} END`
  const conditions = [
    `${key} IN (${placeholders(size)})`,
    ...compared.map((begun) => `${begun} ${own}`),
    ...absent.map((column) => `${column} IS NULL`),
  ]
  return `UPDATE ${table} FORCE INDEX (${key}) SET ${set.map((column) => `${column} = ${own}`).join(', ')}
    WHERE ${conditions.join(' AND ')}`
}

/**
 * Who has written, when some have. The rows are written and committed: from here on no failure means that nothing
 * happened. A proxy may send a read to a replica, so that the marks count only if all are there.
 */
async function readMarks(
  execute: Connection['execute'],
  { table, key, compared, set, mark }: CompareAndSet,
  bindings: readonly Binding[],
  affected: number,
): Promise<Result[]> {
  const keys = filled(bindings, MOST).map(([value = null]) => value)
  const sql = `SELECT ${key} AS found_by, ${mark} AS mark ${from({ table, key, index: key }, keys)}`
  const { rows } = await execute({ sql, rare: true }, keys).catch((cause: unknown) => {
    throw new UnreadMarks('the marks could not be read', { cause })
  })
  const found = new Map(rows.map((row) => [bytes(row.found_by), row.mark]))
  const own = 1 + compared.length + set.indexOf(mark)
  const results = bindings.map((binding) =>
    written(bytes(found.get(bytes(binding[0]))) === bytes(binding[own])),
  )
  if (results.filter((result) => result.affected === 1).length === affected) return results
  throw new UnreadMarks('not as many marks as rows written')
}

const written = (done: boolean): Result => ({ rows: [], affected: done ? 1 : 0 })

const placeholders = (count: number): string => Array.from({ length: count }, () => '?').join(', ')

const from = (
  { table, join, key, index }: Pick<Find, 'table' | 'join' | 'key' | 'index'>,
  keys: readonly unknown[],
): string =>
  [`FROM ${table} FORCE INDEX (${index})`, join, `WHERE ${key} IN (${placeholders(keys.length)})`]
    .filter(Boolean)
    .join(' ')

/** Filled up to a size with the last one. */
function filled(bindings: readonly Binding[], size = 2 ** Math.ceil(Math.log2(bindings.length))): Binding[] {
  return Array.from({ length: size }, (_, index) => bindings[index] ?? bindings.at(-1) ?? [])
}

function known(texts: GroupTexts, intent: Intent, size: number, sql: () => string): Text {
  const sizes = texts.get(intent) ?? new Map<number, Text>()
  texts.set(intent, sizes)
  const text = sizes.get(size) ?? { sql: sql() }
  sizes.set(size, text)
  return text
}
