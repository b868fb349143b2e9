import { epochTime, type Seconds } from '../base/clock.ts'
import { notFound } from '../base/errors.ts'
import { type JsonObject, withoutUndefined } from '../base/json.ts'
import type { Service } from '../provider/settings.ts'
import { isId } from '../tokens/id.ts'
import {
  type AccessTokenFormat,
  type Acknowledgement,
  type ActingParty,
  isOfSession,
  jtiOf,
  type Replay,
  type SessionUse,
  type ShownRevocation,
  type SubjectToken,
  type SubjectTokenState,
  type SubjectTokenUse,
  shownRevocation,
  stateOf,
} from '../tokens/subject-token.ts'

/**
 * One impersonation, from its subject token to its end (docs/protocol.md §2.2). Ids of people are account
 * ids, and times are seconds since the epoch. It holds no token.
 */
export interface SubjectTokenRecord {
  /** 32 hexadecimal digits, which sort by creation. The `jti` of the JWT that came of it. */
  readonly id: string
  /** The subject token opens an application, and cannot be exchanged. */
  readonly use?: 'session'
  readonly userId: string
  /** The constraint: only this actor. */
  readonly actorId?: string
  /** Who acted, newest first. Once used with an actor token. */
  readonly actor?: ActingParty
  /** The context as it was sent; `{}` for none. */
  readonly context: JsonObject
  /** The backend that issued it, or the name that `issue` was given. */
  readonly createdBy: string
  /** The constraint: only this client. */
  readonly clientId?: string
  /** The client that exchanged it, or the application that it opened. */
  readonly usedBy?: string
  /** The constraint before the use; then the resource of the access token, or those of the session. */
  readonly resource?: string | readonly string[]
  /** The constraint before the use; then what was granted, if anything was. */
  readonly scope?: string
  /** The tokens and the session that come of it change nothing. */
  readonly readOnly?: true
  /** The scope that the subject token allowed, where another one was granted. */
  readonly ceiling?: Pick<SubjectToken, 'resource' | 'scope'>
  readonly createdAt: Seconds
  /** When the subject token expires. */
  readonly expiresAt: Seconds
  /** When it was exchanged, or when the session began. */
  readonly consumedAt?: Seconds
  /** The first stop, and what was said of it. */
  readonly revokedAt?: Seconds
  readonly revocation?: ShownRevocation
  /** The first use after the exchange. */
  readonly replay?: Replay
  /** Who has looked into its alarms, oldest first. */
  readonly acknowledged?: readonly Omit<Acknowledgement, 'coversReplay'>[]
  /** The access token that the exchange produced. */
  readonly accessToken?: {
    readonly format: Exclude<AccessTokenFormat, 'session'>
    /** The id of a JWT; that of an opaque token is its value. */
    readonly jti?: string
    readonly expiresAt: Seconds
  }
  /** The session that a sign-in opened, in place of `accessToken`. */
  readonly session?: SessionUse & {
    /** The latest end; a stop does not change it. */
    readonly endsAt: Seconds
  }
  /** The state when it was read. */
  readonly state: SubjectTokenState
}

/** The whole record with this id, if there is one: with its acknowledgements. */
export async function findToken({ provider, store }: Service, id: string): Promise<SubjectToken | undefined> {
  if (!isId(id)) return undefined
  const { tokens } = await store.list(provider.issuer, { id }, { limit: 1, now: epochTime() })
  return tokens[0]
}

export const recordNotFound = () => notFound({ public: 'subject token not found' })

export async function showSubjectToken(service: Service, id: string): Promise<SubjectTokenRecord> {
  const token = await findToken(service, id)
  if (!token) throw recordNotFound()
  return recordOf(token, epochTime())
}

/** Named members only: what leaves is decided here. Once used, resource and scope are what was granted. */
export function recordOf(token: SubjectToken, now: Seconds): SubjectTokenRecord {
  const { use } = token
  return withoutUndefined({
    id: token.id,
    use: isOfSession(token) ? 'session' : undefined,
    userId: token.userId,
    actorId: token.actorId,
    actor: use?.actor,
    context: token.context,
    createdBy: token.createdBy,
    clientId: token.clientId,
    usedBy: use?.clientId,
    resource: use ? use.resource : token.resource,
    scope: use ? use.scope : token.scope,
    readOnly: token.readOnly,
    ceiling: ceilingOf(token),
    createdAt: token.createdAt,
    expiresAt: token.expiresAt,
    consumedAt: use?.at,
    revokedAt: token.revokedAt,
    revocation: shownRevocation(token),
    replay: token.replay,
    acknowledged: token.acknowledged?.map(({ at, by, note }) => ({ at, by, note })),
    ...(use && producedBy(token, use)),
    state: stateOf(token, now),
  })
}

function producedBy(
  { id }: SubjectToken,
  use: SubjectTokenUse,
): Pick<SubjectTokenRecord, 'accessToken' | 'session'> {
  const { accessToken, session } = use
  const { format, expiresAt } = accessToken
  if (format === 'session') return { session: session && withoutUndefined({ endsAt: expiresAt, ...session }) }
  return { accessToken: withoutUndefined({ format, jti: jtiOf({ id, use }), expiresAt }) }
}

function ceilingOf({ use, resource, scope }: SubjectToken): SubjectTokenRecord['ceiling'] {
  if (!use) return undefined
  const ceiling = {
    ...(resource !== undefined && !areSame([resource].flat(), [use.resource ?? []].flat()) && { resource }),
    ...(scope !== undefined && !areSame(scope.split(' '), use.scope?.split(' ') ?? []) && { scope }),
  }
  return Object.keys(ceiling).length > 0 ? ceiling : undefined
}

/** Whether both have the same names, in any order. */
const areSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((name) => others.includes(name))
