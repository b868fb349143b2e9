/** The text of what is wanted of one row. */
import type { Dialect } from './dialect.ts'
import type { Intent, Text } from './text.ts'

export const textOf = (dialect: Dialect, intent: Intent): Text => ({ sql: sqlOf(dialect, intent), intent })

function sqlOf(dialect: Dialect, intent: Intent): string {
  if (intent.to === 'insert') return dialect.insert(intent)
  if (intent.to === 'claim') return dialect.claim(intent)
  const tables = [intent.table, intent.join].filter(Boolean).join(' ')
  const equal = [intent.key, ...intent.equal].map((column, index) => `${column} = $${index + 1}`)
  return `SELECT ${intent.columns} FROM ${tables} WHERE ${equal.join(' AND ')}`
}
