import type { Seconds } from '../clock.ts'
import type { TokenHash } from './secret.ts'
import type { NewSubjectToken, SubjectToken, SubjectTokenState, SubjectTokenUse } from './subject-token.ts'

/** At least one of them. */
type Names = readonly [string, ...string[]]

/** A token is listed when it matches every member that is given. */
export interface SubjectTokenFilter {
  /** Any of these users. */
  readonly userId?: Names
  /** Any of these actors, as the constraint or anywhere in the chain of actors that used the token. */
  readonly actorId?: Names
  /** Matches the constraint or the client that used the token. */
  readonly clientId?: string
  /** The machine-to-machine client that asked for the token. */
  readonly createdBy?: string
  readonly state?: SubjectTokenState
}

/** Whose tokens a kill switch ends. */
export type KillFilter =
  | { readonly userId: string }
  | { readonly actorId: string }
  | { readonly createdBy: string }

/**
 * Where subject tokens live. A row is also the audit record of its impersonation, so it outlives the token.
 *
 * Every method rejects when storage cannot answer: not found and broken are never the same. Every method is
 * confined to one issuer. Reads go to the primary: a replica that lags would show a spent token as unspent.
 * Errors carry neither bound values nor statements, because those hold hashes; events name an error by its
 * `code`, or by its class where it has none. An error may tell operators what to do in a string `forOperators`,
 * which events quote instead: a fixed text, with nothing of the request in it.
 */
export interface SubjectTokenStore {
  /** Adds a token. Fails when its id or hash exists. */
  insert(token: NewSubjectToken): Promise<void>

  /** The token with this hash, in whatever state. */
  findByHash(issuer: string, hash: TokenHash): Promise<SubjectToken | undefined>

  /**
   * Spends the token: `true` for exactly one of any number of concurrent calls, on any number of processes and
   * machines, and only while it is unspent, unrevoked and unexpired at `now`. One conditional write decides;
   * it is repeated only when the database reports that it was rolled back.
   *
   * A spent token is found by every link of `use.actor`: `sub`, `act.sub`, `act.act.sub` and so on, as soon as it
   * is spent. A store that writes them to a place of their own does so before the conditional write, and must
   * never find a token by what a call that did not win wrote there.
   */
  consume(issuer: string, hash: TokenHash, now: Seconds, use: SubjectTokenUse): Promise<boolean>

  /** The token with this public id. */
  get(issuer: string, id: string): Promise<SubjectToken | undefined>

  /** Newest first, at most `limit`, older than the id `cursor`; the row behind the cursor need not exist. */
  list(
    issuer: string,
    filter: SubjectTokenFilter,
    page: { readonly limit: number; readonly cursor?: string; readonly now: Seconds },
  ): Promise<readonly SubjectToken[]>

  /** Marks one token as revoked at `now`, unless it is; `undefined` for an id that is unknown. */
  revoke(issuer: string, id: string, now: Seconds): Promise<Revocation | undefined>

  /**
   * The kill switch: marks all tokens of the user, the actor or the backend (as the filter of `list` has it) that
   * are active, or whose access token still lives, which is at most a day after the spend. Returns those, and those marked before whose opaque access token could still live: a request that
   * died before it ended them is made good by the next.
   */
  revokeWhere(issuer: string, filter: KillFilter, now: Seconds): Promise<readonly Revocation[]>

  /**
   * Resolves when the store can serve: it responds, and what it needs (its tables, say) is there. Otherwise it rejects
   * with the reason. For readiness probes; a store without it is asked for a token that does not exist.
   */
  ready?(): Promise<void>
}

/** A revoked token; its `use` tells what is left to end. */
export interface Revocation {
  readonly token: SubjectToken
  /** Whether this call was the one that marked it. */
  readonly marked: boolean
}
