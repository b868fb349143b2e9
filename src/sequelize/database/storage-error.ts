import { ConnectionError } from 'sequelize'
import { codeOf } from './fate.ts'

/**
 * A database failure, reduced to its name and code. The driver's error holds the statement, its bound values and
 * sometimes a row: hashes and personal data that belong in no log.
 */
export class StorageError extends Error {
  override readonly name = 'StorageError'
  /** What the database or the driver calls it, else the class of the error. */
  readonly code?: string
  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

export function storageError(error: unknown): StorageError {
  if (!(error instanceof Error)) return new StorageError('storage failed')
  const code = codeOf(error)
  // The message of a connection error is about the server only.
  const detail = error instanceof ConnectionError ? error.message : code
  return new StorageError(
    ['storage failed', error.name, detail].filter(Boolean).join(': '),
    code ?? error.name,
  )
}
