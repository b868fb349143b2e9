/** What spells SQL for a database. Everything known of one database lies in the folder of its name. */
import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../clock.ts'
import type { Bound, Insertion, Row } from './text.ts'

/** The SQL that differs from database to database. */
export interface Dialect {
  /** The value to bind for a name from outside, so that names are compared byte by byte. */
  bindName(name: string | undefined): Bound
  /** The value to bind for a column of type `id`, of 32 hexadecimal digits. */
  bindId(hex: string): Bound

  /** Inserts rows; fails if a key exists. */
  insert(rows: Insert): string
  /** Inserts a row, or says that its key exists: by no row written, or by a failure that its driver takes for that. */
  claim(row: Insert): string
  /**
   * Inserts a row, or replaces the row with the same key if `where` holds; else it writes nothing. Absent where a
   * database takes no such condition.
   */
  insertOrReplace?(row: Insert, existing: { readonly key: readonly string[]; readonly where: string }): string
  /** Whether what the client library threw says that a key exists. */
  isDuplicateKey(error: unknown): boolean
  /** Inserts rows; writes nothing where the key exists. How many it wrote, only PostgreSQL and SQLite know. */
  insertNew(rows: Insert): string
  /**
   * Inserts rows, each of another key. A row whose key exists takes what it still lacks. How many it wrote, only
   * PostgreSQL and SQLite know.
   */
  writeOnce(rows: WriteOnce): string
  /** Inserts a row, or updates the row with the same key. */
  upsert(row: Upsert): string
  /** Selects the newest keys of one value of an index by that index, whatever the planner expects of other indexes. */
  selectNewest(slice: Slice): string
  /** Selects the newest keys of the rows that an index finds by other columns, whatever the planner expects of others. */
  selectNewestOf(rows: Found): string
  /** Joins rows of a table, under the alias `t`, one by one: a planner that expects many would walk the table. */
  joinEach(table: string, on: string): string
  /** Updates rows, locking them in the order that batches use: otherwise the two could deadlock. */
  updateInOrder(rows: Update): string
  /**
   * Moves the sequence of a table ahead, for which a role needs a right. Absent where a row that is inserted with a
   * number ahead moves it.
   */
  moveSequence?(table: string, column: string, by: number): { readonly sql: string; readonly right: string }
  /** Deletes the oldest rows. May skip rows that another process is deleting. */
  deleteOldest(rows: Delete): string

  readonly types: ColumnTypes
  /** Goes after the columns of `CREATE TABLE`. */
  readonly tableOptions: string
  /** A column of type `name`, written for an index. */
  indexed(column: string): string
  /** Creates an index. `exclusively` runs it without harm if the index exists. */
  createIndex(index: Index): string
  /**
   * Runs `work` in one process at a time, on one connection. Returns `false` if another process is still at work
   * after `patience`.
   */
  exclusively(sequelize: Sequelize, wait: Wait, work: (execute: Execute) => Promise<void>): Promise<boolean>
}

/** Runs a statement without parameters and returns its rows. */
export type Execute = (sql: string) => Promise<readonly Row[]>

/** Waiting for another process. */
export interface Wait {
  readonly patience: Seconds
  /** Called once, and only if there is something to wait for. */
  readonly onWait: (reason: string) => void
}

export interface Insert extends Pick<Insertion, 'table' | 'columns'> {
  /** How many, if not one. Their values are bound row after row. */
  readonly rows?: number
}

export interface WriteOnce extends Insert {
  readonly key: readonly string[]
  /** Groups of columns: a row takes those of a group together, as long as the first of them is `NULL`. */
  readonly once: readonly (readonly [string, ...string[]])[]
}

export interface Upsert extends Insert {
  readonly key: readonly string[]
  /** Columns of which a value, once there is one, is kept. */
  readonly kept: readonly string[]
}

export interface Update {
  readonly table: string
  readonly key: string
  readonly set: Readonly<Record<string, string>>
  /** The table under the alias `t`. */
  readonly from: string
  /** Finds the rows by the column of `order`. */
  readonly where: string
  /** The column that batches are sorted by, found by an index of its own name. */
  readonly order: string
}

export interface Delete {
  readonly table: string
  readonly key: string
  readonly where: string
  /** The column that tells the age of a row. */
  readonly age: string
  readonly limit: number
}

/** The keys that an index holds for one value, from `from` on and below `below`. */
export interface Slice {
  readonly table: string
  readonly index: string
  /** The columns before the key, in the order of the index. */
  readonly equal: Readonly<Record<string, string>>
  readonly key: string
  /** No other index sorts by the key. */
  readonly only?: true
  readonly from: string
  readonly below: string
  readonly limit: number
}

/** The keys, from `from` on and below `below`, of the rows that an index finds by `where`. */
export interface Found extends Omit<Slice, 'equal' | 'only'> {
  readonly where: string
}

interface ColumnTypes {
  /** 16 bytes, bound by `bindId` and read by `hexOf`. */
  readonly id: string
  /** 32 bytes, bound as they are and read by `bytesOf`. */
  readonly hash: string
  /** Whole numbers of 16, 32 and 64 bits. */
  readonly small: string
  readonly int: string
  readonly big: string
  /** Ids and hashes of our own. */
  readonly ascii: string
  /** Names from outside, compared byte by byte: up to 255 characters of up to four bytes. */
  readonly name: string
  /** The same, up to 255 bytes. */
  readonly shortName: string
  /** Text that is only read back. */
  readonly text: string
  /** A whole number that the database hands out at insertion, and never twice. */
  readonly sequence: string
  /** What makes another column of that table a key: SQLite has its sequence in the primary one. */
  readonly keyBesideSequence: string
}

interface Index {
  readonly name: string
  readonly table: string
  readonly columns: string
  /** A column without which a row is left out, where the database has such indexes. */
  readonly unless?: string
}
