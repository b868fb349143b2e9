/** The contract of a database. One file each: postgres, mysql, sqlite. */
import type { Sequelize } from 'sequelize'
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
export interface Driver {
  /** Whether `run` takes several bindings without a round trip more. */
  readonly batches: boolean
  /** Runs a statement once for each binding, in one transaction, and returns the results in their order. */
  run(connection: object, sql: string, bindings: readonly Binding[]): Promise<readonly Result[]>
  fateOf(error: unknown): Fate
  /**
   * The statement as it runs when all that was committed before is visible, also from other nodes. Only where a
   * database has nodes of which one may lag, and `undefined` when this one has none.
   */
  inSync?(sequelize: Sequelize, sql: string): Promise<string | undefined>
}
