/** The functions that a database must provide, and a driver's judgement of a statement that failed. */
import type { Dialect } from './dialect.ts'
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
  /** The factory of clients in the library that Sequelize loads. Absent where a client emits no errors by itself. */
  readonly makesClients?: string
  /** Closes a connection without waiting for the server, which may be gone. Absent where there is none. */
  destroy?(connection: object): void
  /** Whether a statement failed because a table or a column of ours is missing. */
  isSchemaBehind(error: unknown): boolean
  /** Advice to operators about an error that the server's settings cause: a fixed text. */
  adviceOn?(error: unknown): string | undefined
  /**
   * A statement made to wait until everything committed on other nodes is visible. `undefined` if this
   * server has no other nodes; absent for databases that never have any.
   */
  inSync?(sql: string, find: (sql: string) => Promise<readonly Row[]>): Promise<string | undefined>
}

/**
 * - `rolled back`: it did not take effect and can be retried on this connection;
 * - `turned away`: it did not run, and this connection would refuse it again, but another may not;
 * - `refused`: it did not run and would be refused again;
 * - `locked`: it did not run, because another connection holds the database: it can be retried when that lets go;
 * - `unsent`: no connection could be had to send it on;
 * - `lost`: it may have taken effect, and the connection has ended;
 * - `unknown`: it may have taken effect, and the connection may be broken.
 */
export type Fate = 'rolled back' | 'turned away' | 'refused' | 'locked' | 'unsent' | 'lost' | 'unknown'

interface Consequences {
  /** Send the statement again. */
  readonly repeat: boolean
  /** Send the statements of a batch again one by one, because only one of them is at fault. */
  readonly split: boolean
  /** Return the connection to the pool. */
  readonly keep: boolean
  /** It certainly did not take effect. */
  readonly harmless: boolean
}

export const AFTER: Readonly<Record<Fate, Consequences>> = {
  'rolled back': { repeat: true, split: true, keep: true, harmless: true },
  'turned away': { repeat: true, split: true, keep: false, harmless: true },
  refused: { repeat: false, split: true, keep: true, harmless: true },
  locked: { repeat: true, split: false, keep: true, harmless: true },
  unsent: { repeat: false, split: false, keep: true, harmless: true },
  lost: { repeat: false, split: false, keep: false, harmless: false },
  unknown: { repeat: false, split: false, keep: false, harmless: false },
}

/** A statement that failed. The cause is what the driver threw. */
export class Failure extends Error {
  readonly fate: Fate
  constructor(fate: Fate, cause: unknown) {
    super(fate, { cause })
    this.fate = fate
  }
}

/** `unknown` for what no one has judged. */
export const fateOf = (error: unknown): Fate => (error instanceof Failure ? error.fate : 'unknown')

/** The database's own error code, also when Sequelize has wrapped the error. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const original: unknown = Reflect.get(error, 'original') ?? error
  const code: unknown = original instanceof Error ? Reflect.get(original, 'code') : undefined
  return typeof code === 'string' ? code : undefined
}

const CUT: ReadonlySet<string> = new Set(['ECONNABORTED', 'ECONNRESET', 'EPIPE'])

/** Whether the system says that a connection has ended. The end of a time limit of ours says nothing of it. */
export const isCut = (error: unknown): boolean =>
  CUT.has(codeOf(error) ?? '') || typeof Reflect.get(Object(error), 'syscall') === 'string'
