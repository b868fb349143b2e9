/** The state of one request of a session. */
import type { Provider } from 'oidc-provider'
import type { Seconds } from '../base/clock.ts'
import type { SubjectToken } from '../tokens/subject-token.ts'
import { type Grant, recordIdOf, requestIn, type Session, seeFound } from './provider.ts'

/** Whom a request of a session is about. Account ids, never pairwise. Frozen. */
export interface SessionImpersonation {
  /** The id of the record. */
  readonly id: string
  /** The user as whom the application is signed in. */
  readonly userId: string
  /** The engineer who acts. */
  readonly actor: { readonly sub: string }
  readonly clientId: string
  /** The session is read-only. */
  readonly readOnly?: true
}

/** A session as a request knows it. */
export interface SessionFacts {
  readonly record: SubjectToken
  readonly actorId: string
  readonly clientId: string
  /** When the session will end. */
  readonly endsAt: Seconds
}

/** An authorization request that will be answered for the user. */
export interface Arrival extends SessionFacts {
  readonly grant: Grant
  readonly session: Session
  readonly scope: string
  readonly resources: readonly string[]
}

/** As much of an arrival as there is, for the event about a refusal. */
export type Attempt = Pick<Arrival, 'actorId' | 'clientId'> &
  Partial<Pick<Arrival, 'record' | 'scope' | 'resources'>>

/** The models that `ttl` of the configuration is about in a session. */
export type Kind = 'AccessToken' | 'AuthorizationCode' | 'IdToken'

/** The functions that have run for the tokens of a request. */
type Stage = Kind | 'claims' | 'jwt'

interface RequestState {
  /** An authorization request that is answered for the user, or was refused. */
  attempt?: Attempt | undefined
  /** The outcome of the attempt, once all of it was accepted. */
  arrival?: Arrival
  facts?: SessionFacts
  shown?: SessionImpersonation
  /** Whether an event has told of its refusal. */
  isTold?: boolean
  readonly stages: Set<Stage>
  /** Each record, and each headless session, is read once for a request. */
  readonly records: Map<string, Promise<SubjectToken | undefined>>
  readonly sessions: Map<string, Session>
}

/**
 * The state of this room, by the `ctx` of a request. The door, the arrival and the functions that decide about tokens write and
 * read it; it is dropped with the request.
 */
const states = new WeakMap<object, RequestState>()

export function requestState(ctx: object): RequestState {
  const state = states.get(ctx) ?? { stages: new Set(), records: new Map(), sessions: new Map() }
  states.set(ctx, state)
  return state
}

/**
 * Whom a request of oidc-provider is about, if it belongs to a session of the option `sessions`: the authorization request
 * of the application from its acceptance on, the redemption of its code, and userinfo. For listeners and prompts of your own
 * that must not take the engineer for the user, such as a mail about a new sign-in.
 *
 * @example
 * provider.on('authorization.success', (ctx) => {
 *   if (!impersonationOf(ctx)) mailAboutSignIn(ctx.oidc.account.accountId)
 * })
 */
export const impersonationOf = (ctx: object): SessionImpersonation | undefined => states.get(ctx)?.shown

/** From now on, this request is one of the session. */
export function remember(ctx: object, facts: SessionFacts): void {
  const { record, actorId, clientId } = facts
  const { id, userId, readOnly } = record
  const actor = Object.freeze({ sub: actorId })
  const shown = Object.freeze({ id, userId, actor, clientId, ...(readOnly && { readOnly }) })
  Object.assign(requestState(ctx), { facts, shown })
}

/** From now on, what the provider reads of a headless session is kept for the request, so that it is read once. */
export const rememberSessions = (provider: Provider): void =>
  seeFound<Session>(provider.Session, 'findByUid', (session) => {
    const request = requestIn(provider)
    if (request && recordIdOf(session.uid) !== undefined)
      requestState(request).sessions.set(session.uid, session)
    return session
  })
