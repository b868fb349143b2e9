/** The rows that were written last: none of them may hold a token. */
import { QueryTypes } from 'sequelize'
import type { World } from './world.ts'

const NEWEST = [
  'SELECT * FROM subject_tokens ORDER BY id DESC LIMIT 300',
  'SELECT * FROM subject_token_actors ORDER BY token_id DESC LIMIT 100',
  'SELECT * FROM oidc_models ORDER BY written_at DESC LIMIT 300',
]

/** The beginning of a token in a column, if there is one. */
export async function tokenInTables({ sequelize, secrets }: World): Promise<string | undefined> {
  for (const sql of NEWEST) {
    const rows = await sequelize.query(sql, { type: QueryTypes.SELECT, logging: false })
    const found = secrets.clearIn(JSON.stringify(rows, readable))
    if (found !== undefined) return found
  }
  return undefined
}

/** Bytes as the text that they are. */
const readable = (_name: string, value: unknown): unknown => {
  const bytes =
    Reflect.get(Object(value), 'type') === 'Buffer' ? Reflect.get(Object(value), 'data') : undefined
  return Array.isArray(bytes) ? Buffer.from(bytes).toString() : value
}
