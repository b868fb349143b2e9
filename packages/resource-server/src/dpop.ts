/** Tokens that are bound to a key: presented with a proof of it (RFC 9449 §7), or not at all. */
import {
  base64url,
  calculateJwkThumbprint,
  EmbeddedJWK,
  type JWK,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { PROOF_ALGORITHMS } from './algorithms.ts'
import type { Claims } from './claims.ts'
import { Refused } from './errors.ts'
import { isObject, isText } from './json.ts'
import { reasonOf } from './jwt.ts'
import { type ApiRequest, comparable, type Presented, urlOf } from './request.ts'
import { instant, type Seconds } from './time.ts'

/** How far the `iat` of a proof may be from now, either way. Within it a proof can be used again: no `jti` is kept. */
export const WINDOW: Seconds = 60
const MAX_PROOF = 16 * 1024
/** A larger RSA key can make a proof cost ten times what the rest of a request costs, also a forged proof. */
const MAX_MODULUS_BITS = 4096
const MAX_EXPONENT_BITS = 31

interface Proven {
  readonly claims: Claims
  readonly presented: Presented
  readonly request: ApiRequest
  readonly origin: string | undefined
}

/**
 * Holds a token to its `cnf` (RFC 7800 §3): a DPoP key must be proven, and what cannot be proven here, such as a
 * certificate, is refused.
 *
 * @throws {Refused}
 */
export async function assertSender({ claims, presented, request, origin }: Proven): Promise<void> {
  const { cnf } = claims
  if (cnf === undefined) {
    if (presented.scheme === 'DPoP') throw new Refused('not bound, and presented as DPoP')
    return
  }
  const { jkt, ...rest } = isObject(cnf) ? cnf : {}
  if (!isText(jkt) || Object.keys(rest).length > 0)
    throw new Refused('bound to a key that cannot be proven here')
  if (presented.scheme !== 'DPoP') throw new Refused('bound to a key, and presented as Bearer')
  const { proof, token } = presented
  if (proof === undefined) throw refusedProof('there is none')
  await verifyProof(proof, { jkt, token, method: request.method, url: urlOf(request, origin) })
}

interface Expected {
  readonly jkt: string
  readonly token: string
  readonly method: string | undefined
  readonly url: string | undefined
}

/** RFC 9449 §4.3, in an order that spends nothing on a proof by another key. */
async function verifyProof(proof: string, { jkt, token, method, url }: Expected): Promise<void> {
  if (proof.length > MAX_PROOF) throw refusedProof('too long')
  const { htm, htu, iat, jti, ath } = await verifySignature(proof, jkt)
  if (!isText(jti)) throw refusedProof('jti')
  if (!isText(htm) || htm !== method) throw refusedProof('htm')
  if (url === undefined || comparable(htu) !== url) throw refusedProof('htu')
  if (typeof iat !== 'number' || !(Math.abs(Math.floor(instant()) - iat) <= WINDOW)) throw refusedProof('iat')
  if (ath !== (await hashOf(token))) throw refusedProof('ath')
}

async function verifySignature(proof: string, jkt: string): Promise<Claims> {
  const keyOf: JWTVerifyGetKey = async (header, jws) => {
    const { jwk } = header
    if (!jwk || (await calculateJwkThumbprint(jwk)) !== jkt)
      throw new Refused('bound to another key than the one proven')
    if (isTooLarge(jwk)) throw refusedProof('the RSA key is too large')
    // Refuses private and symmetric keys.
    return EmbeddedJWK(header, jws)
  }
  try {
    const { payload } = await jwtVerify(proof, keyOf, { typ: 'dpop+jwt', algorithms: PROOF_ALGORITHMS })
    return payload
  } catch (error) {
    throw error instanceof Refused ? error : refusedProof(reasonOf(error))
  }
}

const isTooLarge = ({ kty, n = '', e = '' }: JWK): boolean =>
  kty === 'RSA' && (bitsOf(n) > MAX_MODULUS_BITS || bitsOf(e) > MAX_EXPONENT_BITS)

/** The value of a Base64urlUInt (RFC 7518 §2). Leading zeros, which some libraries write, do not count. */
function bitsOf(integer: string): number {
  const bytes = base64url.decode(integer)
  const first = bytes.findIndex((byte) => byte !== 0)
  return first === -1 ? 0 : (bytes.length - first) * 8 - (Math.clz32(bytes[first] ?? 0) - 24)
}

async function hashOf(token: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))
  return base64url.encode(new Uint8Array(hash))
}

const refusedProof = (reason: string) => new Refused(`DPoP proof: ${reason}`, 'invalid_dpop_proof')
