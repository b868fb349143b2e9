/** The text of what is wanted of one row. */
import type { Dialect } from './dialect.ts'
import type { Intent, Text } from './text.ts'

export const textOf = (dialect: Dialect, intent: Intent): Text => ({ sql: sqlOf(dialect, intent), intent })

function sqlOf(dialect: Dialect, intent: Intent): string {
  if (intent.to === 'insert') return dialect.insert(intent)
  if (intent.to === 'claim') return dialect.claim(intent)
  if (intent.to === 'find') {
    const tables = [intent.table, intent.join].filter(Boolean).join(' ')
    const equal = [intent.key, ...intent.equal].map((column, index) => `${column} = $${index + 1}`)
    return `SELECT ${intent.columns} FROM ${tables} WHERE ${equal.join(' AND ')}`
  }
  const { table, set, key, compared, absent } = intent
  const conditions = [`${key} =`, ...compared].map((begun, index) => `${begun} $${index + 1}`)
  const first = conditions.length + 1
  return `UPDATE ${table} SET ${set.map((column, index) => `${column} = $${index + first}`).join(', ')}
    WHERE ${[...conditions, ...absent.map((column) => `${column} IS NULL`)].join(' AND ')}`
}
