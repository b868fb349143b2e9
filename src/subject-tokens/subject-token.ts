import type { Seconds } from '../clock.ts'
import type { JsonObject } from '../plain-json.ts'
import type { TokenHash } from './secret.ts'

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

/** A JWT lives until its `exp`; an opaque access token can be ended. */
export type AccessTokenFormat = 'jwt' | 'opaque'

/** Permission for one exchange: a client may become `userId` once, until `expiresAt`. */
export interface SubjectToken {
  /** Public handle; not the token, and useless at the token endpoint. */
  readonly id: string
  readonly issuer: string
  /** The account to impersonate: the `accountId` that `findAccount` returned. */
  readonly userId: string
  /** What the backend sent along; `getCustomJwtClaims` receives it unchanged. */
  readonly context: JsonObject
  /** The machine-to-machine client that requested it. */
  readonly createdBy: string
  /** Constraint: only this client may exchange it. */
  readonly clientId?: string
  /** Constraint: an actor token of exactly this account must be sent with it. */
  readonly actorId?: string
  /** Constraint: only this resource may be requested. */
  readonly resource?: string
  /** Constraint: nothing outside these scopes is granted. */
  readonly scope?: string
  /** In seconds since the epoch, like all times here. */
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
}

/** How a subject token was revoked, by whom and why. The first revocation stays. */
export interface Revocation {
  /** Through the management API, in the console, by a replay, or by a command of an operator. */
  readonly cause: 'api' | 'console' | 'replay' | 'command'
  /** The management client; only with the cause `api`. */
  readonly client?: string
  /** In whose name: the caller's word. */
  readonly by?: string
  readonly reason?: string
}

/** A use of a subject token that was spent before. */
export interface Replay {
  readonly at: Seconds
  /** The client that sent it. */
  readonly clientId: string
}

/** What is known of a subject token before it is stored: the store assigns its status index. */
export type SubjectTokenDraft = Omit<
  SubjectToken,
  'statusIndex' | 'use' | 'revokedAt' | 'revocation' | 'replay'
>

/** A subject token as it is stored: with the hash by which the exchange finds it, and never the token itself. */
export interface NewSubjectToken extends SubjectTokenDraft {
  readonly tokenHash: TokenHash
}

/** What the record tells of an access token. */
export interface IssuedAccessToken {
  readonly format: AccessTokenFormat
  /** Of a JWT; the id of an opaque token is its value. */
  readonly jti?: string
  readonly expiresAt: Seconds
}

/** The exchange that spent a subject token: who, as whom, for what. */
export interface SubjectTokenUse {
  readonly at: Seconds
  /** The client that exchanged it. */
  readonly clientId: string
  /** Who acts; absent without an actor token. */
  readonly actor?: ActingParty
  /** The resource of the access token. */
  readonly resource: string
  /** The granted scopes, if any. */
  readonly scope?: string
  readonly accessToken: IssuedAccessToken
  /** The Grant of an opaque access token: destroying it ends the token. */
  readonly grantId?: string
}

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
