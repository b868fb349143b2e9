/** The text of what is wanted of one row, the same for every database. */
import { into } from './standard.ts'
import type { Intent, Text } from './text.ts'

export const textOf = (intent: Intent): Text => ({ sql: sqlOf(intent), intent })

function sqlOf(intent: Intent): string {
  if (intent.to === 'insert') return `INSERT ${into(intent)}`
  if (intent.to === 'find') {
    const equal = [intent.key, ...intent.equal].map((column, index) => `${column} = $${index + 1}`)
    return `SELECT ${intent.columns} FROM ${intent.table} WHERE ${equal.join(' AND ')}`
  }
  const { table, set, key, compared, absent } = intent
  const conditions = [`${key} =`, ...compared].map((begun, index) => `${begun} $${index + 1}`)
  const first = conditions.length + 1
  return `UPDATE ${table} SET ${set.map((column, index) => `${column} = $${index + first}`).join(', ')}
    WHERE ${[...conditions, ...absent.map((column) => `${column} IS NULL`)].join(' AND ')}`
}
