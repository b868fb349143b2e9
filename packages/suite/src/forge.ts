/** Forgeries of a valid JWT. A server that verifies it properly refuses them all. */
import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import type { JWK } from 'jose'
import { encode, type ReadJwt } from './jwt.ts'

/** The forged tokens; empty if this forgery does not apply to the token. */
export type Forgery = (jwt: ReadJwt, keys: readonly JWK[]) => readonly string[]

const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' })

function signedByForeignKey(header: object, payload: object): string {
  const input = `${encode(header)}.${encode(payload)}`
  const signature = sign('sha256', Buffer.from(input), { key: foreign.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

export const payloadChanged: Forgery = ({ parts: [head, , signature], payload }) => [
  `${head}.${encode({ ...payload, sub: 'someone-else' })}.${signature}`,
  `${head}.${encode({ ...payload, exp: 4_102_444_800 })}.${signature}`,
]

export const unsigned: Forgery = ({ parts: [head, body] }) => [`${head}.${body}.`, `${head}.${body}`]

export const algNone: Forgery = ({ header, parts: [, body, signature] }) =>
  ['none', 'None', 'nOnE'].flatMap((alg) => {
    const head = encode({ ...header, alg })
    return [`${head}.${body}.`, `${head}.${body}.${signature}`]
  })

/** The public key, in the forms that libraries once took for the shared secret. */
function publicKeyForms(keys: readonly JWK[]): Buffer[] {
  return keys.flatMap((jwk) => {
    if (jwk.kty === 'oct') return []
    const key = createPublicKey({ key: jwk as Record<string, string>, format: 'jwk' })
    const pem = key.export({ type: 'spki', format: 'pem' }).toString()
    const der = key.export({ type: 'spki', format: 'der' })
    return [Buffer.from(pem), Buffer.from(pem.trimEnd()), der, Buffer.from(JSON.stringify(jwk))]
  })
}

export const hmacWithPublicKey: Forgery = ({ header, parts: [, body] }, keys) => {
  const own = keys.filter(({ kid }) => kid === undefined || header.kid === undefined || kid === header.kid)
  const input = `${encode({ ...header, alg: 'HS256' })}.${body}`
  return publicKeyForms(own).map(
    (secret) => `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`,
  )
}

export const foreignKey: Forgery = ({ header, payload }) => [
  signedByForeignKey({ ...header, alg: 'ES256' }, payload),
]

export const embeddedKey: Forgery = ({ header, payload }) => {
  const jwk = foreign.publicKey.export({ format: 'jwk' })
  const { kid: _, ...withoutKid } = header
  return [header, withoutKid].map((head) => signedByForeignKey({ ...head, alg: 'ES256', jwk }, payload))
}

/** CVE-2022-21449: r = s = 0 satisfies an ECDSA equation that is not guarded. */
export const zeroSignature: Forgery = ({ header, parts: [head, body] }) => {
  const lengths: Readonly<Record<string, number>> = { ES256: 64, ES384: 96, ES512: 132 }
  const length = lengths[String(header.alg)]
  return length === undefined ? [] : [`${head}.${body}.${Buffer.alloc(length).toString('base64url')}`]
}
