import { ConnectionError } from 'sequelize'
import { codeOf } from './fate.ts'

/**
 * A failure of the database, stripped to what it is called. The driver's error holds the statement, its bound
 * values and sometimes a row: hashes and personal data that belong in no log.
 */
export class StorageError extends Error {
  override readonly name = 'StorageError'
  readonly code?: string
  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

export function storageError(error: unknown): StorageError {
  if (!(error instanceof Error)) return new StorageError('storage failed')
  const code = codeOf(error)
  // A connection error speaks of the server only.
  const detail = error instanceof ConnectionError ? error.message : code
  return new StorageError(['storage failed', error.name, detail].filter(Boolean).join(': '), code)
}
