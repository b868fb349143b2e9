/** The rows that were written since the last look: none of them may hold a token. */
import { QueryTypes, type Sequelize } from 'sequelize'
import type { Secrets } from './secrets.ts'

/** Each table, what tells the order of its rows, and what comes before all of them. */
const TABLES = [
  ['subject_tokens', 'id', ''],
  ['subject_token_actors', 'token_id', ''],
  ['oidc_models', 'written_at', 0],
] as const

/** Returns a function that finds the beginning of a token in a column, if there is one. */
export function watchTables(sequelize: Sequelize, secrets: Secrets): () => Promise<string | undefined> {
  const seen = new Map<string, unknown>()
  return async () => {
    for (const [table, order, first] of TABLES) {
      const sql = `SELECT * FROM ${table} WHERE ${order} >= :seen ORDER BY ${order}`
      const rows = await sequelize.query<Record<string, unknown>>(sql, {
        type: QueryTypes.SELECT,
        replacements: { seen: seen.get(table) ?? first },
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
