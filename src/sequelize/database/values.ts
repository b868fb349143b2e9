/** Reads values of a row, which each database returns in a form of its own: names come back from MySQL as bytes. */

export const text = (value: unknown): string =>
  Buffer.isBuffer(value) ? value.toString('utf8') : String(value)

export const optionalText = (value: unknown): string | undefined => (value === null ? undefined : text(value))

/** The 32 hexadecimal digits of a value of type `id`. @throws {TypeError} for anything else. */
export function hexOf(value: unknown): string {
  const hex =
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value).replaceAll('-', '')
  if (!/^[0-9a-f]{32}$/.test(hex)) throw new TypeError('not an id')
  return hex
}

/** The bytes of a value of type `hash`, which PostgreSQL returns as text. @throws {TypeError} for anything else. */
export function bytesOf(value: unknown): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value)
  if (typeof value !== 'string') throw new TypeError('not bytes')
  if (value.startsWith('\\x')) return Buffer.from(value.slice(2), 'hex')
  // With `bytea_output = escape`.
  const bytes = value.replace(/\\(\\|[0-3][0-7]{2})/g, (_, escaped: string) =>
    escaped === '\\' ? escaped : String.fromCharCode(Number.parseInt(escaped, 8)),
  )
  return Buffer.from(bytes, 'latin1')
}
