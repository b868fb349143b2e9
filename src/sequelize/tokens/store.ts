import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../base/clock.ts'
import { isPlainObject, refuseUnknown } from '../../base/json.ts'
import { isId } from '../../tokens/id.ts'
import type { SubjectTokenStore } from '../../tokens/store.ts'
import { logOf } from '../database/pool.ts'
import { withoutEffect } from '../database/storage-error.ts'
import { databaseOf, readTimeout } from '../drivers.ts'
import { assertSound } from '../schema/sound.ts'
import { acknowledge } from './acknowledgements.ts'
import { countLive, summarize } from './counts.ts'
import { consume, find, insert } from './hot.ts'
import { killInBatches } from './kill.ts'
import { list } from './list.ts'
import { placesOf, RECORDS } from './place.ts'
import { RECORD, readToken } from './rows.ts'
import { sessionsAt } from './sessions.ts'
import { findStatusLists, findStopped } from './status-lists.ts'
import { recordReplay, report, revoke } from './stop.ts'

/** Options of `createSubjectTokenStore`. */
export interface SubjectTokenStoreOptions {
  /**
   * How long a call waits for a connection, and then for the database, before it rejects; the connection is closed then,
   * and no one knows whether the statement took effect. Whole seconds from 1 to 30, default 10.
   */
  readonly timeout?: Seconds
}

const FIND_BY_NUMBER = `SELECT ${RECORD} FROM ${RECORDS} WHERE t.number = $1 AND t.issuer = $2`

/**
 * Subject tokens in the tables `subject_token…`, which `migrate` makes. One statement each for insert, find and consume;
 * one more to consume with a chain of several actors, and for the first use of an issuer.
 *
 * @throws {TypeError} for a dialect other than `sqlite`, `postgres` and `mysql`, and for an unknown or wrong option.
 * @example
 * const impersonation = createImpersonation({ store: createSubjectTokenStore(sequelize) })
 */
export function createSubjectTokenStore(
  sequelize: Sequelize,
  options: SubjectTokenStoreOptions = {},
): SubjectTokenStore {
  const database = databaseOf(sequelize, timeoutOf(options))
  const unreadable = tellOnce((id) => logOf(sequelize).log(`the record ${id} cannot be read as a whole`))
  const at = placesOf(database, unreadable)

  const store: SubjectTokenStore = {
    insert: async (token) => insert(await at(token.issuer), token),

    find: async (issuer, id) => (isId(id) ? find(await at(issuer), id) : undefined),

    consume: async (token, now, use) => consume(await withoutEffect(at(token.issuer)), token, now, use),

    list: async (issuer, filter, page) => list(await at(issuer), filter, page),

    async *summarize(issuer, from, until) {
      yield* summarize(await at(issuer), from, until)
    },

    async *countLive(issuer, now) {
      yield* countLive(await at(issuer), now)
    },

    revoke: async (issuer, id, now, revocation) =>
      isId(id) ? revoke(await at(issuer), id, { now, revocation }) : undefined,

    async *revokeWhere(issuer, filter, now, revocation) {
      yield* killInBatches(await at(issuer), filter, { now, revocation })
    },

    report: async (issuer, ids) => report(await at(issuer), ids),

    recordReplay: async (token, replay) => recordReplay(await at(token.issuer), token, replay),

    acknowledge: async (token, acknowledgement) =>
      acknowledge(await at(token.issuer), token, acknowledgement),

    async findByStatusIndex(issuer, statusIndex) {
      const place = await at(issuer)
      const row = await database.findRow({ sql: FIND_BY_NUMBER }, [statusIndex, place.number])
      return row && readToken(place, row, true)
    },

    findStopped: async (issuer, since) => findStopped(await at(issuer), since),

    findStatusLists: (size, since) => findStatusLists(database, size, since),

    ready: () => assertSound(sequelize, database),
    measures: () => database.tally,
    sessions: sessionsAt(at),
  }
  sequelizes.set(store, sequelize)
  return store
}

const sequelizes = new WeakMap<SubjectTokenStore, Sequelize>()

/** The inside of a store; `undefined` for one that `createSubjectTokenStore` did not return. */
export const sequelizeOf = (store: SubjectTokenStore): Sequelize | undefined => sequelizes.get(store)

/** More records than anyone would read of. */
const MOST_TOLD = 1000

function tellOnce(tell: (id: string) => void): (id: string) => void {
  const told = new Set<string>()
  return (id) => {
    if (told.has(id) || told.size === MOST_TOLD) return
    told.add(id)
    tell(id)
  }
}

function timeoutOf(options: SubjectTokenStoreOptions): Seconds {
  if (!isPlainObject(options)) throw new TypeError('createSubjectTokenStore takes an options object')
  const { timeout, ...others } = options
  refuseUnknown(Object.keys(others))
  return readTimeout(timeout)
}
