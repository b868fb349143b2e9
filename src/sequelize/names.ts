import type { Dialect } from './database/dialect.ts'
import type { Bound } from './database/driver.ts'

/**
 * Names that come from outside are compared byte by byte. MySQL's collations would fold case and trailing
 * spaces, so there they are kept as bytes.
 */
export function nameOf(dialect: Dialect, name: string | undefined): Bound {
  if (name === undefined) return null
  return dialect === 'mysql' ? Buffer.from(name, 'utf8') : name
}

export const text = (value: unknown): string =>
  Buffer.isBuffer(value) ? value.toString('utf8') : String(value)

export const optionalText = (value: unknown): string | undefined => (value === null ? undefined : text(value))
