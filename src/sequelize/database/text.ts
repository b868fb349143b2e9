/** A statement, and what it says. */

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
  /** What it says about one row, for databases that say it about several rows in one statement. */
  readonly intent?: Intent
}

/** What is wanted of one row. */
export type Intent = Find | Insertion | Claim

/** Values are bound in the order of `key`, `equal`. */
export interface Find {
  readonly to: 'find'
  /** And its alias, if it has one: `subject_tokens t`. */
  readonly table: string
  /** What of other tables belongs to the row: `LEFT JOIN … ON …`. */
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
  readonly to: 'insert'
  readonly table: string
  /** In the order in which their values are bound. */
  readonly columns: readonly string[]
}

/**
 * Inserts a row where its key is free. Of any number of these with one key, at the same time or not, one writes. The
 * table has no other unique key.
 */
export interface Claim extends Omit<Insertion, 'to'> {
  readonly to: 'claim'
}
