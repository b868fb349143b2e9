/** The members that a JWT and an introspection response share, and that an API needs. */
import { Refused } from './errors.ts'
import { isText } from './json.ts'
import { instant, type Seconds } from './time.ts'

/** Everything a token says: the payload of a JWT, or the members of an introspection response. */
export type Claims = Readonly<Record<string, unknown>>

/** The claims that name a caller, in the types that RFC 7519 and RFC 9068 give them. */
export interface CoreClaims {
  readonly sub: string
  readonly clientId: string
  readonly exp: Seconds
  readonly scopes: readonly string[]
}

/** A token that has just been issued is not refused because the provider's clock is ahead by so much. */
const AHEAD: Seconds = 60

export function readCoreClaims(claims: Claims, clockTolerance: Seconds): CoreClaims {
  const { sub, client_id, exp, iat, scope = '' } = claims
  const latest = instant() + Math.max(AHEAD, clockTolerance)
  if (!isText(sub)) throw new Refused('sub is malformed')
  if (!isText(client_id)) throw new Refused('client_id is malformed')
  if (!isTime(exp)) throw new Refused('exp is malformed')
  if (!isTime(iat) || iat > latest) throw new Refused('iat is malformed or in the future')
  if (typeof scope !== 'string') throw new Refused('scope is malformed')
  return { sub, clientId: client_id, exp, scopes: scope.split(' ').filter((name) => name !== '') }
}

/** Any value but `false` counts as `true` (docs/protocol.md §11, R4). */
export const saysReadOnly = ({ read_only }: Claims): boolean => read_only !== undefined && read_only !== false

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
