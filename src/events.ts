import type { Provider } from 'oidc-provider'
import type { Seconds } from './base/clock.ts'
import type { Check } from './base/errors.ts'
import { frozenCopy, withoutUndefined } from './base/json.ts'
import type { AccessTokenFormat, ActingParty, SessionUse, ShownRevocation } from './tokens/subject-token.ts'

/**
 * The fate of an access token. `now`: this occurrence ended it: an opaque token is inactive, a JWT is invalid in its
 * status list. `before`: an earlier one did. `expired`: nothing was left to end. `failed`: of a replay, storage failed, and
 * the next use of the subject token tries once more. `kept`: it lives on, because it is a JWT that was issued without a
 * `status`, or because of `replayLeeway`.
 */
export type AccessTokenEnd = 'now' | 'before' | 'expired' | 'failed' | 'kept'

/** The request behind an event. */
export interface EventOfRequest {
  /**
   * The request's own id: its `x-request-id`, or else the trace id of its `traceparent`. The sender chooses it.
   * Absent if it says neither, and where there is no request.
   */
  readonly request?: string
}

/** A subject token was issued at the management API. Ids of people are account ids, never pairwise. */
export interface SubjectTokenIssued extends EventOfRequest {
  /** Public id of the record, as in all events. */
  readonly id: string
  /** The user that may be impersonated. */
  readonly userId: string
  /** The backend that requested it. */
  readonly createdBy: string
  /** It opens an application, and cannot be exchanged. */
  readonly use?: 'session'
  /** Constraint: only this client may exchange it, or is opened by it. */
  readonly clientId?: string
  /** Constraint: only this account may act. */
  readonly actorId?: string
  /** Constraint: it can be used for this resource only. */
  readonly resource?: string | readonly string[]
  /** Constraint: no other scopes are granted. */
  readonly scope?: string
  /** The tokens and the session that come of it change nothing. Absent: they may. */
  readonly readOnly?: true
  /** When the subject token expires, in seconds since the epoch. */
  readonly expiresAt: Seconds
}

/**
 * A subject token was exchanged: `clientId` can act as `userId` until `accessToken.expiresAt`. Or it opened an application,
 * which is signed in as `userId` until then: with `kind: 'session'`.
 */
export interface SubjectTokenExchanged extends EventOfRequest {
  /** `session`: a sign-in, and no exchange. */
  readonly kind?: 'session'
  readonly id: string
  readonly userId: string
  /** The backend that requested the subject token. */
  readonly createdBy: string
  /** The client that received the access token. */
  readonly clientId: string
  /** Who acts; absent without an actor token. */
  readonly actor?: ActingParty
  /** The resource of the access token. Absent for a session. */
  readonly resource?: string
  /** The resources that a session was granted, `[]` for none. */
  readonly resources?: readonly string[]
  /** The granted scopes, if any. */
  readonly scope?: string
  /** The access token, or the session, is read-only. */
  readonly readOnly?: true
  /** `jti` of a JWT; the id of an opaque token is its value. The format `session` stands for all tokens of a session. */
  readonly accessToken: {
    readonly format: AccessTokenFormat
    readonly jti?: string
    readonly expiresAt: Seconds
  }
}

/** A request was refused or failed. Members that the request did not get to are absent. */
export interface SubjectTokenRefused extends EventOfRequest {
  /**
   * `issuance`: at the management API. `exchange`: at the token endpoint. `session`: at the door of sessions, or when the
   * application arrived at the authorization endpoint.
   */
  readonly stage: 'issuance' | 'exchange' | 'session'
  /** The `error` that the client read. */
  readonly error: string
  /** The rule that refused, or the `error` where the provider or another function refused. */
  readonly check: Check | (string & {})
  /**
   * Why, for operators only. An error that comes from elsewhere is named by its code or its class, because its message
   * may hold what the caller sent.
   */
  readonly reason: string
  /** The client that sent the request; at issuance the backend, at the door of sessions the one that is to be opened. */
  readonly clientId: string
  readonly id?: string
  readonly userId?: string
  readonly actor?: ActingParty
  /** The resource; at issuance the constraint, as it was sent. */
  readonly resource?: string | readonly string[]
  readonly scope?: string
}

