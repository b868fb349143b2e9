/** What became of a statement that failed, as judged by its driver, and what may be done next. */

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
  /** Send it again if it only reads. */
  readonly readAgain: boolean
  /** Send the statements of a batch again one by one, because only one of them is at fault. */
  readonly split: boolean
  /** Return the connection to the pool. */
  readonly keep: boolean
  /** It certainly did not take effect. */
  readonly harmless: boolean
}

export const AFTER: Readonly<Record<Fate, Consequences>> = {
  'rolled back': { repeat: true, readAgain: true, split: true, keep: true, harmless: true },
  'turned away': { repeat: true, readAgain: true, split: true, keep: false, harmless: true },
  refused: { repeat: false, readAgain: false, split: true, keep: true, harmless: true },
  locked: { repeat: true, readAgain: true, split: false, keep: true, harmless: true },
  unsent: { repeat: false, readAgain: false, split: false, keep: true, harmless: true },
  lost: { repeat: false, readAgain: true, split: false, keep: false, harmless: false },
  unknown: { repeat: false, readAgain: false, split: false, keep: false, harmless: false },
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
