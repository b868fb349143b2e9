/** DPoP proofs at the naive server. */
import { calculateJwkThumbprint, decodeProtectedHeader, EmbeddedJWK, jwtVerify } from 'jose'
import { now, type State } from './state.ts'

export class BadProof extends Error {}

/** The thumbprint of the key that was proven; `undefined` if no proof was sent. */
export async function proven(state: State, header: string | undefined): Promise<string | undefined> {
  if (header === undefined) return undefined
  try {
    return await verified(state, header)
  } catch (error) {
    if (state.faults.has('proof-ignored-if-bad')) return undefined
    throw new BadProof(error instanceof Error ? error.message : 'bad proof')
  }
}

async function verified({ faults, issuer, proofs }: State, proof: string): Promise<string> {
  const { jwk } = decodeProtectedHeader(proof)
  if (!jwk || 'd' in jwk) throw new Error('no public key')
  const { payload } = await jwtVerify(proof, EmbeddedJWK, { typ: 'dpop+jwt', algorithms: ['ES256'] })
  const { htm, htu, iat = 0, jti } = payload
  if (jti === undefined) throw new Error('no jti')
  if (!faults.has('proof-not-compared') && (htm !== 'POST' || htu !== `${issuer}/token`))
    throw new Error('for another request')
  if (!faults.has('proof-ageless') && Math.abs(iat - now()) > 60) throw new Error('too old')
  if (!faults.has('proof-replayed') && proofs.has(jti)) throw new Error('seen before')
  proofs.add(jti)
  return calculateJwkThumbprint(jwk)
}
