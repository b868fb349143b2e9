/** A statement, what it says, and the values that it reads. */

export type Bound = string | number | Buffer | null
/** The values of a statement's parameters; the first is `$1`. */
export type Binding = readonly Bound[]
export type Row = Readonly<Record<string, unknown>>

/** The rows a statement read, and how many it wrote. */
export interface Result {
  readonly rows: readonly Row[]
  readonly affected: number
}

/** The SQL of a statement. */
export interface Text {
  readonly sql: string
  /** It runs so seldom that the server need not keep it prepared. */
  readonly rare?: boolean
  /** Its meaning for one row, for databases that serve several rows by one statement. */
  readonly intent?: Intent
}

/** The meaning of a statement for one row. */
export type Intent = Find | Insertion

/** Values are bound in the order of `key`, `equal`. */
export interface Find {
  readonly to: 'find'
  /** And its alias, if it has one: `subject_tokens t`. */
  readonly table: string
  /** The other tables' part of the row: `LEFT JOIN … ON …`. */
  readonly join?: string
  readonly columns: string
  /** Unique among the rows that have the further values. */
  readonly key: string
  /** Further columns that must have the bound values. */
  readonly equal: readonly string[]
  /** The index that finds the row by all of these; `PRIMARY` for the primary key. */
  readonly index: string
}

export interface Insertion {
  /**
   * A claim inserts a row where its key is free. Of any number of these with one key, at the same time or not, one writes.
   * The table has no other unique key.
   */
  readonly to: 'insert' | 'claim'
  readonly table: string
  /** In the order in which their values are bound. */
  readonly columns: readonly string[]
}

/** Values come in a form of each database: names come back from MySQL as bytes. */
export const text = (value: unknown): string =>
  Buffer.isBuffer(value) ? value.toString('utf8') : String(value)

export const optionalNumber = (value: unknown): number | undefined =>
  value === null ? undefined : Number(value)

export const optionalText = (value: unknown): string | undefined => (value === null ? undefined : text(value))

/** The 32 hexadecimal digits of a value of type `id`. @throws {TypeError} for anything else. */
export function hexOf(value: unknown): string {
  const hex =
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value).replaceAll('-', '')
  if (!/^[0-9a-f]{32}$/.test(hex)) throw new TypeError('not an id')
  return hex
}

/** The bytes of a value of type `hash`, which PostgreSQL returns as text. @throws {TypeError} for anything else. */
export function bytesOf(value: unknown): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value)
  if (typeof value !== 'string') throw new TypeError('not bytes')
  if (value.startsWith('\\x')) return Buffer.from(value.slice(2), 'hex')
  // With `bytea_output = escape`.
  const bytes = value.replace(/\\(\\|[0-3][0-7]{2})/g, (_, escaped: string) =>
    escaped === '\\' ? escaped : String.fromCharCode(Number.parseInt(escaped, 8)),
  )
  return Buffer.from(bytes, 'latin1')
}
