import { randomBytes } from 'node:crypto'
import type { Sequelize } from 'sequelize'
import { isPlainObject } from '../plain-json.ts'
import type { SubjectTokenFilter, SubjectTokenStore } from '../subject-tokens/store.ts'
import type { SubjectToken, SubjectTokenState } from '../subject-tokens/subject-token.ts'
import { databaseOf, withoutBatches } from './database/database.ts'
import type { Bound, Dialect } from './database/driver.ts'
import { COLUMNS, fromRow, toRow, toUseColumns } from './subject-token-rows.ts'

const INSERT = `INSERT INTO subject_tokens
  (id, token_hash, issuer, user_id, context, created_by, client_id, actor_id, resource, scope, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

const FIND_BY_HASH = `SELECT ${COLUMNS} FROM subject_tokens WHERE token_hash = $1 AND issuer = $2`

/** The compare-and-set that makes a token single-use: of any number of these, one touches a row. */
const CONSUME = `UPDATE subject_tokens
  SET consumed_at = $1, consumed_by = $2, used_actor = $3, used_actor_id = $4, used_resource = $5, used_scope = $6,
    access_token_format = $7, access_token_expires_at = $8, grant_id = $9
  WHERE token_hash = $10 AND issuer = $11 AND consumed_at IS NULL AND revoked_at IS NULL AND expires_at > $12`

const GET = `SELECT ${COLUMNS} FROM subject_tokens WHERE id = $1 AND issuer = $2`

const REVOKE = `UPDATE subject_tokens SET revoked_at = $1 WHERE id = $2 AND issuer = $3 AND revoked_at IS NULL`

const REVOCABLE = '((consumed_at IS NULL AND expires_at > $5) OR access_token_expires_at > $5)'

/** Marks the rows with a name of this one call, so that it can tell them from rows others mark at the same time. */
function revokeWhere(dialect: Dialect, whose: string): string {
  return dialect.updateInOrder({
    table: 'subject_tokens',
    key: 'id',
    set: { revoked_at: '$1', revocation: '$2' },
    from: 'subject_tokens t',
    where: `revoked_at IS NULL AND issuer = $3 AND ${whose} AND ${REVOCABLE}`,
    order: 'token_hash',
  })
}
const revokedNowOrAlive = (whose: string) => `SELECT ${COLUMNS}, revocation FROM subject_tokens
  WHERE issuer = $3 AND ${whose} AND revoked_at IS NOT NULL
    AND (revocation = $2 OR (grant_id IS NOT NULL AND access_token_expires_at > $1))`

const ofUser = 'user_id = $4'
const ofActor = '(actor_id = $4 OR used_actor_id = $4)'

const STATES: Readonly<Record<SubjectTokenState, (now: () => string) => string>> = {
  revoked: () => 'revoked_at IS NOT NULL',
  consumed: () => 'revoked_at IS NULL AND consumed_at IS NOT NULL',
  expired: (now) => `revoked_at IS NULL AND consumed_at IS NULL AND expires_at <= ${now()}`,
  active: (now) => `revoked_at IS NULL AND consumed_at IS NULL AND expires_at > ${now()}`,
}

interface StoreOptions {
  readonly batch?: boolean
}

/**
 * Subject tokens in the table `subject_tokens`, which `migrate` makes. One statement each for insert, find and
 * consume.
 *
 * @param options.batch whether statements that requests come to in the same turn of the event loop share a round
 * trip and a commit, where that can be done (on PostgreSQL and with `nodeSqlite`). `true` or `false`, default
 * `true`. It concerns this store only, whatever others are made of the same Sequelize.
 * @throws {TypeError} for a dialect other than `sqlite`, `postgres` and `mysql`, and for an unknown or wrong option.
 */
export function createSubjectTokenStore(sequelize: Sequelize, options: StoreOptions = {}): SubjectTokenStore {
  const shared = databaseOf(sequelize)
  const database = mayBatch(options) ? shared : withoutBatches(shared)
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

    consume: (issuer, hash, now, use) =>
      database.writeRow(CONSUME, [...toUseColumns(dialect, use), hash, name(issuer), now], hash),

    get: (issuer, id) => one(GET, [id, name(issuer)]),

    async list(issuer, filter, page) {
      const { sql, bind } = listStatement(filter, page, name(issuer), name)
      return (await database.find(sql, bind)).slice(0, page.limit).map(fromRow)
    },

    async revoke(issuer, id, now) {
      // Not in a group: those that spend take their rows in another order.
      const marked = (await database.write(REVOKE, [now, id, name(issuer)])) === 1
      const token = await store.get(issuer, id)
      return token && { token, marked }
    },

    async revokeWhere(issuer, filter, now) {
      const [whose, id] = 'userId' in filter ? [ofUser, filter.userId] : [ofActor, filter.actorId]
      const revocation = randomBytes(16).toString('hex')
      const bind = [now, revocation, name(issuer), name(id)]
      await database.writeAll(revokeWhere(dialect, whose), [...bind, now])
      const rows = await database.find(revokedNowOrAlive(whose), bind)
      return rows.map((row) => ({ token: fromRow(row), marked: row.revocation === revocation }))
    },
  }
  return store
}

function mayBatch(options: StoreOptions): boolean {
  if (!isPlainObject(options)) throw new TypeError('createSubjectTokenStore takes an options object')
  const { batch = true, ...others } = options
  for (const name of Object.keys(others)) throw new TypeError(`unknown option: ${name}`)
  if (typeof batch !== 'boolean') throw new TypeError('option batch must be a boolean')
  return batch
}

/** Two sizes, and so few texts; the rest of a page is cut off after reading. 101 tells whether there are more than 100. */
const PAGES = [51, 101]

/** One text for each combination of filters, so that the server's prepared statements stay few. */
function listStatement(
  filter: SubjectTokenFilter,
  { limit, cursor, now }: Parameters<SubjectTokenStore['list']>[2],
  issuer: Bound,
  name: (value: string) => Bound,
): { sql: string; bind: Bound[] } {
  const bind: Bound[] = []
  const bound = (value: Bound) => `$${bind.push(value)}`
  const where = [`issuer = ${bound(issuer)}`]
  if (filter.userId !== undefined) where.push(`user_id = ${bound(name(filter.userId))}`)
  if (filter.actorId !== undefined) {
    const actor = bound(name(filter.actorId))
    where.push(`(actor_id = ${actor} OR used_actor_id = ${actor})`)
  }
  if (filter.clientId !== undefined) {
    const client = bound(name(filter.clientId))
    where.push(`(client_id = ${client} OR consumed_by = ${client})`)
  }
  if (filter.state !== undefined) where.push(STATES[filter.state](() => bound(now)))
  if (cursor !== undefined) where.push(`id < ${bound(cursor)}`)
  const size = PAGES.find((page) => page >= limit) ?? Number(limit)
  // A bound LIMIT reaches MySQL as a floating-point number, which it refuses.
  const sql = `SELECT ${COLUMNS} FROM subject_tokens WHERE ${where.join(' AND ')} ORDER BY id DESC LIMIT ${size}`
  return { sql, bind }
}
