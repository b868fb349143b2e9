import type { Seconds } from '../clock.ts'
import type { TokenHash } from './secret.ts'
import type {
  NewSubjectToken,
  Replay,
  Revocation,
  SubjectToken,
  SubjectTokenState,
  SubjectTokenUse,
} from './subject-token.ts'

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
  /** Whether someone can act as the user right now: spent, not revoked, and its access token has not expired. */
  readonly live?: boolean
  /** Whether it was used again after the spend. */
  readonly replayed?: boolean
  /** Whether it was spent without an actor. */
  readonly withoutActor?: boolean
  /** Created in this second or later, by the time in the id. */
  readonly createdAfter?: Seconds
  /** Created before this second, by the time in the id. */
  readonly createdBefore?: Seconds
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
 * nor statements, because those hold hashes; events name an error by its `code`, or by its class if it has none. If an
 * error has a string `forOperators`, which says what operators should do, events quote that instead: a fixed text that
 * contains nothing of the request.
 */
export interface SubjectTokenStore {
  /**
   * Adds a token, and gives it a status index: a whole number from 0 on that no other token of the store has, has ever
   * had, or will have. Numbers rise with time and leave few gaps. Rejects when its id or its hash exists.
   */
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

  /**
   * The newest first, at most `limit`, older than the id `cursor`. The row of the cursor need not exist any more.
   *
   * `userId`, `actorId`, `clientId`, `createdBy`, `replayed: true` and `withoutActor: true`, and none of these at all,
   * each alone or with times, cost what their page costs, however many rows there are; `live: true` costs what is live.
   * Any other filter may read a bounded number of rows, and then return fewer, or none.
   */
  list(
    issuer: string,
    filter: SubjectTokenFilter,
    page: { readonly limit: number; readonly cursor?: string; readonly now: Seconds },
  ): Promise<SubjectTokenPage>

  /**
   * Counts the tokens that were created at `from` or later and before `until`, by the time in their ids. Slice by slice:
   * each reads a bounded number of rows, and the next is counted when the caller requests it. The counts are their sum.
   */
  summarize(issuer: string, from: Seconds, until: Seconds): AsyncIterable<SubjectTokenCounts>

  /** Counts the tokens that are live at `now`, in the same way. Costs what is live. */
  countLive(issuer: string, now: Seconds): AsyncIterable<number>

  /**
   * Marks one token as revoked at `now`, unless nothing is left to stop: it is revoked already, or expired unspent, or
   * its access token has expired. `undefined` if there is none with this id.
   *
   * One of the calls returns `marked: true`, however many there are: the one that marked the token, or a later one if
   * that one rejected, or never returned, after the mark. The event would be lost otherwise.
   */
  revoke(issuer: string, id: string, now: Seconds, revocation: Revocation): Promise<Revoked | undefined>

  /**
   * The kill switch: marks all tokens of the user, the actor or the backend (matched as in `list`) that are active, or
   * whose access token still lives, which is at most a day after the spend. In batches of bounded memory: the next
   * batch is marked when the caller requests it. Yields what it marked, and what was marked earlier and whose opaque
   * access token could still live, so that the next request completes one that died before it ended them.
   */
  revokeWhere(
    issuer: string,
    filter: KillFilter,
    now: Seconds,
    revocation: Revocation,
  ): AsyncIterable<readonly Revoked[]>

  /**
   * Writes the first use after the spend to the record, and marks the token as revoked with the cause `replay` where
   * its access token lives and nothing has stopped it. Writes nothing if the record has a replay. Returns whether this
   * call marked the token as revoked.
   */
  recordReplay(issuer: string, id: string, replay: Replay): Promise<boolean>

  /** The token with this status index, in any state; `undefined` if there is none. */
  findByStatusIndex(issuer: string, statusIndex: number): Promise<SubjectToken | undefined>

  /** The tokens that were spent, and were marked as revoked at `since` or later. In no order. */
  findStopped(issuer: string, since: Seconds): Promise<readonly StoppedToken[]>

  /**
   * Which lists have tokens, if `size` status indexes make a list: the numbers of the lists in ascending order, from that
   * of the oldest token that was created at `since` or later to that of the highest index there is. Tokens of every
   * issuer count. `[]` without any.
   */
  findStatusLists(size: number, since: Seconds): Promise<readonly number[]>

  /**
   * Resolves when the store can serve: it responds, and what it needs (its tables, say) is there. Otherwise it rejects
   * with the reason. For readiness probes; a store without it is asked for a token that does not exist.
   */
  ready?(): Promise<void>
}

/** One page of a list. */
export interface SubjectTokenPage {
  readonly tokens: readonly SubjectToken[]
  /** The id of the last row that was read, whether it is returned or not. Absent if there are no more. */
  readonly next?: string
}

/** How many tokens there are, and what became of them. */
export interface SubjectTokenCounts {
  readonly issued: number
  readonly exchanged: number
  /** Exchanged without an actor. */
  readonly withoutActor: number
  readonly revoked: number
  /** Used again after the exchange. */
  readonly replayed: number
}

/** A token that was spent and then stopped, as status lists show it. */
export interface StoppedToken {
  readonly statusIndex: number
  /** When its access token expires. */
  readonly expiresAt: Seconds
}

/** A token that a call was to revoke. Its `use` names the access token that is left to end. */
export interface Revoked {
  readonly token: RevokedToken
  /** Whether this call marked it, or completes one that did and failed; `false` if it was marked before. */
  readonly marked: boolean
}

/**
 * The members of a token that ending it and its event need; a kill switch reads many. `revocation` may be left out where
 * it is that of the call.
 */
export interface RevokedToken
  extends Pick<SubjectToken, 'id' | 'userId' | 'actorId' | 'clientId' | 'revocation'> {
  readonly use?: Pick<SubjectTokenUse, 'clientId' | 'accessToken' | 'grantId'> & {
    readonly actor?: { readonly sub: string }
  }
}

const METHODS: Readonly<Record<Exclude<keyof SubjectTokenStore, 'ready'>, true>> = {
  insert: true,
  findByHash: true,
  consume: true,
  get: true,
  list: true,
  summarize: true,
  countLive: true,
  revoke: true,
  revokeWhere: true,
  recordReplay: true,
  findByStatusIndex: true,
  findStopped: true,
  findStatusLists: true,
}
export const STORE_METHODS: readonly string[] = Object.keys(METHODS)

/** Whether `value` has every method that a store must have; what they do, only the contract suite can tell. */
export function isSubjectTokenStore(value: unknown): value is SubjectTokenStore {
  if (typeof value !== 'object' || value === null) return false
  return STORE_METHODS.every((method) => typeof Reflect.get(value, method) === 'function')
}
