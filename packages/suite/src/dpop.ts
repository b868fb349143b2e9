/** DPoP proofs (RFC 9449 §4.2), right ones and wrong ones. */
import { randomUUID } from 'node:crypto'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

export interface ProofChanges {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  /** Signs with another key than the one the header names. */
  readonly signWith?: CryptoKey | Uint8Array
}

export interface DpopKey {
  readonly jkt: string
  readonly publicJwk: JWK
  readonly privateJwk: JWK
  readonly privateKey: CryptoKey
  proof(method: string, url: string, changes?: ProofChanges): Promise<string>
}

export async function dpopKey(): Promise<DpopKey> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const publicJwk = await exportJWK(publicKey)
  return {
    jkt: await calculateJwkThumbprint(publicJwk),
    publicJwk,
    privateJwk: await exportJWK(privateKey),
    privateKey,
    proof(method, url, { claims = {}, header = {}, signWith = privateKey } = {}) {
      const iat = Math.floor(Date.now() / 1000)
      return new SignJWT({ htm: method, htu: url, jti: randomUUID(), iat, ...claims })
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: publicJwk, ...header })
        .sign(signWith)
    },
  }
}
