/** An outage of storage: kept apart from every other error, and never reported as "invalid token". */
import { errors } from 'oidc-provider'
import { nameOf, refusal } from '../base/errors.ts'
import { type SessionStore, StoreFailure, type SubjectTokenStore } from '../tokens/store.ts'

const unavailable = (text: string, options: { readonly detail?: string }) =>
  Object.assign(new errors.TemporarilyUnavailable(text, options), { status: 503, statusCode: 503 })

/** A failure of storage, as a 503. Its message is not repeated: it may hold what was stored. */
export function storageUnavailable(cause: unknown): Error {
  return refusal(unavailable, {
    check: 'storage',
    public: 'the service is temporarily unavailable',
    private: (cause instanceof StoreFailure ? cause.forOperators : undefined) ?? nameOf(cause),
  })
}

/** What asks the storage of the provider: a failure is an outage. */
export const orOutage = <Result>(asked: Promise<Result>): Promise<Result> =>
  asked.catch((error: unknown) => {
    throw storageUnavailable(error)
  })

const unrepeatable = new WeakSet<Error>()

/** No one knows whether the subject token was spent: a repetition could be taken for a replay. */
function spendUnknown(cause: unknown): Error {
  const error = refusal(unavailable, {
    check: 'storage',
    public: 'request a new subject token',
    private: `the outcome of the spend is unknown: ${nameOf(cause)}`,
  })
  unrepeatable.add(error)
  return error
}

/** Whether the client may send the same request again. */
export const isRepeatable = (error: Error): boolean => !unrepeatable.has(error)

const spendFailed = (error: unknown): Error =>
  error instanceof StoreFailure && error.tookEffect === false
    ? storageUnavailable(error)
    : spendUnknown(error)

/** The store, with every failure of it turned into an outage. */
export function reportOutage(store: SubjectTokenStore): SubjectTokenStore {
  const guard = async <Result>(call: () => Promise<Result>, outage = storageUnavailable): Promise<Result> => {
    try {
      return await call()
    } catch (error) {
      throw outage(error)
    }
  }
  async function* guardEach<Result>(call: () => AsyncIterable<Result>): AsyncGenerator<Result> {
    try {
      yield* call()
    } catch (error) {
      throw storageUnavailable(error)
    }
  }
  const guardSessions = (sessions: SessionStore): SessionStore => ({
    findDue: (issuer, now, limit) => guard(() => sessions.findDue(issuer, now, limit)),
    claim: (issuer, id, mark, next) => guard(() => sessions.claim(issuer, id, mark, next)),
    settle: (issuer, id, outcome) => guard(() => sessions.settle(issuer, id, outcome)),
  })
  return {
    insert: (token) => guard(() => store.insert(token)),
    find: (issuer, id) => guard(() => store.find(issuer, id)),
    consume: (token, now, use) => guard(() => store.consume(token, now, use), spendFailed),
    list: (issuer, filter, page) => guard(() => store.list(issuer, filter, page)),
    revoke: (issuer, id, now, revocation) => guard(() => store.revoke(issuer, id, now, revocation)),
    report: (issuer, ids) => guard(() => store.report(issuer, ids)),
    recordReplay: (token, replay) => guard(() => store.recordReplay(token, replay)),
    acknowledge: (token, acknowledgement) => guard(() => store.acknowledge(token, acknowledgement)),
    findByStatusIndex: (issuer, index) => guard(() => store.findByStatusIndex(issuer, index)),
    findStopped: (issuer, since) => guard(() => store.findStopped(issuer, since)),
    findStatusLists: (size, since) => guard(() => store.findStatusLists(size, since)),
    summarize: (issuer, from, until) => guardEach(() => store.summarize(issuer, from, until)),
    countLive: (issuer, now) => guardEach(() => store.countLive(issuer, now)),
    revokeWhere: (issuer, filter, now, revocation) =>
      guardEach(() => store.revokeWhere(issuer, filter, now, revocation)),
    ...(store.sessions && { sessions: guardSessions(store.sessions) }),
  }
}
