/** Whose tokens they are: subject and actor tokens at the naive server. */
import { verifyJwt } from './jwt.ts'
import { now, type Payload, type Permission, type State } from './state.ts'

/** A refusal of the token endpoint. `why` is what a careless server would say. */
export class Refused extends Error {
  readonly code: string
  readonly why: string
  readonly status: number
  /** It is the subject or the actor token that is not accepted. */
  readonly isToken: boolean

  constructor(code: string, why = code, { status = 400, isToken = false } = {}) {
    super(code)
    this.code = code
    this.why = why
    this.status = status
    this.isToken = isToken
  }
}

export const bad = (why: string) => new Refused('invalid_request', why, { isToken: true })

/** How long after its end a token is still taken. */
const leeway = ({ faults }: State): number =>
  faults.has('expiry-ignored') ? 1e9 : faults.has('tolerance') ? 60 : 0

/** The payload of a valid access token of a user. */
export function readAccessToken(state: State, token: string): Payload {
  const { faults, issuer, refreshTokens, revokedIds, users } = state
  const refresh = refreshTokens.get(token)
  if (refresh && faults.has('refresh-token-accepted')) return refresh
  const jwt = verifyJwt(state, token)
  if (!jwt) throw bad('unknown')
  const { header, payload } = jwt
  if (header.typ !== 'at+jwt' && !faults.has('id-token-accepted')) throw bad('not an access token')
  if (payload.iss !== issuer && !faults.has('issuer-ignored')) throw bad('of another issuer')
  if (Number(payload.exp) + leeway(state) <= now()) throw bad('expired')
  if (revokedIds.has(payload.jti) && !faults.has('revocation-ignored')) throw bad('revoked')
  const isClient = payload.sub === payload.client_id
  if (isClient && !faults.has('client-token-accepted')) throw bad('of a client')
  if (!isClient && !users.has(payload.sub) && !faults.has('gone-user-accepted')) throw bad('the user is gone')
  return payload
}

/** The permission behind a subject token of the management API. */
export function readPermission(state: State, token: string, clientId: string): Permission {
  const { faults, issuer, permissions, refreshTokens, users } = state
  if (refreshTokens.has(token) && faults.has('refresh-token-accepted'))
    return { sub: 'alice', issuer, expiresAt: now() + 600 }
  const permission = permissions.get(token)
  if (!permission && faults.has('unknown-is-401'))
    throw new Refused('invalid_token', 'unknown', { status: 401 })
  if (!permission) throw bad('unknown')
  if (permission.issuer !== issuer && !faults.has('issuer-ignored')) throw bad('of another issuer')
  if (permission.expiresAt + leeway(state) <= now()) throw bad('expired')
  if (permission.revoked && !faults.has('revocation-ignored')) throw bad('revoked')
  if (!users.has(permission.sub) && !faults.has('gone-user-accepted')) throw bad('the user is gone')
  const { clientId: only = clientId } = permission
  if (only !== clientId && !faults.has('other-client-accepted')) throw bad('for another client')
  assertUnspent(state, permission)
  return permission
}

export function assertUnspent({ faults, opaque }: State, permission: Permission): void {
  if (!permission.spent || faults.has('reusable')) return
  if (permission.issued !== undefined && !faults.has('replay-unnoticed')) opaque.delete(permission.issued)
  throw bad('used')
}
