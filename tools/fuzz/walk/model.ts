/** What the service must remember, and what it must show of it (docs/protocol.md §2.2, §3.1). */
import type { ClientMetadata } from 'oidc-provider'
import type {
  Acknowledgement,
  ActClaim,
  ActingParty,
  Replay,
  Revocation,
} from '../../../src/tokens/subject-token.ts'
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
  /** It is a JWT that nothing can end. */
  readonly kept?: true
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
  readonly resource?: string | readonly string[]
  readonly scope?: string
  readonly context: Readonly<Record<string, unknown>>
  readonly createdAt: number
  readonly expiresAt: number
  use?: Use
  /** Its place in the status lists. */
  status?: { readonly idx: number; readonly uri: string }
  revokedAt?: number
  revocation?: Revocation
  replay?: Replay
  /** Oldest first. */
  acknowledged?: readonly Acknowledgement[]
  /** An opaque access token that was ended. */
  ended?: boolean
  /** Its record was deleted. */
  purged?: boolean
}

/** An access token of a login, of an exchange, or of an API that passed its user on. */
export interface AccessToken {
  readonly issuer: 0 | 1
  readonly value: string
  readonly format: 'jwt' | 'opaque'
  /** The account of the user. */
  readonly sub: string
  readonly client: ClientMetadata
  readonly audience?: string
  readonly scope?: string
  readonly expiresAt: number
  readonly jti?: string
  /** The thumbprint of the key that it is bound to. */
  readonly jkt?: string
  /** The record of the impersonation as which it began. */
  readonly token?: Token
  /** The APIs that passed its user on, newest first: client ids. */
  readonly through: readonly string[]
  /** The claims of the deployment's function. */
  readonly told: object
  /** Ended at the revocation endpoint of the provider. */
  ended?: boolean
}

/** People and a backend of their own, so that lanes can walk at the same time and not disturb each other. */
export interface Lane {
  readonly name: string
  readonly people: readonly string[]
  readonly backend: ClientMetadata
  readonly tokens: Token[]
  readonly held: AccessToken[]
}

/** Whether it is among the resources that the subject token was limited to. */
export const reaches = ({ resource: allowed }: Pick<Token, 'resource'>, resource: string): boolean =>
  allowed === undefined || [allowed].flat().includes(resource)

const isLive = ({ use }: Token, now: number): boolean => use !== undefined && use.accessToken.expiresAt > now

/** Whether someone can act as the user right now: what nothing can end goes on after a stop. */
export const isViewed = (token: Token, now: number): boolean =>
  isLive(token, now) && (token.revokedAt === undefined || token.use?.kept === true)

export function stateOf(token: Token, now: number): 'revoked' | 'consumed' | 'expired' | 'active' {
  if (token.revokedAt !== undefined) return 'revoked'
  if (token.use) return 'consumed'
  return token.expiresAt <= now ? 'expired' : 'active'
}

export const isWithoutActor = ({ use }: Token): boolean => use !== undefined && !use.actor

/** Whether there is something to look into. */
export const isAlarming = (token: Token): boolean => token.replay !== undefined || isWithoutActor(token)

/** Whether no one has looked into it, or not into the replay that came later. */
export function isUnacknowledged(token: Token): boolean {
  const { acknowledged = [], replay } = token
  const covers = replay ? acknowledged.some(({ coversReplay }) => coversReplay) : acknowledged.length > 0
  return isAlarming(token) && !covers
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
    ceiling: use && ceilingOf(token, use),
    createdAt: token.createdAt,
    expiresAt: token.expiresAt,
    consumedAt: use?.at,
    revokedAt: token.revokedAt,
    revocation: shownRevocation(token),
    replay: token.replay,
    acknowledged: token.acknowledged?.map(({ at, by, note }) => ({ at, by, note })),
    accessToken: use?.accessToken,
    state: stateOf(token, now),
  })
}

/** As it is shown. */
export const shownRevocation = ({ revocation, use }: Token): Revocation | undefined =>
  revocation && { ...revocation, ...(use?.kept && { ended: 'kept' }) }

/** What was allowed, where that is not what was granted. */
function ceilingOf({ resource, scope }: Token, use: Use): object | undefined {
  const ceiling = {
    ...(resource !== undefined && [resource].flat().join() !== use.resource && { resource }),
    ...(scope !== undefined && wordsOf(scope) !== wordsOf(use.scope) && { scope }),
  }
  return Object.keys(ceiling).length > 0 ? ceiling : undefined
}

const wordsOf = (scope = ''): string => scope.split(' ').sort().join(' ')

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
  const marked = (ended: string) => (use.kept ? 'kept' : ended)
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

/** Whether it is good by itself: as introspection would judge it, were it opaque. */
export function isGood({ expiresAt, ended, token, format }: AccessToken, now: number): boolean {
  if (expiresAt <= now || ended) return false
  return token === undefined || (format === 'opaque' ? !token.ended : token.revokedAt === undefined)
}

/** Status lists show what was stopped for so many seconds after its end. */
const SHOWN = 300

/** Whether `purge` deletes the record. */
export function isPurgeable({ expiresAt, use }: Token, retention: number, now: number): boolean {
  const since = now - Math.max(retention, SHOWN)
  return expiresAt <= since && (!use || use.accessToken.expiresAt <= since)
}

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
