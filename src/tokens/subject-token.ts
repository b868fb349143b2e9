import type { Seconds } from '../base/clock.ts'
import { type JsonObject, withoutUndefined } from '../base/json.ts'
import type { SubjectTokenPurpose, TokenHash } from './secret.ts'

/** No subject token lives longer than this, and no access token longer after the spend: a day. */
export const LONGEST_LIFE: Seconds = 86_400

/** Status indexes in one status list. */
export const STATUS_LIST_SIZE = 131_072

/** How long a status list shows a stopped token after its access token expired. */
export const STATUS_SHOWN: Seconds = 300

/** Who acts: the newest actor outermost, earlier ones nested in `act` (RFC 8693 §4.1). Identity members only. */
export interface ActClaim {
  readonly sub: string
  readonly act?: ActClaim
}

/** Who acted in an exchange. Account ids, never pairwise; `clientId` is the client the actor token was issued to. */
export type ActingParty = ActClaim & { readonly clientId?: string }

/**
 * The use of a subject token. A JWT lives until its `exp`; an opaque access token can be ended. `session`: no access
 * token, but a sign-in to an application.
 */
export type AccessTokenFormat = 'jwt' | 'opaque' | 'session'

/**
 * The application's answer to the end of a session. `pending`: it was not asked yet, or has not answered as it must.
 * `confirmed`: it has ended its own session, too. `gaveUp`: it has not confirmed within an hour. `unsupported`: it has no
 * Back-Channel Logout, so that its own session may outlive the end.
 */
export type SessionLogout = 'pending' | 'confirmed' | 'gaveUp' | 'unsupported'

/** Permission for one exchange: a client may become `userId` once, until `expiresAt`. */
export interface SubjectToken {
  /** Public handle; not the token, and useless at the token endpoint. */
  readonly id: string
  readonly issuer: string
  readonly purpose: SubjectTokenPurpose
  /** The account to impersonate: the `accountId` that `findAccount` returned. */
  readonly userId: string
  /** The backend's own data; `getCustomJwtClaims` receives it unchanged. */
  readonly context: JsonObject
  /** The machine-to-machine client that requested it. */
  readonly createdBy: string
  /** Constraint: only this client may exchange it. */
  readonly clientId?: string
  /** Constraint: an actor token of exactly this account must be sent with it. */
  readonly actorId?: string
  /** Constraint: only this resource, or one of these, may be requested. As it was sent. */
  readonly resource?: string | readonly string[]
  /** Constraint: nothing outside these scopes is granted. */
  readonly scope?: string
  /** Constraint: what comes of it changes nothing. Absent: it may. */
  readonly readOnly?: true
  /** Seconds since the epoch, like all times here. */
  readonly createdAt: Seconds
  readonly expiresAt: Seconds
  /** Its place in the status lists: a whole number that no other token of the store has, or ever had. */
  readonly statusIndex: number
  /** Written by the one exchange that spent it. */
  readonly use?: SubjectTokenUse
  /** The first revocation. Absent while there was something to stop and no one stopped it. */
  readonly revokedAt?: Seconds
  /** How, by whom and why it was revoked. */
  readonly revocation?: Revocation
  /** The first use after the spend. */
  readonly replay?: Replay
  /** Who has looked into its alarms, oldest first. Absent if no one has. */
  readonly acknowledged?: readonly Acknowledgement[]
}

/** A subject token that was spent. */
export type SpentSubjectToken = SubjectToken & { readonly use: SubjectTokenUse }

export const isSpent = (token: SubjectToken): token is SpentSubjectToken => token.use !== undefined

/** Whether it opens an application, and cannot be exchanged. */
export const isOfSession = ({ purpose }: Pick<SubjectToken, 'purpose'>): boolean => purpose === 'session'

/** A subject token as it is found by its id: with the hash that a token is compared with. */
export interface StoredSubjectToken extends SubjectToken {
  readonly tokenHash: TokenHash
}

/** How a subject token was revoked, by whom and why. The first revocation stays. */
export interface Revocation {
  readonly cause: RevocationCause
  /** The management client; with the causes `api`, `self` and `continued`. */
  readonly client?: string
  /** The person in whose name it was revoked: the caller's word, which nothing verifies. */
  readonly by?: string
  readonly reason?: string
  /** The id of the record that goes on; with the cause `continued`. */
  readonly continuedBy?: string
}

/**
 * How it was stopped: through the management API, by the engineer who acted (`self`), because another record goes on
 * (`continued`), in the console, by a call in the process (`host`), by a replay, at the end of a session (`signedOut`), or
 * by a command of an operator. `unknown`: what is stored cannot be read.
 */
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

/** Whether it says that those who acted have ended it, and no one has stopped them. */
export const isEnd = ({ cause }: Pick<Revocation, 'cause'>): boolean =>
  cause === 'self' || cause === 'continued' || cause === 'signedOut'

/** A revocation as the record shows it. */
export interface ShownRevocation extends Revocation {
  /** The access token is a JWT without a `status`, which nothing could end. */
  readonly ended?: 'kept'
}

