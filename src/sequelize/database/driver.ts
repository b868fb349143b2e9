import type { Dialect } from './dialect.ts'
import type { Fate } from './fate.ts'
import type { Binding, Result, Row, Text } from './text.ts'

/** Runs statements on the connections of a pool, and says what became of one that failed. */
export interface Driver {
  readonly dialect: Dialect
  /** How many bindings of a text one `run` takes at most, in one round trip. */
  most(text: Text): number
  /**
   * Does what a statement says once for each binding, in one transaction, and returns the results in their order. The
   * bindings of a statement that writes are sorted by their rows.
   */
  run(connection: object, text: Text, bindings: readonly Binding[]): Promise<readonly Result[]>
  fateOf(error: unknown): Fate
  /** Changes what a new connection is made with. Absent where there is nothing to change. */
  beforeConnect?(config: object): void
  /** What makes a client in the library that Sequelize loads. Absent where a client emits no errors by itself. */
  readonly makesClients?: string
  /** Closes a connection without waiting for the server, which may be gone. Absent where there is none. */
  destroy?(connection: object): void
  /** Whether a statement failed because a table or a column of ours is missing. */
  isSchemaBehind(error: unknown): boolean
  /** What operators can do about an error that the server's settings cause: a fixed text. */
  adviceOn?(error: unknown): string | undefined
  /**
   * The same statement, made to wait until everything committed on other nodes is visible. `undefined` if this
   * server has no other nodes; absent for databases that never have any.
   */
  inSync?(sql: string, find: (sql: string) => Promise<readonly Row[]>): Promise<string | undefined>
}
