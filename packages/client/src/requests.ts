import type { RecordState } from './record.ts'
import type { Seconds } from './time.ts'

/** The second argument of every method. */
export interface CallOptions {
  /** Ends the call, which then rejects with the signal's reason. Tokens that other calls wait for are still requested. */
  readonly signal?: AbortSignal
}

/** Who may be impersonated, and within which limits. */
export interface IssueRequest {
  /** The user, by any name that the provider's `findAccount` accepts. */
  readonly userId: string
  /** Data that travels with the token: JSON, at most 8 KiB and 16 levels. */
  readonly context?: Readonly<Record<string, unknown>>
  /** Only this client may exchange the token: a registered one that has the grant. */
  readonly clientId?: string
  /** Only this account may act. Send it always: a kill switch by actor finds unspent tokens by it. */
  readonly actorId?: string
  /** Only this resource, or one of these (1 to 8), may be requested, also by an API that passes the user on. */
  readonly resource?: string | readonly string[]
  /** No scope outside this list is granted. */
  readonly scope?: string
  /** The tokens and the session that come of it are read-only. Default: the provider's option `readOnly`. */
  readonly readOnly?: boolean
  /** Life of the subject token, instead of the provider's default. */
  readonly expiresIn?: Seconds
  /** Its use: an exchange at the token endpoint. The default. For a session, call `issueSession`. */
  readonly use?: 'exchange'
}

/** Who may open which application as whom. */
export interface IssueSessionRequest
  extends Pick<IssueRequest, 'userId' | 'context' | 'scope' | 'readOnly' | 'expiresIn'> {
  /** The engineer, who opens it, and is not the user. */
  readonly actorId: string
  /** The application: a client that the provider's administrator has opened to sessions. */
  readonly clientId: string
}

/** A subject token, which is shown only once. */
export interface IssuedSubjectToken {
  /** Pass it to the actor's application, or, for a session, to the provider's door. Keep it out of logs and addresses. */
  readonly subjectToken: string
  /** How long it can be exchanged, or opened. */
  readonly expiresIn: Seconds
  /** Names the record; neither a secret nor a token. */
  readonly id: string
}

/** Which records to list: those that match all filters. */
export interface ListRequest {
  readonly userId?: string
  /** As the constraint, or anywhere in the chain of actors. */
  readonly actorId?: string
  /** As the constraint, or as the client that exchanged. */
  readonly clientId?: string
  /** The backend that requested the token. */
  readonly createdBy?: string
  /** The `jti` of an access token: that of the record, or one that came of it. */
  readonly jti?: string
  /** `context.ticketId`, exactly. */
  readonly ticketId?: string
  readonly state?: RecordState
  /** Whether someone is being viewed right now: exchanged, access token not expired, and not stopped or not to be ended. */
  readonly live?: boolean
  /** Whether the subject token was used more than once. */
  readonly replayed?: boolean
  /** Whether it was exchanged without an actor token. */
  readonly withoutActor?: boolean
  /** Whether what comes of it is read-only. */
  readonly readOnly?: boolean
  /** It was used more than once, or without an actor token, and no acknowledgement covers it. */
  readonly unacknowledged?: true
  /** From this time on. */
  readonly createdAfter?: Seconds
  /** Before this time. */
  readonly createdBefore?: Seconds
  /** The most records of a page, 1 … 100. Default 50. */
  readonly limit?: number
  /** Only records older than this one: the `nextCursor` of a page. */
  readonly cursor?: string
}

/** Which impersonations to stop, in whose name, and why. Exactly one of `id`, `userId`, `actorId` and `createdBy`. */
export type StopRequest = {
  /** Who decided it, as you name them. It is recorded, and not verified. */
  readonly by?: string
  /** Why, in up to 1,000 characters. */
  readonly reason?: string
} & (
  | ({
      readonly id: string
      readonly userId?: never
      readonly actorId?: never
      readonly createdBy?: never
    } & (
      | {
          /** The engineer has ended it. Your word, as the next. */
          readonly cause?: 'self'
          readonly continuedBy?: never
        }
      | {
          /** It goes on in the record `continuedBy`, of the same user, which is read-only where this one is. */
          readonly cause: 'continued'
          readonly continuedBy: string
        }
    ))
  | ({ readonly id?: never; readonly cause?: never; readonly continuedBy?: never } & (
      | { readonly userId: string; readonly actorId?: never; readonly createdBy?: never }
      | { readonly actorId: string; readonly userId?: never; readonly createdBy?: never }
      | { readonly createdBy: string; readonly userId?: never; readonly actorId?: never }
    ))
)

/** How many were stopped. */
export interface Stopped {
  /** How many had not been stopped before. */
  readonly revoked: number
  /** How many of them nothing could end: JWTs that were issued without a `status`. Absent if there are none. */
  readonly kept?: number
}

/** Who has looked into the alarms of a record, and what they found. */
export interface AcknowledgeRequest {
  /** Who, as you name them. It is recorded, and not verified. */
  readonly by: string
  /** Their findings, in up to 1,000 characters. */
  readonly note: string
  /** `replay.at` of the record that they saw, or `null` if it had no replay: refused if it has another one by now. */
  readonly replayedAt?: Seconds | null
}

/** A token exchange (RFC 8693) by a client that authenticates. */
export interface ExchangeRequest {
  readonly subjectToken: string
  /** The engineer's own access token, with the scope `openid`. Without it the access token does not say who acts. */
  readonly actorToken?: string
  /** The API that the access token is for. May be absent where the provider has a `defaultResource`. */
  readonly resource?: string
  /** Without it, none is granted. */
  readonly scope?: string
}

/** The request by which an API gets a token to call the next API for the same user. */
export interface OnBehalfOfRequest {
  /** The access token that this API received, without `Bearer`. Verify it first. */
  readonly subjectToken: string
  /** The API to call: one that this client is registered for. */
  readonly resource: string
  /** Without it, none is granted. What the received token does not have is not granted, unless the policy says so. */
  readonly scope?: string
}

/** The access token that an exchange resulted in. */
export interface ExchangedToken {
  readonly accessToken: string
  readonly expiresIn: Seconds
  /** The granted scopes. Absent if none was. */
  readonly scope?: string
}
