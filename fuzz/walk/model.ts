/** What the service must remember, and what it must show of it (docs/protocol.md §2.2, §3.1). */
import type { ClientMetadata } from 'oidc-provider'
import type { ActClaim, ActingParty, Replay, Revocation } from '../../src/subject-tokens/subject-token.ts'
import type { Rules } from '../setting.ts'

interface Use {
  readonly at: number
  readonly clientId: string
  readonly actor?: ActingParty
  readonly resource: string
  readonly scope?: string
  readonly accessToken: {
    readonly format: 'jwt' | 'opaque'
    readonly jti?: string
    readonly expiresAt: number
  }
}

/** A subject token and its record. */
export interface Token {
  readonly issuer: 0 | 1
  readonly id: string
  readonly secret: string
  readonly userId: string
  readonly createdBy: string
  readonly actorId?: string
  readonly clientId?: string
  readonly resource?: string
  readonly scope?: string
  readonly context: Readonly<Record<string, unknown>>
  readonly createdAt: number
  readonly expiresAt: number
  use?: Use
  /** What the exchange returned. */
  accessToken?: string
  /** Its place in the status lists. */
  status?: { readonly idx: number; readonly uri: string }
  revokedAt?: number
  revocation?: Revocation
  replay?: Replay
  /** An opaque access token that was ended. */
  ended?: boolean
}

/** A token by which a person acts: of a login, or of an exchange whose record is `token`. */
export interface ActorToken {
  readonly issuer: 0 | 1
  readonly value: string
  readonly format: 'jwt' | 'opaque'
  readonly sub: string
  readonly client: ClientMetadata
  readonly openid: boolean
  readonly expiresAt: number
  /** The thumbprint of the key that it is bound to. */
  readonly jkt?: string
  readonly token?: Token
}

/** People and a backend of their own, so that lanes can walk at the same time and not disturb each other. */
export interface Lane {
  readonly name: string
  readonly people: readonly string[]
  readonly backend: ClientMetadata
  readonly tokens: Token[]
  readonly actors: ActorToken[]
}

export const isLive = ({ use }: Token, now: number): boolean =>
  use !== undefined && use.accessToken.expiresAt > now

export function stateOf(token: Token, now: number): 'revoked' | 'consumed' | 'expired' | 'active' {
  if (token.revokedAt !== undefined) return 'revoked'
  if (token.use) return 'consumed'
  return token.expiresAt <= now ? 'expired' : 'active'
}

/** The record as the management API shows it. */
export function itemOf(token: Token, now: number): object {
  const { use } = token
  return defined({
    id: token.id,
    userId: token.userId,
    actorId: token.actorId,
    actor: use?.actor,
    context: token.context,
    createdBy: token.createdBy,
    clientId: token.clientId,
    usedBy: use?.clientId,
    resource: use ? use.resource : token.resource,
    scope: use ? use.scope : token.scope,
    createdAt: token.createdAt,
    expiresAt: token.expiresAt,
    consumedAt: use?.at,
    revokedAt: token.revokedAt,
    revocation: token.revocation,
    replay: token.replay,
    accessToken: use?.accessToken,
    state: stateOf(token, now),
  })
}

/** Stops one. Returns whether this marked it: nothing is left to stop of one that was stopped or has ended. */
export function stop(token: Token, now: number, revocation: Revocation): boolean {
  const marked = token.revokedAt === undefined && (stateOf(token, now) === 'active' || isLive(token, now))
  if (marked) Object.assign(token, { revokedAt: now, revocation })
  if (marked || isLive(token, now)) token.ended = true
  return marked
}

/** The use of a spent subject token. Returns what becomes of the access token (docs/events.md, `ended`). */
export function replay(token: Token, rules: Rules, by: ClientMetadata, now: number): string {
  const { use } = token
  if (!use) throw new Error('not spent')
  const marked = (ended: string) => (use.accessToken.format === 'jwt' && !rules.statusList ? 'kept' : ended)
  const lives = isLive(token, now)
  const before = () => (token.revokedAt === undefined ? (lives ? 'kept' : 'expired') : marked('before'))
  if (token.replay || isForgiven(use, rules, by, now)) return before()
  const stopped = token.revokedAt !== undefined
  token.replay = { at: now, clientId: by.client_id }
  if (lives) token.ended = true
  if (!lives || stopped) return before()
  Object.assign(token, { revokedAt: now, revocation: { cause: 'replay' } })
  return marked('now')
}

const isForgiven = (use: Use, { replayLeeway }: Rules, by: ClientMetadata, now: number): boolean =>
  replayLeeway > 0 &&
  by.client_id === use.clientId &&
  by.token_endpoint_auth_method !== 'none' &&
  now - use.at <= replayLeeway

/** Whether introspection shows the access token as active. */
export const isActive = (token: Token, now: number): boolean => isLive(token, now) && !token.ended

/** Whether the status lists show it as stopped. */
export const isShownStopped = (token: Token): boolean =>
  token.use !== undefined && token.revokedAt !== undefined

export const linksOf = (actor: ActClaim | undefined): string[] =>
  actor ? [actor.sub, ...linksOf(actor.act)] : []

/** Account ids only. */
export const identitiesOf = ({ sub, act }: ActClaim): ActClaim =>
  act ? { sub, act: identitiesOf(act) } : { sub }

/** Without the members that are undefined. */
export const defined = <Value extends object>(value: Value): Value =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Value
