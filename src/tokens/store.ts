import { type Seconds, TooLate, within } from '../base/clock.ts'
import { type ReadToken, readToken, type SubjectTokenPurpose, sameHash } from './secret.ts'
import type {
  Acknowledgement,
  NewSubjectToken,
  Replay,
  Revocation,
  SessionLogout,
  SpentSubjectToken,
  StoredSubjectToken,
  SubjectToken,
  SubjectTokenDraft,
  SubjectTokenState,
  SubjectTokenUse,
} from './subject-token.ts'

/** Selects the tokens that match every member that is given. `{}` selects all of the issuer. */
export interface SubjectTokenFilter {
  /** Any of these users: at least one. */
  readonly userId?: readonly [string, ...string[]]
  /** Any of these actors, at least one, as the constraint or anywhere in the chain of actors that used the token. */
  readonly actorId?: readonly [string, ...string[]]
  /** Matches the constraint or the client that used the token. */
  readonly clientId?: string
  /** The machine-to-machine client that requested the token. */
  readonly createdBy?: string
  readonly id?: string
  /** `context.ticketId`, where that is a string of 1 to 255 code points without NUL. */
  readonly ticketId?: string
  /** The state at the time of the call. */
  readonly state?: SubjectTokenState
  /** Whether someone can act as the user right now: `isLive`. */
  readonly live?: boolean
  /** Whether it was used again after the spend. */
  readonly replayed?: boolean
  /** Whether it was spent without an actor. */
  readonly withoutActor?: boolean
  /** Whether what comes of it changes nothing. */
  readonly readOnly?: boolean
  /** It has something to look into that no one has: `isUnacknowledged`. */
  readonly unacknowledged?: true
  /** Created in this second or later, by the time in the id. */
  readonly createdAfter?: Seconds
  /** Created before this second, by the time in the id. */
  readonly createdBefore?: Seconds
}

/** The name by which a kill switch finds tokens: a user, an actor, or the backend that requested them. */
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
 * nor statements, because those hold hashes; events name an error by its `code`, or by its class if it has none, and
 * quote what a `StoreFailure` says to operators.
 *
 * A token is written once, and what becomes of it is added: its use, its stop. Neither is ever changed or taken away.
 *
 * A spend and a stop of one token, in any processes and on any machines, meet in one of two orders. Either the spend is
 * first: `consume` returns `true`, and what the stop returns has the use, so that its caller can end the access
 * token. Or the stop is first: `consume` returns `false`, then and ever after. A stop that has returned without the use
 * has therefore ended the token, and a stop returns what is there after it was written, never what it read before.
 */
export interface SubjectTokenStore {
  /**
   * Adds a token, and gives it a status index: a whole number from 0 on that no other token of the store has, has ever
   * had, or will have. Numbers rise with time and leave few gaps. Rejects when its id exists.
   */
  insert(token: NewSubjectToken): Promise<void>

  /**
   * The token with this id, in any state, and perhaps without `acknowledged`; `undefined` if there is none. The caller
   * compares a token that is presented with its `tokenHash`, so this takes as long for one id as for another.
   */
  find(issuer: string, id: string): Promise<StoredSubjectToken | undefined>

  /**
   * Spends a token that was found, and records its use: `true` for exactly one of any number of concurrent calls, in any
   * number of processes and on any number of machines, and only while the token is unspent, unrevoked and unexpired at
   * `now`. One conditional write decides; it is repeated only when the database reports that it was rolled back.
   *
   * A rejection leaves open whether the token was spent: the client is then told to request a new subject token.
   * That is the safe reading, because a client that repeats a spent one is refused, and reported as a replay. A
   * `StoreFailure` with `tookEffect: false` promises that the token was not spent by this call; the client is then
   * told to try again.
   *
   * A spent token is found by every link of `use.actor`: `sub`, `act.sub`, `act.act.sub` and so on, as soon as it
   * is spent. A store that writes them to a place of their own does so before the conditional write, and must
   * never find a token by what a call that did not win wrote there.
   */
  consume(token: SubjectTokenDraft, now: Seconds, use: SubjectTokenUse): Promise<boolean>

  /**
   * The newest first, at most `limit`, older than the id `cursor`, each with what it says of its acknowledgements. The row
   * of the cursor need not exist any more.
   *
   * `id`, `userId`, `actorId`, `clientId`, `createdBy`, `ticketId`, `live: true`, `replayed: true`, `withoutActor: true`,
   * `state: 'revoked'`, and none of these at all, each alone or with times, cost what their page costs, however many rows
   * there are. Any other filter may read a bounded number of rows, and then return fewer, or none.
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

  /** Counts the tokens that are live at `now`. The counts are their sum. */
  countLive(issuer: string, now: Seconds): AsyncIterable<number>

  /**
   * Stops one token at `now`, unless nothing is left to stop: it was stopped before, or it is unspent and has expired, or
   * its access token has expired. `undefined` if there is none with this id.
   *
   * `unreported` is true until `report` has returned the id, also for a later call: the caller may have died in between, and
   * the event would be lost.
   */
  revoke(issuer: string, id: string, now: Seconds, revocation: Revocation): Promise<Revoked | undefined>

