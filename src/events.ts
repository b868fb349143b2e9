import type { Provider } from 'oidc-provider'
import type { Seconds } from './clock.ts'
import { frozenCopy, withoutUndefined } from './plain-json.ts'
import type { Check } from './refusals.ts'
import type { AccessTokenFormat, ActingParty } from './subject-tokens/subject-token.ts'

/** A subject token was issued at the management API. */
export interface SubjectTokenIssued {
  readonly id: string
  readonly userId: string
  readonly createdBy: string
  readonly clientId?: string
  readonly actorId?: string
  readonly resource?: string
  readonly scope?: string
  readonly expiresAt: Seconds
}

/** A subject token was exchanged: `clientId` can act as `userId` until `accessToken.expiresAt`. */
export interface SubjectTokenExchanged {
  readonly id: string
  readonly userId: string
  readonly createdBy: string
  readonly clientId: string
  readonly actor?: ActingParty
  readonly resource: string
  readonly scope?: string
  readonly accessToken: { readonly format: AccessTokenFormat; readonly expiresAt: Seconds }
}

/** A request was refused; what was not reached yet is absent. `reason` is for operators only. */
export interface SubjectTokenRefused {
  readonly stage: 'issuance' | 'exchange'
  /** The `error` the client read. */
  readonly error: string
  /** The rule that refused, or the `error` where the provider or another function refused. */
  readonly check: Check | (string & {})
  /** An error that was not made here is named by its code or its class: its message may hold what the caller sent. */
  readonly reason: string
  readonly clientId: string
  readonly id?: string
  readonly userId?: string
  readonly actor?: ActingParty
  readonly resource?: string
  readonly scope?: string
}

/** A spent subject token was used again: someone holds a copy, or a client retried. Worth an alert. */
export interface SubjectTokenReplayed {
  readonly id: string
  readonly userId: string
  /** The client that used it again. */
  readonly clientId: string
  /** The use that spent it. */
  readonly usedBy: string
  readonly usedAt: Seconds
  readonly actor?: ActingParty
  readonly resource: string
  /** Whether the access token of the first use was ended; a JWT cannot be. */
  readonly accessTokenEnded: boolean
}

/** A subject token was revoked at the management API by the client `revokedBy`. */
export interface SubjectTokenRevoked {
  readonly id: string
  readonly userId: string
  readonly revokedBy: string
  readonly actorId?: string
  readonly clientId?: string
  /** Whether an access token it had produced was ended; a JWT lives until its `exp`. */
  readonly accessTokenEnded: boolean
}

/** The events and their payloads: `provider.on('subject_token.issued', ({ userId }) => …)`. */
export interface ImpersonationEvents {
  'subject_token.issued': SubjectTokenIssued
  'subject_token.exchanged': SubjectTokenExchanged
  'subject_token.refused': SubjectTokenRefused
  'subject_token.replayed': SubjectTokenReplayed
  'subject_token.revoked': SubjectTokenRevoked
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
