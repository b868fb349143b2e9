/** Signing and verifying JWTs by hand, as tutorials do, with the mistakes that are made there. */
import { createHmac, createPublicKey, type JsonWebKey, type KeyObject, sign, verify } from 'node:crypto'
import type { Payload, State } from './state.ts'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export function signJwt({ privateKey }: State, payload: Payload, typ = 'at+jwt'): string {
  const input = `${encode({ alg: 'ES256', kid: 'naive', typ })}.${encode(payload)}`
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

export const signShared = (payload: Payload): string => {
  const input = `${encode({ alg: 'HS256', typ: 'at+jwt' })}.${encode(payload)}`
  return `${input}.${createHmac('sha256', 'shared').update(input).digest('base64url')}`
}

export interface Decoded {
  readonly header: Payload
  readonly payload: Payload
}

/** The JWT if its signature is right, or if a fault makes it pass. */
export function verifyJwt(state: State, token: string): Decoded | undefined {
  const [head = '', body = '', signature = '', ...more] = token.split('.')
  const header = decode(head)
  const payload = decode(body)
  if (!header || !payload || more.length > 0) return undefined
  const input = `${head}.${body}`
  return isSigned(state, header, input, signature) ? { header, payload } : undefined
}

function decode(part: string): Payload | undefined {
  try {
    const value = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function isSigned({ faults, publicKey }: State, header: Payload, input: string, signature: string): boolean {
  if (faults.has('signature-ignored')) return true
  const alg = String(header.alg)
  if (faults.has('alg-none') && alg.toLowerCase() === 'none') return true
  if (faults.has('hmac-confusion') && alg === 'HS256') {
    const pem = publicKey.export({ type: 'spki', format: 'pem' })
    return createHmac('sha256', pem).update(input).digest('base64url') === signature
  }
  if (alg !== 'ES256') return false
  const bytes = Buffer.from(signature, 'base64url')
  if (faults.has('zero-signature') && bytes.length > 0 && bytes.every((byte) => byte === 0)) return true
  const embedded = faults.has('embedded-key') && header.jwk
  const key = embedded ? createPublicKey({ key: embedded as JsonWebKey, format: 'jwk' }) : publicKey
  return isBy(key, input, bytes)
}

const isBy = (key: KeyObject, input: string, signature: Buffer): boolean =>
  verify('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }, signature)