  /**
   * The kill switch: stops all tokens of the user, the actor or the backend (matched as in `list`) that are active, or
   * whose access token has not expired, which is at most a day after the spend. In batches of bounded memory: the next
   * batch is stopped when the caller requests it. Yields what it stopped, and what was stopped before, is unreported, and
   * has an access token that has not expired, so that the next request completes one that died before it ended them.
   */
  revokeWhere(
    issuer: string,
    filter: KillFilter,
    now: Seconds,
    revocation: Revocation,
  ): AsyncIterable<readonly Revoked[]>

  /**
   * Notes that the stops of these tokens have been carried out and are told now. Returns those of them whose stop no
   * other call has returned: of any number of calls, one returns an id.
   */
  report(issuer: string, ids: readonly string[]): Promise<readonly string[]>

  /**
   * Writes the first use after the spend to the record, and stops the token with the cause `replay` where its access token
   * lives at that time and nothing has stopped it. Such a stop counts as reported. Writes nothing if the record has a
   * replay. Returns whether this call stopped the token.
   */
  recordReplay(token: SpentSubjectToken, replay: Replay): Promise<boolean>

  /** Notes that someone has looked into the alarms of a record. Writes nothing where the same alarms are covered. */
  acknowledge(token: SubjectToken, acknowledgement: Acknowledgement): Promise<void>

  /** The token with this status index, in any state, and perhaps without `acknowledged`; `undefined` if there is none. */
  findByStatusIndex(issuer: string, statusIndex: number): Promise<SubjectToken | undefined>

  /** The tokens that were spent, and were stopped at `since` or later. In no order. */
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

  /** The methods that the option `sessions` needs: without them, it cannot be switched on. */
  readonly sessions?: SessionStore

  /** The store's counts since the process began, for metrics. Returns at once. A store may leave it out. */
  measures?(): StoreMeasures
}

/** How a store and its database get on. Counts only rise, except for `waiting`. */
export interface StoreMeasures {
  /** Statements that failed, by what became of them: few and fixed words. Each attempt counts, also if the next one worked. */
  readonly failures: Readonly<Record<string, number>>
  /** How often a connection was waited for, also where one was free. */
  readonly waits: number
  /** All waits together, in seconds, not whole. */
  readonly waited: number
  /** How many wait for a connection now. */
  readonly waiting: number
}

/**
 * A failure of which a store knows more than that it happened. Any other error may be thrown, too.
 *
 * @example
 * throw new StoreFailure('no connection', { tookEffect: false, forOperators: 'the pool is empty: raise its size' })
 */
export class StoreFailure extends Error {
  override readonly name: string = 'StoreFailure'
  /** `false`: nothing was written, for certain. Default: no one knows. */
  readonly tookEffect?: false
  /** Advice to operators: a fixed text, with nothing of the request, that events quote. Default: none. */
  readonly forOperators?: string
  constructor(
    message: string,
    {
      tookEffect,
      forOperators,
      ...options
    }: ErrorOptions & Pick<StoreFailure, 'tookEffect' | 'forOperators'> = {},
  ) {
    super(message, options)
    this.tookEffect = tookEffect
    this.forOperators = forOperators
  }
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
  /** Stopped by anyone but those who acted: not by the causes that `ended` counts. */
  readonly revoked: number
  /** Ended by those who acted: stopped with the cause `self`, `continued` or `signedOut`. */
  readonly ended: number
  /** Used again after the exchange. */
  readonly replayed: number
}

/** A token that was spent and then stopped, as status lists show it. */
export interface StoppedToken {
  readonly statusIndex: number
  /** When its access token expires. */
  readonly expiresAt: Seconds
}

/**
 * The sessions that are open: which have to be ended, who ends one, and what came of it. A session is a use with the format
 * `session`; `consume` opens it, and `accessToken.expiresAt` of that use is its end, wherever a method here asks when an
 * access token expires.
 *
 * A session has a mark: the time of the next attempt to end it, and to tell its application so. `consume` writes it with
 * the use, in the same conditional write: there is no moment at which a session is open and has no mark. At first it is the
 * end of the session. It stays until `settle` takes it away, also when the session has ended, was stopped or was replayed,
 * and after every failure of a process. So no end is forgotten, whatever process dies.
 */
export interface SessionStore {
  /**
   * The sessions whose mark is at or before `now`, and those that were stopped, by any process, and whose mark is
   * still their end: no one has tried to end them. Oldest mark first, at most `limit`. Its cost is that of the sessions that
   * are open, however many records there are. Of several machines, one may show for a moment what another has changed:
   * every process asks again and again, and `claim` decides.
   */
  findDue(issuer: string, now: Seconds, limit: number): Promise<readonly DueSession[]>

  /**
   * Moves the mark of a session from exactly `mark` to `next`, another time, which may be earlier where the session was
   * stopped before its end: the caller ends it, and no one else tries before `next`. One conditional write decides: `true`
   * for one of any number of concurrent calls, in any number of processes and on any number of machines, and `false` where
   * the mark is another, or the session is settled. If it rejects, no one knows whether the mark was moved, and the caller
   * does nothing: the session is due again at `mark` or at `next`.
   */
  claim(issuer: string, id: string, mark: Seconds, next: Seconds): Promise<boolean>

