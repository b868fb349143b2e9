import { ConnectionError } from 'sequelize'
import { StoreFailure } from '../../tokens/store.ts'
import { AFTER, codeOf, type Driver, Failure, fateOf } from './driver.ts'

/**
 * A database failure, reduced to its name and code. The driver's error holds the statement, its bound values and
 * sometimes a row: hashes and personal data that belong in no log.
 */
export class StorageError extends StoreFailure {
  override readonly name = 'StorageError'
  /** The database's or the driver's code, else the class of the error. */
  readonly code?: string
  constructor(message: string, { code, forOperators, tookEffect }: Details = {}) {
    super(message, { forOperators, tookEffect })
    this.code = code
  }

  /** Whether a table or a column of ours is missing. */
  get schemaIsBehind(): boolean {
    return this.forOperators === SCHEMA_IS_BEHIND
  }
}

type Details = Partial<Pick<StorageError, 'code' | 'forOperators' | 'tookEffect'>>

/** Missing, or those of an earlier version. */
export const SCHEMA_IS_BEHIND =
  'the tables are missing or not up to date: run `oidc-impersonation migrate`, or call migrate() at the start'

/** For a reason that operators can do something about. */
export const failedFor = (reason: string, details: Omit<Details, 'forOperators'> = {}): StorageError =>
  new StorageError(`storage failed: ${reason}`, { ...details, forOperators: reason })

/** The facts about a statement that failed. */
export function storageError(
  failure: unknown,
  { isSchemaBehind, adviceOn }: Pick<Driver, 'isSchemaBehind' | 'adviceOn'>,
): StorageError {
  const error = failure instanceof Failure ? failure.cause : failure
  const tookEffect = AFTER[fateOf(failure)].harmless ? false : undefined
  if (!(error instanceof Error)) return new StorageError('storage failed', { tookEffect })
  const code = codeOf(error)
  if (isSchemaBehind(error)) return failedFor(SCHEMA_IS_BEHIND, { code, tookEffect })
  // The message of a connection error is about the server only.
  const detail = error instanceof ConnectionError ? error.message : code
  const forOperators = adviceOn?.(error)
  const message = ['storage failed', error.name, detail, forOperators].filter(Boolean).join(': ')
  return new StorageError(message, {
    code: code ?? error.name,
    forOperators,
    tookEffect,
  })
}

/** For a statement that leads to nothing without the next: whatever became of it, nothing has been done yet. */
export async function withoutEffect<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    const { message, code, forOperators } = error
    throw new StorageError(message, { code, forOperators, tookEffect: false })
  }
}
