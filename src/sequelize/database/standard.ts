/** SQL that PostgreSQL and SQLite share, and pieces that MySQL shares too. */
import type { Dialect, Ids, Index, Insert, Slice, Upsert, WriteOnce } from './dialect.ts'

export function into({ table, columns, rows = 1, shared = 0 }: Insert): string {
  const own = columns.length - shared
  const row = (skipped: number) =>
    `(${columns.map((_, index) => `$${1 + index + (index < shared ? 0 : skipped)}`).join(', ')})`
  const all = Array.from({ length: rows }, (_, index) => row(index * own))
  return `INTO ${table} (${columns.join(', ')}) VALUES ${all.join(', ')}`
}

/** The assignments of an upsert; `given` refers to the value that was to be inserted. */
export function replacing({ table, columns, key, kept }: Upsert, given: (column: string) => string): string {
  const replaced = columns.filter((column) => !key.includes(column) && !kept.includes(column))
  return [
    ...replaced.map((column) => `${column} = ${given(column)}`),
    ...kept.map((column) => `${column} = COALESCE(${table}.${column}, ${given(column)})`),
  ].join(', ')
}

/** Each column is assigned without a condition where one condition holds for all, so that the row is left alone if not. */
function writeOnce(rows: WriteOnce): string {
  const { table, key, once } = rows
  const lacks = ([first]: readonly string[]) => `${table}.${first} IS NULL`
  const value = (group: readonly string[], column: string) =>
    once.length === 1
      ? `excluded.${column}`
      : `CASE WHEN ${lacks(group)} THEN excluded.${column} ELSE ${table}.${column} END`
  const set = once.flatMap((group) => group.map((column) => `${column} = ${value(group, column)}`))
  return `INSERT ${into(rows)} ON CONFLICT (${key.join(', ')}) DO UPDATE
    SET ${set.join(', ')} WHERE ${once.map(lacks).join(' OR ')}`
}

/** A list of ids has one of few sizes, so that there are few texts; one that is repeated fills the size. */
const SIZES = [1, 20, 101, 500, 1000]

export const idsIn =
  (bindId: Dialect['bindId']) =>
  (first: number, ids: readonly string[]): Ids => {
    const size = SIZES.find((rows) => rows >= ids.length) ?? ids.length
    const places = Array.from({ length: size }, (_, index) => `$${first + index}`).join(', ')
    const among = (column: string) => `${column} IN (${places})`
    return {
      among,
      each: (table, alias, column) =>
        `${table} ${alias} WHERE ${alias}.issuer = $1 AND ${among(`${alias}.${column}`)}`,
      bind: Array.from({ length: size }, (_, index) => bindId(ids[index] ?? ids[0] ?? '')),
    }
  }

/** `hint` names the index to the planner. */
export function selectSlice(
  { table, equal, key, columns, where = '1 = 1', from, below, limit, oldest }: Slice,
  hint: string,
): string {
  const values = Object.entries(equal).map(([column, value]) => `${column} = ${value}`)
  return `SELECT ${[`${key} AS found`, columns].filter(Boolean).join(', ')} FROM ${table} ${hint}
    WHERE ${values.join(' AND ')} AND ${key} >= ${from} AND ${key} < ${below} AND ${where}
    ORDER BY ${key} ${oldest ? '' : 'DESC'} LIMIT ${limit}`
}

const insertNew = (rows: Insert): string => `INSERT ${into(rows)} ON CONFLICT DO NOTHING`

export const standard = {
  bindName: (name: string | undefined) => name ?? null,
  insert: (rows: Insert) => `INSERT ${into(rows)}`,
  claim: insertNew,
  insertNew,
  writeOnce,
  upsert: (row: Upsert) => `INSERT ${into(row)} ON CONFLICT (${row.key.join(', ')}) DO UPDATE
    SET ${replacing(row, (column) => `excluded.${column}`)}`,
  tableOptions: '',
  byKey: '',
  indexed: (column: string) => column,
} satisfies Partial<Dialect>

/** The rest of a `CREATE INDEX`. */
export const indexOn = ({ name, table, columns, rows }: Index): string =>
  `IF NOT EXISTS ${name} ON ${table} (${columns})${rows}`

/** Names of our own, as a list. */
export const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ')

/** What an index is that was not finished, and one that is not yet. */
export const UNFINISHED = 'invalid, because it was not finished'
export const BEING_MADE = 'invalid, because it is being made'
