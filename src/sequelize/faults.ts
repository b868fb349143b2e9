import { ConnectionError } from 'sequelize'

/** What the database answers when it undid a statement that may simply be tried again. */
const ROLLED_BACK = new Set<unknown>([
  '40001', // PostgreSQL: serialization failure
  '40P01', // PostgreSQL: deadlock
  'ER_LOCK_DEADLOCK', // MySQL, MariaDB, and Galera for a write set that lost
  'ER_CHECKREAD', // MariaDB with snapshot isolation: the row changed since the read
])

/** PostgreSQL on a prepared statement that is gone or out of date. The connection will say so for ever. */
const OUTDATED = new Set<unknown>([
  '26000', // `DEALLOCATE ALL`, a pooler that changed the server behind the connection
  '0A000', // cached plan must not change result type: a column was altered
])

/**
 * PostgreSQL on data, constraints, rollbacks, syntax and rights, and on a lock or a statement that took too long.
 * The severity of its errors is a word in the server's language, so `ERROR` alone would not do.
 */
const OF_STATEMENT = /^(2[123]|40|42|55P03|57014)/

/** Whether the statement had no effect and may be tried again. */
export function isRepeatable(error: unknown): boolean {
  const code = codeOf(error)
  return ROLLED_BACK.has(code) || OUTDATED.has(code)
}

/**
 * Whether all that a failed group of statements did is undone for certain, and each may be tried alone. Not after
 * SQLite waited in vain for another process's lock: every one of them would hold the event loop as long again.
 */
export function isUndone(error: unknown): boolean {
  return (isOfServer(error) || isRepeatable(error)) && codeOf(error) !== 'SQLITE_BUSY'
}

/** Whether the server refused a statement, on a connection that is as good as before. */
export function isOfServer(error: unknown): boolean {
  const code = codeOf(error)
  if (!(error instanceof Error) || OUTDATED.has(code)) return false
  const { severity, sqlState, fatal, errcode } = error as Error & Partial<Record<string, unknown>>
  if (typeof severity === 'string') return severity === 'ERROR' || OF_STATEMENT.test(code ?? '')
  // MySQL and MariaDB, then SQLite.
  return (typeof sqlState === 'string' && fatal !== true) || typeof errcode === 'number'
}

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

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const original: unknown = Reflect.get(error, 'original') ?? error
  const code: unknown = original instanceof Error ? Reflect.get(original, 'code') : undefined
  return typeof code === 'string' ? code : undefined
}
