import type { Seconds } from '../clock.ts'
import type { TokenHash } from './secret.ts'
import type { NewSubjectToken, SubjectToken, SubjectTokenState, SubjectTokenUse } from './subject-token.ts'

/** At least one of them. */
type Names = readonly [string, ...string[]]

/** Selects the tokens that match every member that is given. `{}` selects all of the issuer. */
export interface SubjectTokenFilter {
  /** Any of these users. */
  readonly userId?: Names
  /** Any of these actors, as the constraint or anywhere in the chain of actors that used the token. */
  readonly actorId?: Names
  /** Matches the constraint or the client that used the token. */
  readonly clientId?: string
  /** The machine-to-machine client that requested the token. */
  readonly createdBy?: string
  /** The state at the time of the call. */
  readonly state?: SubjectTokenState
}

/** Whose tokens a kill switch revokes: of a user, of an actor, or of the backend that requested them. */
export type KillFilter =
  | { readonly userId: string }
  | { readonly actorId: string }
  | { readonly createdBy: string }

/**
 * Where subject tokens are kept. What is stored about a token is also the record of its impersonation, so it outlives
 * the token. `createSubjectTokenStore` of `oidc-provider-impersonation/sequelize` is one.
 *
 * Every method rejects when storage fails: not found and broken are never the same. Every method sees one issuer only.
 * Reads go to the primary: a replica that lags would show a spent token as unspent. Errors contain neither bound values
 * nor statements, because those hold hashes; events name an error by its `code`, or by its class if it has none.
 */
export interface SubjectTokenStore {
  /** Adds a token. Rejects when its id or its hash exists. */
  insert(token: NewSubjectToken): Promise<void>

  /** The token with this hash, in any state; `undefined` if there is none. */
  findByHash(issuer: string, hash: TokenHash): Promise<SubjectToken | undefined>

  /**
   * Spends the token and records its use: `true` for exactly one of any number of concurrent calls, in any number of
   * processes and on any number of machines, and only while the token is unspent, unrevoked and unexpired at `now`.
   * One conditional write decides; it is repeated only when the database reports that it was rolled back.
   *
   * A rejection leaves open whether the token was spent: the client is then told to request a new subject token.
   * That is the safe reading, because a client that repeats a spent one is refused, and reported as a replay. An
   * error with the member `tookEffect: false` promises that the token was not spent by this call; the client is
   * then told to try again.
   *
   * A spent token is found by every link of `use.actor`: `sub`, `act.sub`, `act.act.sub` and so on, as soon as it
   * is spent. A store that writes them to a place of their own does so before the conditional write, and must
   * never find a token by what a call that did not win wrote there.
   */
  consume(issuer: string, hash: TokenHash, now: Seconds, use: SubjectTokenUse): Promise<boolean>

  /** The token with this public id, in any state; `undefined` if there is none. */
  get(issuer: string, id: string): Promise<SubjectToken | undefined>

  /** The newest first, at most `limit`, older than the id `cursor`. The row of the cursor need not exist any more. */
  list(
    issuer: string,
    filter: SubjectTokenFilter,
    page: { readonly limit: number; readonly cursor?: string; readonly now: Seconds },
  ): Promise<readonly SubjectToken[]>

  /** Marks one token as revoked at `now`, unless it is revoked already; `undefined` if there is none with this id. */
  revoke(issuer: string, id: string, now: Seconds): Promise<Revocation | undefined>

  /**
   * The kill switch: marks all tokens of the user, the actor or the backend (matched as in `list`) that are active, or
   * whose access token still lives, which is at most a day after the spend. Returns those, and those marked earlier
   * whose opaque access token could still live, so that the next request completes one that died before it ended them.
   */
  revokeWhere(issuer: string, filter: KillFilter, now: Seconds): Promise<readonly Revocation[]>
}

/** A token that is revoked. Its `use` names the access token that is left to end. */
export interface Revocation {
  readonly token: SubjectToken
  /** Whether this call marked it; `false` if an earlier one did. */
  readonly marked: boolean
}

const METHODS: Readonly<Record<keyof SubjectTokenStore, true>> = {
  insert: true,
  findByHash: true,
  consume: true,
  get: true,
  list: true,
  revoke: true,
  revokeWhere: true,
}
export const STORE_METHODS: readonly string[] = Object.keys(METHODS)

/** Whether `value` has every method of a store; what they do, only the contract suite can tell. */
export function isSubjectTokenStore(value: unknown): value is SubjectTokenStore {
  if (typeof value !== 'object' || value === null) return false
  return STORE_METHODS.every((method) => typeof Reflect.get(value, method) === 'function')
}
