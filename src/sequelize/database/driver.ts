/** The contract of a database, in two parts. All that is known of one lies in the file that implements it. */
import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../clock.ts'
import type { Fate } from './fate.ts'

export type Bound = string | number | Buffer | null
/** What the parameters of a statement stand for: `$1` is the first. */
export type Binding = readonly Bound[]
export type Row = Readonly<Record<string, unknown>>

/** Rows of a reading statement, and how many rows a writing one touched. */
export interface Result {
  readonly rows: readonly Row[]
  readonly affected: number
}

/** How statements run, and what became of those that failed. */
export interface Driver extends Dialect {
  /** Whether `run` takes several bindings without a round trip more. */
  readonly batches: boolean
  /** Runs a statement once for each binding, in one transaction, and returns the results in their order. */
  run(connection: object, sql: string, bindings: readonly Binding[]): Promise<readonly Result[]>
  fateOf(error: unknown): Fate
  /**
   * The statement as it runs once all that is committed on other nodes is visible; `undefined` where there are no
   * other nodes. Missing where a database knows none.
   */
  inSync?(sequelize: Sequelize, sql: string): Promise<string | undefined>
}

/** What each database writes in words of its own. */
export interface Dialect {
  /** A name from outside as it is bound, so that it is compared byte by byte. */
  bindName(name: string | undefined): Bound

  /** Inserts a row; touches none where its key is taken. */
  insertNew(row: Insert): string
  /** Inserts a row, or replaces what the row of its key holds. */
  upsert(row: Upsert): string
  /** Updates rows, locking them in the order of batches: otherwise the two could wait for each other. */
  updateInOrder(rows: Update): string
  /** Deletes rows, the oldest first. Those that another process is deleting may be left to it. */
  deleteOldest(rows: Delete): string

  readonly types: ColumnTypes
  /** What follows the columns of a new table. */
  readonly tableOptions: string
  /** A column of the type `name` as part of an index. */
  indexed(column: string): string
  /** Makes an index unless it is there. */
  createIndex(sequelize: Sequelize, index: Index): Promise<void>
  /**
   * Does some work while no other process does any. Returns whether it was done: `false`, or the error of the
   * database, says that another one kept at it for longer than this one has patience.
   */
  exclusively(sequelize: Sequelize, patience: Seconds, work: () => Promise<void>): Promise<boolean>
}

export interface Insert {
  readonly table: string
  /** Bound in this order. */
  readonly columns: readonly string[]
}

export interface Upsert extends Insert {
  readonly key: readonly string[]
  /** What these hold once they hold something is not replaced. */
  readonly kept: readonly string[]
}

export interface Update {
  readonly table: string
  readonly key: string
  readonly set: Readonly<Record<string, string>>
  /** The table as `t`, alone or joined. */
  readonly from: string
  readonly where: string
  /** The column by which batches are sorted. */
  readonly order: string
}

export interface Delete {
  readonly table: string
  readonly key: string
  readonly where: string
  /** The column that says how old a row is. */
  readonly age: string
  readonly limit: number
}

interface ColumnTypes {
  /** Ids and hashes of our own. */
  readonly ascii: string
  /** Names from outside, compared byte by byte: up to 255 characters of four bytes. */
  readonly name: string
  /** The same, of 255 bytes at most. */
  readonly shortName: string
  /** Text that is only read back. */
  readonly text: string
}

interface Index {
  readonly name: string
  readonly table: string
  readonly columns: string
}
