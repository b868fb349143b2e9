/** Values as they come back: MySQL keeps names as bytes. */

export const text = (value: unknown): string =>
  Buffer.isBuffer(value) ? value.toString('utf8') : String(value)

export const optionalText = (value: unknown): string | undefined => (value === null ? undefined : text(value))
