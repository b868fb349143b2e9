import type { Seconds } from './time.ts'

/** `revoked` over `consumed` over `expired` over `active`, when it was read. */
export type RecordState = 'active' | 'consumed' | 'expired' | 'revoked'

/** How it was stopped: `self` by the engineer, `continued` because another record goes on, in the word of the backend. */
export type RevocationCause =
  | 'api'
  | 'self'
  | 'continued'
  | 'console'
  | 'host'
  | 'replay'
  | 'signedOut'
  | 'command'
  | 'unknown'

/** Someone has looked into the alarms of a record, and says what they found. */
export interface RecordedAcknowledgement {
  readonly at: Seconds
  readonly by: string
  readonly note: string
}

/** One actor and, in `act`, who acted through that actor (RFC 8693 §4.1). Account ids. */
export interface RecordedActor {
  readonly sub: string
  readonly act?: RecordedActor
}

/** The record of one impersonation: who requested it, within which limits and, once used, who became whom. */
export interface SubjectTokenRecord {
  /** Public handle. Ids sort by creation. */
  readonly id: string
  /** It opens an application. Absent: it is for an exchange. */
  readonly use?: 'session'
  /** The account that is impersonated. */
  readonly userId: string
  /** The constraint: the only account that may act. */
  readonly actorId?: string
  /** Who acted, newest outermost, and, of an exchange, the client that the actor token was issued to. */
  readonly actor?: RecordedActor & { readonly clientId?: string }
  /** As it was sent when the token was issued. */
  readonly context: Readonly<Record<string, unknown>>
  /** The client that requested it. */
  readonly createdBy: string
  /** The constraint: the only client that may exchange it. */
  readonly clientId?: string
  /** The client that exchanged it, or the application that it opened. */
  readonly usedBy?: string
  /** Before its use the constraint, as it was sent; afterwards the resource of the access token, or those of the session. */
  readonly resource?: string | readonly string[]
  /** Before its use the constraint, afterwards the granted scopes. */
  readonly scope?: string
  /** The tokens and the session that come of it are read-only. */
  readonly readOnly?: true
  /** Once used: the constraints, each where it is not just what was granted. */
  readonly ceiling?: { readonly resource?: string | readonly string[]; readonly scope?: string }
  readonly createdAt: Seconds
  /** When the subject token can no longer be exchanged, or opened. */
  readonly expiresAt: Seconds
  /** When it was exchanged, or when the session began. */
  readonly consumedAt?: Seconds
  /** When it was first revoked. */
  readonly revokedAt?: Seconds
  /** How it was revoked, through which client, in whose name, and why. */
  readonly revocation?: {
    readonly cause: RevocationCause
    readonly client?: string
    readonly by?: string
    readonly reason?: string
    /** The record that goes on. */
    readonly continuedBy?: string
    /** Nothing could end the access token: it lives until it expires. */
    readonly ended?: 'kept'
  }
  /** The first use after the exchange: by a client, or, of a session, by an account. */
  readonly replay?: { readonly at: Seconds; readonly clientId?: string; readonly by?: string }
  /** Who has looked into its alarms, oldest first. A replay that comes later is not covered. */
  readonly acknowledged?: readonly RecordedAcknowledgement[]
  /** The access token it was exchanged for. `jti` of JWTs only: the id of this record. */
  readonly accessToken?: {
    readonly format: 'jwt' | 'opaque'
    readonly jti?: string
    readonly expiresAt: Seconds
  }
  /** The session it opened, in place of `accessToken`. */
  readonly session?: {
    /** At the latest; a stop does not change it. */
    readonly endsAt: Seconds
    /**
     * The application's answer to the end: none yet, that it has ended its own session too, or none within an hour.
     * `unsupported`: it cannot be told.
     */
    readonly logout: 'pending' | 'confirmed' | 'gaveUp' | 'unsupported'
    /** When it confirmed, or when that was given up. */
    readonly logoutAt?: Seconds
  }
  readonly state: RecordState
}

/** One page of records, newest first. There is more while it has a `nextCursor`, even if it is short or empty. */
export interface SubjectTokenRecordPage {
  readonly items: readonly SubjectTokenRecord[]
  readonly nextCursor?: string
}
