import type { Sequelize } from 'sequelize'
import { databaseOf } from '../database/database.ts'

const TABLES = {
  subject_tokens: 'id',
  subject_token_actors: 'actor_id',
  oidc_models: 'id',
} as const

export interface Right {
  readonly table: keyof typeof TABLES
  readonly right: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'
}

/** The rights that a role needs and does not have. Finds out by statements that touch no row. */
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
      const run = right === 'SELECT' ? database.find(sql, []) : database.write(sql, [])
      await run.catch(() => missing.push({ table, right }))
    }
  }
  return missing
}
