/** What became of a statement that failed, as its driver judges, and what may be done then. */

/**
 * - `rolled back`: it had no effect, and may be tried again on this connection;
 * - `outdated`: it had no effect, and this connection will refuse it again: try another;
 * - `refused`: it had no effect, and would be refused again;
 * - `locked`: another process holds the database: trying again would wait as long again;
 * - `unknown`: it may have happened, and the connection may be broken.
 */
export type Fate = 'rolled back' | 'outdated' | 'refused' | 'locked' | 'unknown'

interface Consequences {
  /** The statement may be sent again. */
  readonly repeat: boolean
  /** The statements of a batch may be sent again one by one, because the fault is only one's. */
  readonly split: boolean
  /** The connection goes back to the pool. */
  readonly keep: boolean
}

export const AFTER: Readonly<Record<Fate, Consequences>> = {
  'rolled back': { repeat: true, split: true, keep: true },
  outdated: { repeat: true, split: true, keep: false },
  refused: { repeat: false, split: true, keep: true },
  locked: { repeat: false, split: false, keep: true },
  unknown: { repeat: false, split: false, keep: false },
}

/** The database's own code of an error, which Sequelize may have wrapped. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const original: unknown = Reflect.get(error, 'original') ?? error
  const code: unknown = original instanceof Error ? Reflect.get(original, 'code') : undefined
  return typeof code === 'string' ? code : undefined
}
