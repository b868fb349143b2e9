import type { Sequelize } from 'sequelize'
import type { Database } from '../database/database.ts'
import { codeOf } from '../database/driver.ts'
import { databaseOf } from '../drivers.ts'
import { type Right, SERVED, type Table } from '../tables.ts'

export interface MissingRight {
  readonly table: string
  readonly right: Right
}

/** For the role that serves and purges. The one that migrates, and ends what is unspent, owns the tables. */
export const grantsTo = (role: string): string[] =>
  SERVED.map(({ name, rights }) => `GRANT ${rights.join(', ')} ON ${name} TO ${role}`)

/** How PostgreSQL, and MariaDB and MySQL, refuse what the role has no right to. */
const REFUSALS = ['42501', 'ER_TABLEACCESS_DENIED_ERROR', 'ER_COLUMNACCESS_DENIED_ERROR']
/** How MariaDB and MySQL refuse, after the rights, an INSERT that leaves a column out. */
const ALLOWED = 'ER_NO_DEFAULT_FOR_FIELD'

/**
 * The rights that the role of the servers needs and does not have. Finds out by statements that touch no row.
 *
 * @throws {StorageError} when a statement fails for another reason.
 */
export async function missingRights(
  sequelize: Sequelize,
  tables: readonly Table[] = SERVED,
): Promise<MissingRight[]> {
  const database = databaseOf(sequelize)
  const missing: MissingRight[] = []
  for (const table of tables)
    for (const right of table.rights)
      if (!(await hasRight(database, table, right))) missing.push({ table: table.name, right })
  return missing
}

async function hasRight(
  database: Database,
  { name, key: [column = ''] }: Table,
  right: Right,
): Promise<boolean> {
  const statements: Readonly<Record<Right, string>> = {
    SELECT: `SELECT * FROM ${name} WHERE 1 = 0`,
    INSERT: `INSERT INTO ${name} (${column}) SELECT ${column} FROM ${name} WHERE 1 = 0`,
    UPDATE: `UPDATE ${name} SET ${column} = ${column} WHERE 1 = 0`,
    DELETE: `DELETE FROM ${name} WHERE 1 = 0`,
  }
  try {
    await database.write(statements[right], [])
    return true
  } catch (error) {
    if (isRefused(error)) return false
    if (codeOf(error) === ALLOWED) return true
    throw error
  }
}

export const isRefused = (error: unknown): boolean => REFUSALS.includes(codeOf(error) ?? '')

/** How a database that can only be read refuses a write of any role. */
const READ_ONLY = [
  '25006',
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_READ_ONLY_MODE',
  'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
  'SQLITE_READONLY',
]
export const isReadOnly = (error: unknown): boolean => READ_ONLY.includes(codeOf(error) ?? '')
