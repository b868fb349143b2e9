/** The spelling of SQL for a database. Everything known of one database lies in the folder of its name. */
import type { Sequelize } from 'sequelize'
import type { Kind } from '../tables.ts'
import type { Bound, Insertion } from './text.ts'

/** The SQL that differs from database to database. */
export interface Dialect {
  /** The value to bind for a name from outside, so that names are compared byte by byte. */
  bindName(name: string | undefined): Bound
  /** The value to bind for a column of type `id`, of 32 hexadecimal digits. */
  bindId(hex: string): Bound

  /** Inserts a row, or says that its key exists: by no row written, or by a failure that its driver takes for that. */
  claim(row: Insert): string
  /** Inserts rows; writes nothing where the key exists. How many it wrote, only PostgreSQL and SQLite know. */
  insertNew(rows: Insert): string
  /**
   * Inserts rows, each of another key. A row whose key exists takes what it still lacks. How many it wrote, only
   * PostgreSQL and SQLite know.
   */
  writeOnce(rows: WriteOnce): string
  /** Inserts a row, or updates the row with the same key. */
  upsert(row: Upsert): string
  /** Reads the newest rows, or the oldest, by that index, whatever the planner expects of other indexes. */
  selectNewest(walk: Walk, limit: number, oldest?: true): string
  /** Goes after a table: the index to read it by, whatever the planner expects of others. */
  by(index: string): string
  /** Finds rows by ids, each by the index that begins with what the other conditions say. */
  idsFrom(first: number, ids: readonly string[]): Ids
  /**
   * Moves the sequence of a table ahead, for which a role needs a right. Absent where a row that is inserted with a
   * number ahead moves it.
   */
  moveSequence?(table: string, column: string, by: number): Move
  /** Deletes the oldest rows. May skip rows that another process is deleting. */
  deleteOldest(rows: Delete): string

  /** The types of columns. SQLite has its sequence in the primary key, so another key beside it is spelled differently. */
  readonly types: Readonly<Record<Kind | 'keyBesideSequence', string>>
  /** Goes after the columns of `CREATE TABLE`. */
  readonly tableOptions: string
  /** Goes after those of a table whose rows lie in the order of the key. */
  readonly byKey: string
  /** Makes a view with the rights of who reads it; each statement is harmless when it is run again. */
  createView(name: string, select: string): readonly string[]
  /** A column for people to read. */
  legible(column: string, kind: string): string
  /** A column of type `name`, written for an index. */
  indexed(column: string): string

  // Changes that no request waits for longer than a second, and questions to the catalogue.

  /** Adds a column that a row may lack. */
  addColumn(table: string, column: string): string
  createIndex(index: Index): string
  /** Removes what an interrupted `createIndex` has left. Absent where nothing is left. */
  dropIndex?(name: string): string
  /** Runs a change, which gives way when it has waited a second for a lock. Rejects with what the database says. */
  change(sequelize: Sequelize, sql: string): Promise<void>
  /** The statement as a database administrator runs it. */
  printed(sql: string): string
  /** Whether a change failed because of what others do at this moment. */
  isInTheWay(error: unknown): boolean
  /** Names of who may be in the way of changes to a table, as `id`. Absent where a database does not know. */
  blockers?(table: string): string

  /**
   * The existing parts of these tables: for each column its `name`, such as `column subject_tokens.open`, `shape`, its type as in
   * `types` and `NOT NULL`, and the name of the table as `also`. Of each index `name`, `shape`, the columns and rows that it
   * is on or why it is invalid, and as `also` what it makes a key, if no two rows share an entry: `key (…) of …`.
   */
  catalogue(tables: readonly string[]): string
  /** How large a table is: `number` of rows, perhaps estimated, and `bytes`, if known. */
  size(table: string): string
  /** How long it takes to enter a row into an index, in microseconds. */
  readonly perEntry: number
  /** Whether rows can be left out of an index. */
  readonly hasPartialIndexes: boolean
}

/** Ids as parameters. */
export interface Ids {
  /** The condition on the column that holds them. */
  among(column: string): string
  /** Goes after FROM: the rows of a table of the issuer `$1`, under an alias, whose column holds one, each by its key. */
  each(table: string, alias: string, column: string): string
  readonly bind: readonly Bound[]
}

interface Move {
  readonly sql: string
  /** The rights that the role needs for it. */
  readonly right: string
  /** Finds a row if the role has that right. */
  readonly mayMove: string
}

export interface Insert extends Pick<Insertion, 'table' | 'columns'> {
  /** How many, if not one. Their values are bound row after row. */
  readonly rows?: number
}

export interface WriteOnce extends Insert {
  readonly key: readonly string[]
  /** Columns that a row takes together, as long as the first of them is `NULL`. */
  readonly once: readonly [string, ...string[]]
}

export interface Upsert extends Insert {
  readonly key: readonly string[]
  /** Columns of which a value, once there is one, is kept. */
  readonly kept: readonly string[]
}

interface Delete {
  readonly table: string
  readonly key: readonly string[]
  readonly where: string
  /** The column that tells the age of a row. */
  readonly age: string
  readonly limit: number
}

/** Rows of one value of an index that goes on with the issuer, `$1`, and an id: from `$2` on, and below `$3`. */
export interface Walk {
  readonly table: string
  /** The column, which is read as `found`. */
  readonly id: string
  /** Absent: the key of the table. */
  readonly index?: string
  /** Absent: all rows of the issuer. */
  readonly column?: string
  /** The column's value, in SQL. Absent: a name, `$4`. */
  readonly value?: string
  readonly where?: string
  /** Further expressions that are read of each row. */
  readonly columns?: string
}

export interface Index {
  readonly name: string
  readonly table: string
  readonly columns: string
  /** ` WHERE …`, if rows are left out, where the database has such indexes. */
  readonly rows: string
}
