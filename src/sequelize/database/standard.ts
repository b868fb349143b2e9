/** SQL that PostgreSQL and SQLite share, and pieces that MySQL shares too. */
import type { Dialect, Ids, Index, Insert, Upsert, Walk, WriteOnce } from './dialect.ts'
import type { Binding, Bound, Intent, Text } from './text.ts'

/** Fails if a key exists. */
export function insertInto({ table, columns, rows = 1 }: Insert): string {
  const places = (row: number) => columns.map((_, index) => `$${row * columns.length + index + 1}`).join(', ')
  const all = Array.from({ length: rows }, (_, row) => `(${places(row)})`)
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${all.join(', ')}`
}

/** The text of what is wanted of one row. */
export function textOf(dialect: Dialect, intent: Intent): Text {
  if (intent.to !== 'find')
    return { sql: intent.to === 'insert' ? insertInto(intent) : dialect.claim(intent), intent }
  const tables = [intent.table, intent.join].filter(Boolean).join(' ')
  const equal = [intent.key, ...intent.equal].map((column, index) => `${column} = $${index + 1}`)
  return { sql: `SELECT ${intent.columns} FROM ${tables} WHERE ${equal.join(' AND ')}`, intent }
}

/** The assignments of an upsert; `given` refers to the value that was to be inserted. */
export function replacing({ table, columns, key, kept }: Upsert, given: (column: string) => string): string {
  const replaced = columns.filter((column) => !key.includes(column) && !kept.includes(column))
  return [
    ...replaced.map((column) => `${column} = ${given(column)}`),
    ...kept.map((column) => `${column} = COALESCE(${table}.${column}, ${given(column)})`),
  ].join(', ')
}

export const byBytes = {
  bindId: (hex: string): Buffer => Buffer.from(hex, 'hex'),
  idsFrom(first: number, ids: readonly string[]): Ids {
    const among = (column: string) =>
      `${column} IN (${ids.map((_, index) => `$${first + index}`).join(', ')})`
    return {
      among,
      each: (table, alias, column) =>
        `${table} ${alias} WHERE ${alias}.issuer = $1 AND ${among(`${alias}.${column}`)}`,
      bind: ids.map(byBytes.bindId),
    }
  },
}

/** `hint` names the index to the planner. */
export function selectBy(hint: string, walk: Walk, limit: number, oldest?: true): string {
  const { table, id, column, value = '$4', columns, where = '1 = 1' } = walk
  const equal = column === undefined ? '' : `${column} = ${value} AND`
  return `SELECT ${[`${id} AS found`, columns].filter(Boolean).join(', ')} FROM ${table} ${hint}
    WHERE ${equal} issuer = $1 AND ${id} >= $2 AND ${id} < $3 AND ${where}
    ORDER BY ${id} ${oldest ? '' : 'DESC'} LIMIT ${limit}`
}

const insertNew = (rows: Insert): string => `${insertInto(rows)} ON CONFLICT DO NOTHING`

const insertOrUpdate = (rows: WriteOnce | Upsert): string =>
  `${insertInto(rows)} ON CONFLICT (${rows.key.join(', ')}) DO UPDATE SET`

const excluded = (column: string): string => `excluded.${column}`

export const standard = {
  bindName: (name: string | undefined) => name ?? null,
  claim: insertNew,
  insertNew,
  writeOnce: (rows: WriteOnce) =>
    `${insertOrUpdate(rows)} ${rows.once.map((column) => `${column} = ${excluded(column)}`).join(', ')}
      WHERE ${rows.table}.${rows.once[0]} IS NULL`,
  upsert: (row: Upsert) => `${insertOrUpdate(row)} ${replacing(row, excluded)}`,
  tableOptions: '',
  byKey: '',
  indexed: (column: string) => column,
} satisfies Partial<Dialect>

/** The rest of a `CREATE INDEX`. */
export const indexOn = ({ name, table, columns, rows }: Index): string =>
  `IF NOT EXISTS ${name} ON ${table} (${columns})${rows}`

/** Names of our own, as a list. */
export const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ')

/** The shape of an index that was not finished, and of one that is being made. */
export const UNFINISHED = 'invalid, because it was not finished'
export const BEING_MADE = 'invalid, because it is being made'

/** Statements that run often: the text, and the parameter at each `?`. */
const known = new Map<string, readonly [text: string, order: readonly number[]]>()

/** For drivers without `$1`: the text with `?` instead, and the values in the order in which they appear in it. */
export function toPositional({ sql, rare }: Text, bind: Binding): [text: string, bind: Bound[]] {
  const statement = known.get(sql) ?? translate(sql)
  if (!rare) known.set(sql, statement)
  const [text, order] = statement
  return [text, order.map((position) => bind[position - 1] ?? null)]
}

function translate(sql: string): readonly [text: string, order: readonly number[]] {
  const order: number[] = []
  const text = sql.replace(/\$(\d+)/g, (_, position: string) => {
    order.push(Number(position))
    return '?'
  })
  return [text, order]
}
