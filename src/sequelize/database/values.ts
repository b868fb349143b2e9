/** Reads values of a row: names come back from MySQL as bytes. */

export const text = (value: unknown): string =>
  Buffer.isBuffer(value) ? value.toString('utf8') : String(value)

export const optionalText = (value: unknown): string | undefined => (value === null ? undefined : text(value))