/** Named members only: this decides what is told of a revocation. */
export function shownRevocation({
  revocation,
  use,
}: Pick<SubjectToken, 'revocation'> & { readonly use?: JtiSource }): ShownRevocation | undefined {
  if (!revocation) return undefined
  const { cause, client, by, reason, continuedBy } = revocation
  const ended: ShownRevocation['ended'] = use?.accessToken.kept && 'kept'
  return withoutUndefined({ cause, client, by, reason, continuedBy, ended })
}

/** A use of a subject token that was spent before: by a client, or by an account at the door of sessions. */
export interface Replay {
  readonly at: Seconds
  /** The client that sent it. */
  readonly clientId?: string
  /** The account that showed it. */
  readonly by?: string
}

/** Someone has looked into the alarms that a record had: a replay, an exchange without an actor. */
export interface Acknowledgement {
  readonly at: Seconds
  /** Who, and what they found: the caller's words. */
  readonly by: string
  readonly note: string
  /** Whether the record had its replay by then, so that it is covered too. */
  readonly coversReplay: boolean
}

/** A subject token before it is stored: the store assigns its status index. */
export type SubjectTokenDraft = Omit<
  SubjectToken,
  'statusIndex' | 'use' | 'revokedAt' | 'revocation' | 'replay' | 'acknowledged'
>

/** A subject token as it is stored: with the hash of the token, and never the token itself. */
export interface NewSubjectToken extends SubjectTokenDraft {
  readonly tokenHash: TokenHash
}

/** The record's view of an access token, or of a session. */
export interface IssuedAccessToken {
  readonly format: AccessTokenFormat
  /** The end of a session at the latest; a stop does not change it. */
  readonly expiresAt: Seconds
  /** It is a JWT without a `status`: nothing ends it before it expires. */
  readonly kept?: true
}

/** The fate of a session beyond its end. */
export interface SessionUse {
  readonly logout: SessionLogout
  /** When the application confirmed, or when that was given up. */
  readonly logoutAt?: Seconds
}

/** The exchange that spent a subject token, or the sign-in: who, as whom, for what. */
export interface SubjectTokenUse {
  readonly at: Seconds
  /** The client that exchanged it; of a session: the application. */
  readonly clientId: string
  /** Who acts; absent without an actor token. */
  readonly actor?: ActingParty
  /** The resource of the access token; of a session: those that were granted, absent if none was. */
  readonly resource?: string | readonly string[]
  /** The granted scopes, if any. */
  readonly scope?: string
  readonly accessToken: IssuedAccessToken
  /** Present with the format `session` only. */
  readonly session?: SessionUse
  /** The Grant of an opaque access token, or of a session, and of no other: destroying it ends the token, or the session. */
  readonly grantId?: string
}

/** The `jti` of the JWT that came of it: its id. The id of an opaque token is its value, and no record has that. */
export const jtiOf = ({
  id,
  use,
}: Pick<SubjectToken, 'id'> & { readonly use?: JtiSource }): string | undefined =>
  use?.accessToken.format === 'jwt' ? id : undefined

type JtiSource = Pick<SubjectTokenUse, 'accessToken'>

/** The members that decide whether a record can still be used, and stopped. */
interface Life {
  readonly expiresAt: Seconds
  readonly revokedAt?: Seconds | undefined
  readonly use?:
    | { readonly accessToken: { readonly expiresAt: Seconds; readonly kept?: boolean } }
    | undefined
}

/** Whether an access token that came of it has not expired, stopped or not. */
export const isUnexpired = ({ use }: Pick<Life, 'use'>, now: Seconds): boolean =>
  use !== undefined && use.accessToken.expiresAt > now

/** Whether an access token that came of it can be used: not expired, and not stopped, or nothing could stop it. */
export const isLive = (token: Life, now: Seconds): boolean =>
  isUnexpired(token, now) && (token.revokedAt === undefined || token.use?.accessToken.kept === true)

/** Whether there is something that no one has stopped yet: it can be exchanged, or its access token has not expired. */
export const isStoppable = ({ revokedAt, use, expiresAt }: Life, now: Seconds): boolean =>
  revokedAt === undefined && (use?.accessToken.expiresAt ?? expiresAt) > now

/** Whether it has something to look into: it was used again after the spend, or exchanged without an actor. */
export const isAlarming = ({ use, replay }: SubjectToken): boolean =>
  use !== undefined && (!use.actor || replay !== undefined)

/** Whether it has something to look into that no one has. A replay is covered by what was said after it. */
export const isUnacknowledged = (token: SubjectToken): boolean =>
  isAlarming(token) && !(token.acknowledged ?? []).some(({ coversReplay }) => coversReplay || !token.replay)

/**
 * The state of a record at a time: the first of these that is true. `revoked`, used or not; `consumed`: exchanged;
 * `expired` without having been exchanged; `active`: it can be exchanged.
 */
export type SubjectTokenState = 'active' | 'expired' | 'consumed' | 'revoked'

export function stateOf(token: SubjectToken, now: Seconds): SubjectTokenState {
  if (token.revokedAt !== undefined) return 'revoked'
  if (token.use) return 'consumed'
  return token.expiresAt <= now ? 'expired' : 'active'
}
