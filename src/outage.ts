import { storageUnavailable } from './refusals.ts'
import type { SubjectTokenStore } from './subject-tokens/store.ts'

/** A store whose failures are told apart from every other error: an outage, never "invalid token". */
export function reportOutage(store: SubjectTokenStore): SubjectTokenStore {
  const guard = async <Answer>(answer: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await answer()
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
    async *revokeWhere(issuer, filter, now) {
      try {
        yield* store.revokeWhere(issuer, filter, now)
      } catch (error) {
        throw storageUnavailable(error)
      }
    },
  }
}
