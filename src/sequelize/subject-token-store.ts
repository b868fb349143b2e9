import type { Sequelize } from 'sequelize'
import type { Seconds } from '../clock.ts'
import { isPlainObject } from '../plain-json.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import type { SubjectToken } from '../subject-tokens/subject-token.ts'
import { withoutBatches } from './database/database.ts'
import { withoutEffect } from './database/storage-error.ts'
import type { Bound, Intent, Text } from './database/text.ts'
import { textOf } from './database/text-of.ts'
import { readTimeout } from './database/time-limit.ts'
import { text } from './database/values.ts'
import { databaseOf } from './database-of.ts'
import { assertSchema } from './schema/assert-schema.ts'
import { writeFurtherActors } from './subject-token-actors.ts'
import { killInBatches } from './subject-token-kill.ts'
import { listStatements, type Statement } from './subject-token-list.ts'
import { recordReplay } from './subject-token-replay.ts'
import { mark, mayReport } from './subject-token-revoke.ts'
import { COLUMNS, fromRow, ISSUED_COLUMNS, toRow, toUseColumns, USE_COLUMNS } from './subject-token-rows.ts'
import { findStatusLists, findStopped } from './subject-token-status.ts'
import { countLive, summarize } from './subject-token-summary.ts'

const table = 'subject_tokens'

const INSERT: Intent = { to: 'insert', table, columns: ISSUED_COLUMNS }

const FIND_BY_HASH: Intent = {
  to: 'find',
  table,
  columns: COLUMNS,
  key: 'token_hash',
  equal: ['issuer'],
  index: 'token_hash',
}

/** The compare-and-set that makes a token single-use: of any number of these, one touches a row. */
const CONSUME: Intent = {
  to: 'compare and set',
  table,
  set: [...USE_COLUMNS, 'used_chain'],
  mark: 'used_chain',
  key: 'token_hash',
  compared: ['issuer =', 'expires_at >'],
  absent: ['consumed_at', 'revoked_at'],
}

const GET: Text = { sql: `SELECT ${COLUMNS} FROM subject_tokens WHERE id = $1 AND issuer = $2` }

const FIND_BY_STATUS_INDEX: Text = {
  sql: `SELECT ${COLUMNS} FROM subject_tokens WHERE status_index = $1 AND issuer = $2`,
}

interface StoreOptions {
  readonly batch?: boolean
  readonly timeout?: Seconds
}

/**
 * Subject tokens in the tables `subject_tokens` and `subject_token_actors`, which `migrate` makes. One statement
 * each for insert, find and consume; one more to consume with a chain of several actors.
 *
 * @param options.batch whether statements issued in the same turn of the event loop share a round trip and a
 * commit, where the database allows it (all but SQLite through another module than `nodeSqlite`). `true` or `false`, default
 * `true`. It applies to this store only, not to others on the same Sequelize.
 * @param options.timeout how long a call waits for a connection, and then for the database, before it rejects; the
 * connection is closed then, and no one knows whether the statement took effect. Whole seconds from 1 to 30, default 10.
 * @throws {TypeError} for a dialect other than `sqlite`, `postgres` and `mysql`, and for an unknown or wrong option.
 * @example
 * const impersonation = createImpersonation({ store: createSubjectTokenStore(sequelize) })
 */
export function createSubjectTokenStore(sequelize: Sequelize, options: StoreOptions = {}): SubjectTokenStore {
  const { batch, timeout } = readOptions(options)
  const shared = databaseOf(sequelize, timeout)
  const database = batch ? shared : withoutBatches(shared)
  const { dialect } = database
  const name = dialect.bindName
  const insert = textOf(dialect, INSERT)
  const findByHash = textOf(dialect, FIND_BY_HASH)
  const consume = textOf(dialect, CONSUME)
  const one = async (text: Text, bind: Bound[]): Promise<SubjectToken | undefined> => {
    const row = await database.findRow(text, bind)
    return row && fromRow(row)
  }

  const findAll = ({ sql, bind }: Statement) => database.find(sql, bind)

  const store: SubjectTokenStore = {
    async insert(token) {
      await database.writeRow(insert, toRow(dialect, token), token.id)
    },

    findByHash: (issuer, hash) => one(findByHash, [hash, name(issuer)]),

    async consume(issuer, hash, now, use) {
      const before = writeFurtherActors(database, { issuer: name(issuer), hash, now, use })
      const chain = await withoutEffect(before)
      if (chain === undefined) return false
      const bind = [hash, name(issuer), now, ...toUseColumns(dialect, use), chain]
      return database.writeRow(consume, bind, hash)
    },

    get: (issuer, id) => one(GET, [id, name(issuer)]),

    async list(issuer, filter, page) {
      const { end, rows } = listStatements({ dialect, issuer, filter, page })
      const [last] = end ? await findAll(end) : []
      const stoppedAt = last && text(last.found)
      const found = (await findAll(rows(stoppedAt))).map(fromRow)
      const tokens = found.slice(0, page.limit)
      const next = found.length > page.limit ? tokens.at(-1)?.id : stoppedAt
      return { tokens, ...(next !== undefined && { next }) }
    },

    summarize: (issuer, from, until) => summarize(database, { issuer: name(issuer), from, until }),

    countLive: (issuer, now) => countLive(database, name(issuer), now),

    async revoke(issuer, id, now, revocation) {
      const one = { issuer: name(issuer), id }
      await mark(database, { ...one, now, revocation })
      const token = await store.get(issuer, id)
      return token && { token, marked: await mayReport(database, one) }
    },

    revokeWhere: (issuer, filter, now, revocation) =>
      killInBatches(database, { issuer, filter, now, revocation }),

    recordReplay: (issuer, id, replay) => recordReplay(database, { issuer: name(issuer), id, replay }),

    findByStatusIndex: (issuer, index) => one(FIND_BY_STATUS_INDEX, [index, name(issuer)]),

    findStopped: (issuer, since) => findStopped(database, name(issuer), since),

    findStatusLists: (size, since) => findStatusLists(database, size, since),

    ready: () => assertSchema(database),
  }
  return store
}

function readOptions(options: StoreOptions): Required<StoreOptions> {
  if (!isPlainObject(options)) throw new TypeError('createSubjectTokenStore takes an options object')
  const { batch = true, timeout, ...others } = options
  for (const name of Object.keys(others)) throw new TypeError(`unknown option: ${name}`)
  if (typeof batch !== 'boolean') throw new TypeError('option batch must be a boolean')
  return { batch, timeout: readTimeout(timeout) }
}
