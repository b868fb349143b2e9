/** What became of a statement that failed, as judged by its driver, and what may be done next. */

/**
 * - `rolled back`: it did not take effect and can be retried on this connection;
 * - `outdated`: it did not run, and this connection will refuse it again, but another may not;
 * - `refused`: it did not run and would be refused again;
 * - `locked`: another process holds the database, and a retry would wait just as long;
 * - `unknown`: it may have taken effect, and the connection may be broken.
 */
export type Fate = 'rolled back' | 'outdated' | 'refused' | 'locked' | 'unknown'

interface Consequences {
  /** Send the statement again. */
  readonly repeat: boolean
  /** Send the statements of a batch again one by one, because only one of them is at fault. */
  readonly split: boolean
  /** Return the connection to the pool. */
  readonly keep: boolean
}

export const AFTER: Readonly<Record<Fate, Consequences>> = {
  'rolled back': { repeat: true, split: true, keep: true },
  outdated: { repeat: true, split: true, keep: false },
  refused: { repeat: false, split: true, keep: true },
  locked: { repeat: false, split: false, keep: true },
  unknown: { repeat: false, split: false, keep: false },
}

/** The database's own error code, also when Sequelize has wrapped the error. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const original: unknown = Reflect.get(error, 'original') ?? error
  const code: unknown = original instanceof Error ? Reflect.get(original, 'code') : undefined
  return typeof code === 'string' ? code : undefined
}
