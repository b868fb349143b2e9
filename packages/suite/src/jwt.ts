/** JWTs, read without trust. */

export interface ReadJwt {
  readonly header: Readonly<Record<string, unknown>>
  readonly payload: Readonly<Record<string, unknown>>
  readonly parts: readonly [string, string, string]
}

export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function decode(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** `undefined` for what is not a signed JWT. */
export function readJwt(token: string): ReadJwt | undefined {
  const [head = '', body = '', signature = '', ...more] = token.split('.')
  if (more.length > 0 || signature === '') return undefined
  const header = decode(head)
  const payload = decode(body)
  return header && payload && typeof header.alg === 'string'
    ? { header, payload, parts: [head, body, signature] }
    : undefined
}
