/** The rows that were written since the last look: none of them may hold a token. */
import { QueryTypes, type Sequelize } from 'sequelize'
import type { Secrets } from './secrets.ts'

/** Each table, and what tells the order of its rows. */
const TABLES = [
  ['subject_tokens', 'number'],
  ['subject_token_uses', 'used_at'],
  ['subject_token_stops', 'number'],
  ['subject_token_actors', 'token_id'],
  ['subject_token_acknowledgements', 'acknowledged_at'],
  ['oidc_models', 'written_at'],
] as const

/** Returns a function that finds the beginning of a token in a column, if there is one. */
export function watchTables(sequelize: Sequelize, secrets: Secrets): () => Promise<string | undefined> {
  const seen = new Map<string, unknown>()
  return async () => {
    for (const [table, order] of TABLES) {
      const since = seen.has(table) ? `WHERE ${order} >= :seen` : ''
      const sql = `SELECT * FROM ${table} ${since} ORDER BY ${order}`
      const rows = await sequelize.query<Record<string, unknown>>(sql, {
        type: QueryTypes.SELECT,
        replacements: { seen: seen.get(table) },
        logging: false,
      })
      const last = rows.at(-1)?.[order]
      if (last !== undefined) seen.set(table, last)
      const found = secrets.clearIn(rows.flatMap(Object.values).map(textOf).join('\n'))
      if (found !== undefined) return found
    }
    return undefined
  }
}

/** Bytes as the text that they are. */
const textOf = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString() : String(value)