  /**
   * Writes what the application has said, and the mark. Nothing where the session is settled already: what was settled is
   * never open again. `logout` is written once, where it is `pending` so far: the first answer stays, and `unsupported` is
   * never replaced.
   */
  settle(issuer: string, id: string, outcome: SessionOutcome): Promise<void>
}

/** A session that has to be ended: what an attempt needs. */
export interface DueSession {
  readonly id: string
  readonly userId: string
  /** The account that acts. */
  readonly actorId?: string
  /** The application. */
  readonly clientId: string
  /** The token as issued. */
  readonly readOnly?: true
  readonly mark: Seconds
  /** When it ends at the latest. */
  readonly endsAt: Seconds
  /** When it began. */
  readonly usedAt: Seconds
  readonly logout: SessionLogout
  /** Absent unless it was stopped. */
  readonly revokedAt?: Seconds
}

/** The outcome of an attempt to end a session. */
export interface SessionOutcome {
  /** When the application is told again; `null`: everything has been done, and the session is no longer open. */
  readonly mark: Seconds | null
  /** The application's answer. Absent: it has given none that ends the attempts. */
  readonly logout?: 'confirmed' | 'gaveUp'
  /** The time of that: the record's `logoutAt`. */
  readonly at: Seconds
}

/** A token that a call was to stop, as it is afterwards. Its `use` names the access token that is left to end. */
export interface Revoked {
  readonly token: RevokedToken
  /** Whether it was stopped, and no `report` has returned it. */
  readonly unreported: boolean
}

/** The members of a token that ending it and its event need; a kill switch reads many. */
export interface RevokedToken
  extends Pick<SubjectToken, 'id' | 'userId' | 'actorId' | 'clientId' | 'revocation'> {
  readonly use?: Pick<SubjectTokenUse, 'clientId' | 'accessToken' | 'grantId'> & {
    readonly actor?: { readonly sub: string }
  }
}

const METHODS: Readonly<Record<Exclude<keyof SubjectTokenStore, 'ready' | 'measures' | 'sessions'>, true>> = {
  insert: true,
  find: true,
  consume: true,
  list: true,
  summarize: true,
  countLive: true,
  revoke: true,
  revokeWhere: true,
  report: true,
  recordReplay: true,
  acknowledge: true,
  findByStatusIndex: true,
  findStopped: true,
  findStatusLists: true,
}
export const STORE_METHODS: readonly string[] = Object.keys(METHODS)

const OF_SESSIONS: Readonly<Record<keyof SessionStore, true>> = { findDue: true, claim: true, settle: true }
export const SESSION_METHODS: readonly string[] = Object.keys(OF_SESSIONS)

/** Whether `value` has every method that a store must have; what they do, only the contract suite can tell. */
export function isSubjectTokenStore(value: unknown): value is SubjectTokenStore {
  if (!hasMethods(value, STORE_METHODS)) return false
  const sessions: unknown = Reflect.get(value, 'sessions')
  return sessions === undefined || hasMethods(sessions, SESSION_METHODS)
}

const hasMethods = (value: unknown, methods: readonly string[]): value is object =>
  typeof value === 'object' &&
  value !== null &&
  methods.every((method) => typeof Reflect.get(value, method) === 'function')

/** The wait for a database that accepts connections and never replies. */
const PATIENCE: Seconds = 5

/** Resolves when the store can serve, and rejects with the reason when it cannot, or does not say so in time. */
export async function storeReady(store: SubjectTokenStore, issuer: string): Promise<void> {
  try {
    await within<unknown>(PATIENCE, store.ready ? store.ready() : store.find(issuer, '0'.repeat(32)))
  } catch (error) {
    if (!(error instanceof TooLate)) throw error
    const forOperators = `the store did not respond within ${PATIENCE} s`
    throw new StoreFailure(forOperators, { forOperators })
  }
}

/**
 * The record of a token that someone presents, in any state. `malformed`: it has not the form of a token, and nothing was
 * looked up; `unknown`: no record has it.
 */
export async function findPresented(
  store: Pick<SubjectTokenStore, 'find'>,
  issuer: string,
  presented: string,
  purpose: SubjectTokenPurpose,
): Promise<SubjectToken | 'malformed' | 'unknown'> {
  const token = readToken(presented)
  if (token?.purpose !== purpose) return 'malformed'
  return (await findRead(store, issuer, token)) ?? 'unknown'
}

/** The record of a token that was read before. A right id proves nothing, nor does a token for another purpose. */
export async function findRead(
  store: Pick<SubjectTokenStore, 'find'>,
  issuer: string,
  { id, hash, purpose }: ReadToken,
): Promise<SubjectToken | undefined> {
  const found = await store.find(issuer, id)
  return found?.purpose === purpose && sameHash(found.tokenHash, hash) ? found : undefined
}
