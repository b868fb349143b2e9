/** An outage of storage: kept apart from every other error, and never reported as "invalid token". */
import { errors } from 'oidc-provider'
import { checkOf, nameOf, refusal } from './refusals.ts'
import type { SubjectTokenStore } from './subject-tokens/store.ts'

/** Seconds that a client should wait before it tries again: `Retry-After` of a 503. */
export const RETRY_AFTER = 5

/** A failure of storage, as a 503. Its message is not repeated: it may hold what was stored. */
export function storageUnavailable(cause: unknown): Error {
  return refusal(unavailable, {
    check: 'storage',
    public: 'the service is temporarily unavailable',
    private: nameOf(cause),
  })
}

const unavailable = (text: string, options: { readonly detail?: string }) =>
  Object.assign(new errors.TemporarilyUnavailable(text, options), { status: 503, statusCode: 503 })

export const isStorageUnavailable = (error: unknown): boolean =>
  error instanceof Error && checkOf(error) === 'storage'

/** The store, with every failure of it turned into an outage. */
export function reportOutage(store: SubjectTokenStore): SubjectTokenStore {
  const guard = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    try {
      return await call()
    } catch (error) {
      throw storageUnavailable(error)
    }
  }
  return {
    insert: (token) => guard(() => store.insert(token)),
    findByHash: (issuer, hash) => guard(() => store.findByHash(issuer, hash)),
    consume: (issuer, hash, now, use) => guard(() => store.consume(issuer, hash, now, use)),
    get: (issuer, id) => guard(() => store.get(issuer, id)),
    list: (issuer, filter, page) => guard(() => store.list(issuer, filter, page)),
    revoke: (issuer, id, now) => guard(() => store.revoke(issuer, id, now)),
    revokeWhere: (issuer, filter, now) => guard(() => store.revokeWhere(issuer, filter, now)),
  }
}