/** A spent subject token was used again: someone has a copy, or a client retried. Worth an alert. */
export interface SubjectTokenReplayed extends EventOfRequest {
  readonly id: string
  readonly userId: string
  /** The client that used it, or its code, again. Absent at the door of sessions. */
  readonly clientId?: string
  /** The account that showed it at the door of sessions. */
  readonly by?: string
  /** The client that exchanged it first, or the application that it opened. */
  readonly usedBy: string
  /** Whether the two clients are the same: a double click or a retry looks different from a thief. Absent with `by`. */
  readonly sameClient?: boolean
  /** When it was exchanged first, in seconds since the epoch. */
  readonly usedAt: Seconds
  /** How long after that it was used again. */
  readonly secondsAfter: Seconds
  /** Who acted in the first exchange. */
  readonly actor?: ActingParty
  /** The resource of the first exchange, or those that the session was granted, if any. */
  readonly resource?: string | readonly string[]
  /** The scopes that the first exchange granted, if any. */
  readonly scope?: string
  /** The id of the JWT that the first exchange issued. */
  readonly jti?: string
  /** The fate of the first exchange's access token. */
  readonly ended: AccessTokenEnd
}

/** A subject token was revoked. A replay that revokes one emits its own event only. */
export interface SubjectTokenRevoked extends EventOfRequest {
  readonly id: string
  readonly userId: string
  /** The account that acted, or else the constraint. */
  readonly actorId?: string
  /** The client that exchanged it, or else the constraint. */
  readonly clientId?: string
  /** The management client that revoked it, if one did. */
  readonly revokedBy?: string
  /** How, by whom and why, as the record shows it. */
  readonly revocation: ShownRevocation
  /** The id of the JWT that it was exchanged for. */
  readonly jti?: string
  /** The fate of its access token. Absent if it was not exchanged. */
  readonly ended?: AccessTokenEnd
}

/** An API exchanged an access token that it received (option `onBehalfOf`): it can call another API as `userId`. */
export interface AccessTokenExchanged extends EventOfRequest {
  /** The id of the record, if it began as an impersonation. */
  readonly id?: string
  readonly userId: string
  /** The backend that requested the subject token, if it began as an impersonation. */
  readonly createdBy?: string
  /** The API that received the new access token: its client. */
  readonly clientId: string
  /** The newest person who acts; absent if none does. */
  readonly actor?: ActingParty
  /** The APIs that passed the user on before, newest first: their client ids. */
  readonly through: readonly string[]
  /** `jti` of the access token that was exchanged, if it is a JWT. */
  readonly parentJti?: string
  readonly resource: string
  /** The granted scopes, if any. */
  readonly scope?: string
  /** The access token, or the session, is read-only. */
  readonly readOnly?: true
  readonly accessToken: {
    readonly format: AccessTokenFormat
    readonly jti?: string
    readonly expiresAt: Seconds
  }
}

/** An exchange of a received access token was refused or failed. Members that the request did not get to are absent. */
export interface AccessTokenRefused extends EventOfRequest {
  readonly stage: 'onBehalfOf'
  /** The `error` that the client read. */
  readonly error: string
  /** The rule that refused, or the `error` where the provider or another function refused. */
  readonly check: Check | (string & {})
  /** Why, for operators only, as in `SubjectTokenRefused`. */
  readonly reason: string
  /** The client that sent the request. */
  readonly clientId: string
  readonly id?: string
  readonly userId?: string
  readonly actor?: ActingParty
  readonly through?: readonly string[]
  readonly parentJti?: string
  readonly resource?: string
  readonly scope?: string
}

