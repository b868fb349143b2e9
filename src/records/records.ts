/** The operations of the management API, without HTTP: for pages and jobs of the host. */
import type { Provider } from 'oidc-provider'
import { epochTime, type Seconds } from '../base/clock.ts'
import { invalidRequest, recordErrorOf } from '../base/errors.ts'
import { isPlainObject, type JsonObject } from '../base/json.ts'
import { unsentRequest } from '../provider/accounts.ts'
import { isClientId } from '../provider/client-metadata.ts'
import { reportTo } from '../provider/failures.ts'
import { findAccount } from '../provider/lib-grants.ts'
import { orOutage } from '../provider/outage.ts'
import type { Service } from '../provider/settings.ts'
import type { Revocation } from '../tokens/subject-token.ts'
import type { Lookup } from './accounts.ts'
import { acknowledgeSubjectToken, parseAcknowledgementRequest } from './acknowledge.ts'
import { assertKnown, onlyOne, parseName, required } from './fields.ts'
import { issueSubjectToken, parseIssueRequest } from './issue.ts'
import { listSubjectTokens, parseListRequest, type RecordPage, type RecordQuery } from './list.ts'
import { findToken, recordOf, type SubjectTokenRecord } from './record.ts'
import { KILLED_BY, parseStopRequest, revokeAsAsked, type Stopped } from './stop.ts'
import { parseSummaryRequest, type RecordSummary, summarizeSubjectTokens } from './summary.ts'

/** The members of `POST /subject-tokens` (docs/protocol.md §2.1), and who issues. Strings have 1 to 255 characters. */
export interface RecordRequest {
  /** The user, by any name that `findAccount` knows. */
  readonly userId: string
  /** Who issues: a name of your own, and not the id of a registered client. */
  readonly createdBy: string
  /** JSON of at most 8 KiB and 16 levels. Default `{}`. */
  readonly context?: JsonObject
  /** Only this client may exchange it: a registered one that has the grant. Default: any. */
  readonly clientId?: string
  /** The exchange must present an actor token of this account. Default: none needed. */
  readonly actorId?: string
  /** Only this resource may be requested, or one of these 1 to 8: absolute URIs without fragment. Default: any. */
  readonly resource?: string | readonly string[]
  /** No scope outside this list is granted; separated by spaces. Default: no limit. */
  readonly scope?: string
  /** The tokens and the session that come of it change nothing. Default: the option `readOnly`. */
  readonly readOnly?: boolean
  /** Life in seconds, 1 … `maxSubjectTokenTTL`. Default `subjectTokenTTL`. */
  readonly expiresIn?: Seconds
  /**
   * `exchange`, at the token endpoint, or `session`: the token opens the application `clientId` for `actorId`, who is not
   * the user. Then both are required, `resource` is refused, and the option `sessions` must be on. Default `exchange`.
   */
  readonly use?: 'exchange' | 'session'
}

/** A subject token, and the record that it begins. */
export interface IssuedRecord {
  readonly id: string
  /** Known only now: the store has its hash. */
  readonly subjectToken: string
  /** The life of the subject token. */
  readonly expiresIn: Seconds
}

/** A stop: which impersonations, in whose name and why. Nothing verifies your words. */
export interface StopRequest {
  readonly id: string
  /** The person in whose name it is stopped: 1 to 255 characters. */
  readonly by?: string
  /** Why: 1 to 1,000 characters. */
  readonly reason?: string
  /** `self`: the engineer has ended it. `continued`: another record goes on. Default: `host`, a call in the process. */
  readonly cause?: 'self' | 'continued'
  /** The record that goes on, of the same user, and read-only where this one is. With `continued`, and required there. */
  readonly continuedBy?: string
}

/** Names one: a user, an actor or a backend. */
export interface StopAllRequest extends Pick<StopRequest, 'by' | 'reason'> {
  readonly userId?: string
  readonly actorId?: string
  readonly createdBy?: string
}

/** Both texts are your words. `by` has 1 to 255 characters, `note` 1 to 1,000. */
export interface AcknowledgeRequest {
  readonly id: string
  readonly by: string
  readonly note: string
  /** The `replay.at` that they saw, `null` for none; refused if the record has another. Default: whatever it has. */
  readonly replayedAt?: Seconds | null
}

/**
 * The operations of the management API, in process: with its checks, its policy, its events and its answers (docs/protocol.md §2),
 * and without a request, an access token and scopes. Code that calls it may do all of it.
 *
 * Each function rejects with a `RecordError` for what the management API refuses, with a `TypeError` before `attach`, and
 * with the error itself where a function of the deployment fails.
 */
