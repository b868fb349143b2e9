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
  /** A fixed text for operators, where there is more to say than the code. */
  readonly forOperators?: string
  /** Whether a table or a column of ours is missing. */
  readonly schemaIsBehind: boolean
  constructor(message: string, { code, forOperators }: Pick<StorageError, 'code' | 'forOperators'> = {}) {
    super(message)
    this.code = code
    this.forOperators = forOperators
    this.schemaIsBehind = forOperators === SCHEMA_IS_BEHIND
  }
}

/** Missing, or those of an earlier version. */
const SCHEMA_IS_BEHIND =
  'the tables are missing or not up to date: run `oidc-impersonation migrate`, or call migrate() at the start'

export function schemaIsBehind(code?: string): StorageError {
  return new StorageError(`storage failed: ${SCHEMA_IS_BEHIND}`, { code, forOperators: SCHEMA_IS_BEHIND })
}

export function storageError(error: unknown): StorageError {
  if (!(error instanceof Error)) return new StorageError('storage failed')
  const code = codeOf(error)
  // The message of a connection error is about the server only.
  const detail = error instanceof ConnectionError ? error.message : code
  return new StorageError(['storage failed', error.name, detail].filter(Boolean).join(': '), {
    code: code ?? error.name,
  })
}