/** A session has ended, and what its application says to that is settled. */
export interface SessionEnded {
  /** The id of the record. */
  readonly id: string
  readonly userId: string
  /** The application. */
  readonly clientId: string
  /** It was read-only. */
  readonly readOnly?: true
  /** The session as the record shows it: `logout` is `confirmed`, `gaveUp` or `unsupported`. */
  readonly session: SessionUse & { readonly endsAt: Seconds }
}

/** The application of a session that has ended did not confirm the logout token. */
export interface SessionLogoutFailed {
  /** The id of the record. */
  readonly id: string
  readonly userId: string
  /** The application. */
  readonly clientId: string
  /** It was read-only. */
  readonly readOnly?: true
  /** `HTTP_` and the status that it responded with, or the code of an error. */
  readonly reason: string
  /** When it is told again. Absent if this was the last attempt. */
  readonly retryAt?: Seconds
}

/** A request got a response of 5xx, and no other event tells it; or storage failed as an engineer signed out. */
export interface ImpersonationFailed extends EventOfRequest {
  /**
   * Where the request was: at the management API, at a status list, in the console, at the token endpoint before the exchange
   * began, at a session, or at the health route.
   */
  readonly door: 'management' | 'status-lists' | 'console' | 'exchange' | 'session' | 'health'
  /** The HTTP status of the response. */
  readonly status: number
  /** The failure, or the `error` that the client read. */
  readonly check: Check | (string & {})
  /** Why, for operators only, as in `SubjectTokenRefused`. */
  readonly reason: string
  /** The client that sent the request, once it is known. */
  readonly clientId?: string
}

/** The events and their payloads: `provider.on('subject_token.issued', ({ userId }) => …)`. */
export interface ImpersonationEvents {
  'subject_token.issued': SubjectTokenIssued
  'subject_token.exchanged': SubjectTokenExchanged
  'subject_token.refused': SubjectTokenRefused
  'subject_token.replayed': SubjectTokenReplayed
  'subject_token.revoked': SubjectTokenRevoked
  'access_token.exchanged': AccessTokenExchanged
  'access_token.refused': AccessTokenRefused
  'session.ended': SessionEnded
  'session.logout_failed': SessionLogoutFailed
  'impersonation.failed': ImpersonationFailed
}

/**
 * The names of all events, for listeners that take every one.
 *
 * @example
 * for (const event of EVENTS) provider.on(event, (payload) => log({ event, ...payload }))
 */
export const EVENTS = [
  'subject_token.issued',
  'subject_token.exchanged',
  'subject_token.refused',
  'subject_token.replayed',
  'subject_token.revoked',
  'access_token.exchanged',
  'access_token.refused',
  'session.ended',
  'session.logout_failed',
  'impersonation.failed',
] as const satisfies readonly (keyof ImpersonationEvents)[]

/** Taken from the list, so that an event that is missing there cannot be emitted. */
type EventName = (typeof EVENTS)[number]

declare module 'oidc-provider' {
  interface Provider {
    on<Name extends keyof ImpersonationEvents>(
      event: Name,
      listener: (payload: ImpersonationEvents[Name]) => void | Promise<void>,
    ): this
    once<Name extends keyof ImpersonationEvents>(
      event: Name,
      listener: (payload: ImpersonationEvents[Name]) => void | Promise<void>,
    ): this
  }
}

/**
 * Calls every listener, one by one. A listener cannot change the response: one that throws or rejects is ignored, and
 * none is awaited.
 */
export function emit<Name extends EventName>(
  provider: Provider,
  event: Name,
  payload: ImpersonationEvents[Name],
): void {
  const listeners = provider.rawListeners(event)
  if (listeners.length === 0) return
  const frozen = frozenCopy(withoutUndefined(payload))
  for (const listener of listeners) {
    try {
      Promise.resolve(listener.call(provider, frozen)).catch(() => {})
    } catch {
      // A faulty listener must not fail the request.
    }
  }
}
