import { randomBytes } from 'node:crypto'
import type { Sequelize } from 'sequelize'
import type { Seconds } from '../clock.ts'
import { isPlainObject } from '../plain-json.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import type { SubjectToken } from '../subject-tokens/subject-token.ts'
import { databaseOf, withoutBatches } from './database/database.ts'
import type { Bound } from './database/driver.ts'
import { withoutEffect } from './database/storage-error.ts'
import { readTimeout } from './database/time-limit.ts'
import { writeFurtherActors } from './subject-token-actors.ts'
import { killStatements, listStatement } from './subject-token-filters.ts'
import { COLUMNS, fromRow, toRow, toUseColumns } from './subject-token-rows.ts'

const INSERT = `INSERT INTO subject_tokens
  (id, token_hash, issuer, user_id, context, created_by, client_id, actor_id, resource, scope, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

const FIND_BY_HASH = `SELECT ${COLUMNS} FROM subject_tokens WHERE token_hash = $1 AND issuer = $2`

/** The compare-and-set that makes a token single-use: of any number of these, one touches a row. */
const CONSUME = `UPDATE subject_tokens
  SET consumed_at = $1, consumed_by = $2, used_actor = $3, used_actor_id = $4, used_resource = $5, used_scope = $6,
    access_token_format = $7, access_token_expires_at = $8, grant_id = $9, used_chain = $10
  WHERE token_hash = $11 AND issuer = $12 AND consumed_at IS NULL AND revoked_at IS NULL AND expires_at > $13`

const GET = `SELECT ${COLUMNS} FROM subject_tokens WHERE id = $1 AND issuer = $2`

const REVOKE = `UPDATE subject_tokens SET revoked_at = $1 WHERE id = $2 AND issuer = $3 AND revoked_at IS NULL`

interface StoreOptions {
  readonly batch?: boolean
  readonly timeout?: Seconds
}

/**
 * Subject tokens in the tables `subject_tokens` and `subject_token_actors`, which `migrate` makes. One statement
 * each for insert, find and consume; one more to consume with a chain of several actors.
 *
 * @param options.batch whether statements issued in the same turn of the event loop share a round trip and a
 * commit, where the database allows it (PostgreSQL, and SQLite through `nodeSqlite`). `true` or `false`, default
 * `true`. It applies to this store only, not to others on the same Sequelize.
 * @param options.timeout how long a call waits for a connection, and then for the database, before it rejects; the
 * connection is closed then, and no one knows whether the statement took effect. Whole seconds from 1 to 300, default 10.
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
  const one = async (sql: string, bind: Bound[]): Promise<SubjectToken | undefined> => {
    const row = await database.findRow(sql, bind)
    return row && fromRow(row)
  }

  const store: SubjectTokenStore = {
    async insert(token) {
      await database.writeRow(INSERT, toRow(dialect, token), token.id)
    },

    findByHash: (issuer, hash) => one(FIND_BY_HASH, [hash, name(issuer)]),

    async consume(issuer, hash, now, use) {
      const before = writeFurtherActors(database, { issuer: name(issuer), hash, now, use })
      const chain = await withoutEffect(before)
      if (chain === undefined) return false
      const bind = [...toUseColumns(dialect, use), chain, hash, name(issuer), now]
      return database.writeRow(CONSUME, bind, hash)
    },

    get: (issuer, id) => one(GET, [id, name(issuer)]),

    async list(issuer, filter, page) {
      const { sql, bind } = listStatement({ issuer: name(issuer), filter, page, name })
      return (await database.find(sql, bind)).slice(0, page.limit).map(fromRow)
    },

    async revoke(issuer, id, now) {
      // Not in a group: those that spend take their rows in another order.
      const marked = (await database.write(REVOKE, [now, id, name(issuer)])) === 1
      const token = await store.get(issuer, id)
      return token && { token, marked }
    },

    async revokeWhere(issuer, filter, now) {
      const revocation = randomBytes(16).toString('hex')
      const kill = { issuer: name(issuer), filter, now, revocation, name }
      const { mark, find, bind } = killStatements(dialect, kill)
      for (const sql of mark) await database.writeAll(sql, bind)
      const rows = await database.find(find, bind)
      return rows.map((row) => ({ token: fromRow(row), marked: row.revocation === revocation }))
    },
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
