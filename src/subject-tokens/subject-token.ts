import type { Seconds } from '../clock.ts'
import type { JsonObject } from '../plain-json.ts'
import type { TokenHash } from './secret.ts'

/** No subject token lives longer than this, and no access token longer after the spend: a day. */
export const LONGEST_LIFE: Seconds = 86_400

/** Who acts, newest outside (RFC 8693 §4.1). Holds identity members only. */
export interface ActClaim {
  readonly sub: string
  readonly act?: ActClaim
}

/** Permission for one exchange: a client may become `userId` once, until `expiresAt`. */
export interface SubjectToken {
  /** Public handle; not the token, and useless at the token endpoint. */
  readonly id: string
  readonly issuer: string
  /** The account to impersonate, as `findAccount` named it. */
  readonly userId: string
  /** What the integrator sent along; reaches the custom-claims function unchanged. */
  readonly context: JsonObject
  /** The machine-to-machine client that asked for it. */
  readonly createdBy: string
  /** Constraint: only this client may exchange it. */
  readonly clientId?: string
  /** Constraint: an actor token of exactly this account must come with it. */
  readonly actorId?: string
  /** Constraint: only this resource may be asked for. */
  readonly resource?: string
  /** Constraint: nothing outside these scopes is granted. */
  readonly scope?: string
  readonly createdAt: Seconds
  readonly expiresAt: Seconds
  /** Written by the one exchange that spent it. */
  readonly use?: SubjectTokenUse
  readonly revokedAt?: Seconds
}

export interface NewSubjectToken extends SubjectToken {
  readonly tokenHash: TokenHash
}

/** The exchange that spent a subject token: who, as whom, for what. */
export interface SubjectTokenUse {
  readonly at: Seconds
  readonly clientId: string
  /** Account ids, never pairwise; `clientId` is the client the actor token was issued to. */
  readonly actor?: ActClaim & { readonly clientId?: string }
  readonly resource: string
  readonly scope?: string
  readonly accessToken: { readonly format: 'jwt' | 'opaque'; readonly expiresAt: Seconds }
  /** The Grant of an opaque access token: destroying it ends the token. */
  readonly grantId?: string
}

export type SubjectTokenState = 'active' | 'expired' | 'consumed' | 'revoked'

export function stateOf(token: SubjectToken, now: Seconds): SubjectTokenState {
  if (token.revokedAt !== undefined) return 'revoked'
  if (token.use) return 'consumed'
  return token.expiresAt <= now ? 'expired' : 'active'
}
