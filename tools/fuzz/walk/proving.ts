/** What every exchange of a walk requests, and its DPoP proof (RFC 9449). */
import type { ClientMetadata } from 'oidc-provider'
import { now } from '../../../fixtures/clock.ts'
import type { HttpResponse } from '../../../fixtures/http.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../../src/base/constants.ts'
import { ALL_RESOURCES, type Rules } from '../setting.ts'
import type { Exchange } from './steps.ts'
import type { Walk } from './walk.ts'

export interface Requested {
  readonly issuer: 0 | 1
  readonly rules: Rules
  readonly client: ClientMetadata
  readonly resource: string
  /** The scopes of the resource; `undefined` where the issuer has no such resource. */
  readonly offered: string | undefined
  readonly scopes: readonly string[]
  /** `used`: accepted before. */
  readonly proof?: 'fresh' | 'used' | 'garbage'
  /** The key that the access token will be bound to. */
  readonly jkt?: string
  readonly headers: Readonly<Record<string, string>>
}

export async function requested(
  walk: Walk,
  { issuer, client, resource }: Pick<Requested, 'issuer' | 'client' | 'resource'>,
  { scope, proof }: Pick<Exchange, 'scope' | 'proof'>,
): Promise<Requested> {
  const { rules } = walk.issuer(issuer)
  const offered = ALL_RESOURCES[resource]?.scope
  const scopes = scope?.split(' ') ?? []
  return { issuer, rules, client, resource, offered, scopes, ...(await prove(walk, issuer, client, proof)) }
}

/** `actorToken` only where there is one. */
export const postExchange = (
  walk: Walk,
  { issuer, client, resource, scopes, headers }: Requested,
  { subjectToken, actorToken }: { readonly subjectToken: string; readonly actorToken: string | undefined },
): Promise<HttpResponse> =>
  walk.postToken(
    issuer,
    client,
    {
      grant_type: TOKEN_EXCHANGE,
      subject_token: subjectToken,
      subject_token_type: ACCESS_TOKEN_TYPE,
      resource,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      ...(actorToken !== undefined && { actor_token: actorToken, actor_token_type: ACCESS_TOKEN_TYPE }),
    },
    headers,
  )

async function prove(
  { key, issuer, proofs }: Walk,
  index: 0 | 1,
  client: ClientMetadata,
  wanted: Requested['proof'],
): Promise<Pick<Requested, 'proof' | 'jkt' | 'headers'>> {
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
export function keepProof({ proofs }: Walk, { issuer, client, proof, headers }: Requested): void {
  if (proof === 'fresh') proofs.set(`${issuer} ${client.client_id}`, { proof: headers.dpop ?? '', at: now() })
}
