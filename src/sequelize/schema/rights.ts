import type { Sequelize } from 'sequelize'
import { StorageError } from '../database/storage-error.ts'
import { databaseOf } from '../database-of.ts'

const TABLES = {
  subject_tokens: 'id',
  subject_token_actors: 'actor_id',
  oidc_models: 'id',
} as const

export interface Right {
  readonly table: keyof typeof TABLES
  readonly right: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'
}

/** How PostgreSQL, and MariaDB and MySQL, refuse what the role has no right to. */
const REFUSALS = ['42501', 'ER_TABLEACCESS_DENIED_ERROR', 'ER_COLUMNACCESS_DENIED_ERROR']
/** How MariaDB and MySQL refuse, after the rights, an INSERT that leaves a column out. */
const ALLOWED = ['ER_NO_DEFAULT_FOR_FIELD']

/**
 * The rights that a role needs and does not have. Finds out by statements that touch no row.
 *
 * @throws {StorageError} when a statement fails for another reason.
 */
export async function missingRights(sequelize: Sequelize): Promise<Right[]> {
  const database = databaseOf(sequelize)
  const missing: Right[] = []
  for (const [table, column] of Object.entries(TABLES) as [Right['table'], string][]) {
    const statements: Readonly<Record<Right['right'], string>> = {
      SELECT: `SELECT ${column} FROM ${table} WHERE 1 = 0`,
      INSERT: `INSERT INTO ${table} (${column}) SELECT ${column} FROM ${table} WHERE 1 = 0`,
      UPDATE: `UPDATE ${table} SET ${column} = ${column} WHERE 1 = 0`,
      DELETE: `DELETE FROM ${table} WHERE 1 = 0`,
    }
    for (const [right, sql] of Object.entries(statements) as [Right['right'], string][]) {
      await database.write(sql, []).catch((error: unknown) => {
        if (hasCode(error, REFUSALS)) missing.push({ table, right })
        else if (!hasCode(error, ALLOWED)) throw error
      })
    }
  }
  return missing
}

const hasCode = (error: unknown, codes: readonly string[]): boolean =>
  error instanceof StorageError && codes.includes(error.code ?? '')