export interface Records {
  /**
   * Issues a subject token.
   *
   * @throws {RecordError} 400 for a wrong member, 403 by the policy, 404 for an unknown user, 503 for storage.
   */
  issue(request: RecordRequest): Promise<IssuedRecord>
  /**
   * One page of the records that match every member of the query, the newest first.
   *
   * @throws {RecordError} 400 for a wrong member, 503 for storage.
   */
  list(query?: RecordQuery): Promise<RecordPage>
  /** The record with this id; `undefined` if there is none. @throws {RecordError} 503 for storage. */
  get(id: string): Promise<SubjectTokenRecord | undefined>
  /**
   * Counts by day of creation. `days`: 1 … 90, default 30.
   *
   * @throws {RecordError} 400 for other days, 503 for storage.
   */
  summary(options?: { readonly days?: number }): Promise<RecordSummary>
  /**
   * Stops one impersonation. It may be repeated: the first stop stays, and another one counts 0.
   *
   * @throws {RecordError} 400 for a wrong member, 404 for an unknown id, 503 for storage.
   */
  stop(request: StopRequest): Promise<Stopped>
  /**
   * The kill switch: stops all impersonations of one user, actor or backend that can be used.
   *
   * @throws {RecordError} 400 for a wrong member, 503 where some could not be stopped: repeat it.
   */
  stopAll(request: StopAllRequest): Promise<Stopped>
  /**
   * Notes that someone has looked into the alarms of a record.
   *
   * @throws {RecordError} 400 for a wrong member, 404 for an unknown id, 409 for a record without alarm or with another
   *   replay, 503 for storage.
   */
  acknowledge(request: AcknowledgeRequest): Promise<void>
}

/** The parts that calls of one origin share: the host's, or the console's. */
interface CallOrigin {
  /** How a stop came about that names no other cause. */
  readonly revocation: Revocation
  lookupOf(provider: Provider): Lookup
}

/** @param service throws before there is one. */
export function recordsOf(service: () => Service, origin: CallOrigin = IN_PROCESS): Records {
  const call = async <Given, Result>(
    given: Given,
    work: (service: Service, given: Given) => Promise<Result>,
  ): Promise<Result> => {
    const inside = service()
    try {
      // `URLSearchParams`, for example, has no own members: a filter made of it would silently be empty.
      if (!isPlainObject(given)) throw invalidRequest({ public: 'the argument must be a plain object' })
      return await work(inside, given)
    } catch (thrown) {
      const error = recordErrorOf(thrown)
      throw error.status === 500 ? thrown : error
    }
  }
  const stop = (inside: Service, given: object) =>
    revokeAsAsked(inside, origin.lookupOf(inside.provider), parseStopRequest({ ...given }), origin.revocation)
  return {
    issue: (all) =>
      call(all, async (inside, { createdBy, ...given }) => {
        const request = parseIssueRequest(given, inside)
        const caller = {
          ...origin.lookupOf(inside.provider),
          id: await parseIssuer(inside.provider, createdBy),
        }
        const { subjectToken, record } = await issueSubjectToken(inside, caller, request)
        return { id: record.id, subjectToken, expiresIn: request.expiresIn }
      }),
    list: (query = {}) =>
      call(query, async (inside, given) =>
        listSubjectTokens(inside, origin.lookupOf(inside.provider), parseListRequest(given)),
      ),
    get: (id) =>
      call({ id }, async (inside) => {
        const token = await findToken(inside, id)
        return token && recordOf(token, epochTime())
      }),
    summary: (options = {}) =>
      call(options, async (inside, given) => summarizeSubjectTokens(inside, parseSummaryRequest(given))),
    stop: (request) =>
      call(request, async (inside, given) => {
        assertKnown(given, ['id', 'by', 'reason', 'cause', 'continuedBy'])
        parseId(given.id)
        return stop(inside, given)
      }),
    stopAll: (request) =>
      call(request, async (inside, given) => {
        assertKnown(given, [...KILLED_BY, 'by', 'reason'])
        onlyOne(given, KILLED_BY)
        return stop(inside, given)
      }),
    acknowledge: (all) =>
      call(all, async (inside, { id, ...given }) => {
        const request = parseAcknowledgementRequest(given)
        return acknowledgeSubjectToken(inside, parseId(id), request)
      }),
  }
}

function parseId(id: unknown): string {
  if (id === undefined) throw required('id')
  return parseName('id', id)
}

/** A name that could be taken for a client's would hide who has issued. */
async function parseIssuer(provider: Provider, createdBy: unknown): Promise<string> {
  const field = 'createdBy'
  if (createdBy === undefined) throw required(field)
  const name = parseName(field, createdBy)
  if (await orOutage(isClientId(provider, name)))
    throw invalidRequest({ field, public: 'createdBy must not be the id of a client' })
  return name
}

/** Looks accounts up outside any request. */
export function lookupIn(provider: Provider): Lookup {
  const ctx = unsentRequest(provider)
  return {
    findAccount: (name) => findAccount(ctx, name),
    report: (error) => reportTo(provider, error, ctx),
  }
}

const IN_PROCESS: CallOrigin = { revocation: { cause: 'host' }, lookupOf: lookupIn }
