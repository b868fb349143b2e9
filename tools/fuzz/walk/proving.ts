/** DPoP proofs (RFC 9449) with the requests of a walk. */
import type { ClientMetadata } from 'oidc-provider'
import { now } from '../../../fixtures/clock.ts'
import type { Walk } from './walk.ts'

/** How a request proves a key, if it does. */
export interface Proven {
  readonly issuer: 0 | 1
  readonly client: ClientMetadata
  /** `used`: accepted before. */
  readonly proof?: 'fresh' | 'used' | 'garbage'
  /** The key that the access token will be bound to. */
  readonly jkt?: string
  readonly headers: Readonly<Record<string, string>>
}

export async function prove(
  { key, issuer, proofs }: Walk,
  index: 0 | 1,
  client: ClientMetadata,
  wanted: Proven['proof'],
): Promise<Pick<Proven, 'proof' | 'jkt' | 'headers'>> {
  if (wanted === undefined) return { headers: {} }
  if (wanted === 'garbage') return { proof: wanted, headers: { dpop: 'eyJhbGciOiJub25lIn0.e30.' } }
  const used = proofs.get(`${index} ${client.client_id}`)
  const again = wanted === 'used' && used && now() - used.at <= PROOF_LIVES ? used.proof : undefined
  const dpop = again ?? (await key.proof(issuer(index).deployment))
  return { proof: again === undefined ? 'fresh' : 'used', jkt: key.thumbprint, headers: { dpop } }
}

/** Less than what the provider allows for a proof. */
const PROOF_LIVES = 30

/** Of a request that was granted. */
export function keepProof({ proofs }: Walk, { issuer, client, proof, headers }: Proven): void {
  if (proof === 'fresh') proofs.set(`${issuer} ${client.client_id}`, { proof: headers.dpop ?? '', at: now() })
}
