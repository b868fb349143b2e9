import { ConnectionError } from 'sequelize'
import { AFTER, codeOf, Failure, fateOf } from './fate.ts'

/**
 * A database failure, reduced to its name and code. The driver's error holds the statement, its bound values and
 * sometimes a row: hashes and personal data that belong in no log.
 */
export class StorageError extends Error {
  override readonly name = 'StorageError'
  /** What the database or the driver calls it, else the class of the error. */
  readonly code?: string
  /** `false` if nothing was written; absent where no one knows. */
  readonly tookEffect?: false
  constructor(message: string, code?: string, tookEffect?: false) {
    super(message)
    this.code = code
    if (tookEffect === false) this.tookEffect = false
  }
}

/** What is told about a statement that failed. */
export function storageError(failure: unknown): StorageError {
  const error = failure instanceof Failure ? failure.cause : failure
  const tookEffect = AFTER[fateOf(failure)].harmless ? false : undefined
  if (!(error instanceof Error)) return new StorageError('storage failed', undefined, tookEffect)
  const code = codeOf(error)
  // The message of a connection error is about the server only.
  const detail = error instanceof ConnectionError ? error.message : code
  const message = ['storage failed', error.name, detail].filter(Boolean).join(': ')
  return new StorageError(message, code ?? error.name, tookEffect)
}

/** For a statement that leads to nothing without the next: whatever became of it, nothing has been done yet. */
export async function withoutEffect<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work
  } catch (error) {
    throw error instanceof StorageError ? new StorageError(error.message, error.code, false) : error
  }
}
