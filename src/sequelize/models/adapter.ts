import { createHash } from 'node:crypto'
import { type Adapter, type AdapterFactory, type AdapterPayload, errors } from 'oidc-provider'
import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../../base/clock.ts'
import { refuseUnknown } from '../../base/json.ts'
import type { Database } from '../database/database.ts'
import type { Upsert } from '../database/dialect.ts'
import { textOf } from '../database/standard.ts'
import { type Bound, optionalText, type Row, type Text, text } from '../database/text.ts'
import { databaseOf, readTimeout } from '../drivers.ts'
import { columnsOf, GRACE, MODELS } from '../tables.ts'

/**
 * Models whose id is a credential, and that nothing looks up by anything else: their ids are stored as SHA-256,
 * so that a reader of the database cannot use them.
 */
const BEARERS: ReadonlySet<string> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'BackchannelAuthenticationRequest',
  'ClientCredentials',
  'InitialAccessToken',
  'Interaction',
  'PreAuthorizedCode',
  'PushedAuthorizationRequest',
  'RefreshToken',
  'RegistrationAccessToken',
])

/** Models that end with their grant. */
const GRANTABLE: ReadonlySet<string> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'BackchannelAuthenticationRequest',
  'DeviceCode',
  'PreAuthorizedCode',
  'RefreshToken',
])

const REPLAY_DETECTION = 'ReplayDetection'

const WHERE_ID = 'namespace = $1 AND model = $2 AND id = $3'
/** Here and below, bare columns would invite a planner without statistics to read all sessions for one. */
const OF_MODEL = "COALESCE(namespace, '') = $1 AND COALESCE(model, '') = $2"
const ALIVE = `COALESCE(expires_at, ${Number.MAX_SAFE_INTEGER}) > $4`
const COLUMNS = 'id, payload, consumed_at'

const FIND = `SELECT ${COLUMNS} FROM oidc_models WHERE ${WHERE_ID} AND ${ALIVE}`
const findBy = (column: string) => `SELECT ${COLUMNS} FROM oidc_models
  WHERE ${column} = $3 AND ${OF_MODEL} AND ${ALIVE} ORDER BY written_at DESC LIMIT 1`
const FIND_BY_UID = findBy('uid')
const FIND_BY_USER_CODE = findBy('user_code')
const CONSUME = `UPDATE oidc_models SET consumed_at = $4 WHERE ${WHERE_ID} AND consumed_at IS NULL`
/** `written_at` differs from what it was, so that MySQL counts the row whether it counts found or changed ones. */
const REPLACE_EXPIRED = `UPDATE oidc_models SET payload = $4, written_at = $5, expires_at = $6
  WHERE ${WHERE_ID} AND expires_at <= $7`
const GRANT_OF = `SELECT grant_id FROM oidc_models WHERE ${WHERE_ID}`
const DESTROY = `DELETE FROM oidc_models WHERE ${WHERE_ID}`
const REVOKE_GRANT = "DELETE FROM oidc_models WHERE grant_id = $2 AND COALESCE(namespace, '') = $1"

/** The row of an identifier that may be used once. */
const RECORD = {
  to: 'claim',
  table: 'oidc_models',
  columns: ['namespace', 'model', 'id', 'payload', 'written_at', 'expires_at'],
} as const

const ROW: Upsert = {
  table: MODELS.name,
  columns: columnsOf(MODELS),
  key: MODELS.key,
  // A consumed model stays consumed: a late save of it must not revive it.
  kept: ['consumed_at'],
}

/**
 * oidc-provider's `adapter` over the table `oidc_models`, for all its models.
 *
 * A code, refresh token or device code that is used twice at the same time wins once: `consume` is a
 * compare-and-set, and its loser gets `invalid_grant` and ends the grant. So does a client assertion or a DPoP
 * proof: a `ReplayDetection` is written once, and who comes later gets `invalid_grant`, which `attach` turns into
 * the refusal of a replay.
 *
 * A life that is not whole is rounded up to the next second. One that is not finite or leads beyond 2^53 is
 * refused: for `ReplayDetection`, whose life comes from a client assertion, with `invalid_client`, for every
 * other model with a `RangeError`.
 *
 * @param options.namespace part of every key, at most 255 bytes, default empty: one per issuer on a shared
 * database.
 * @param options.timeout how long a call waits for a connection, and then for the database, before it rejects. Whole
 * seconds from 1 to 30, default 10.
 * @throws {TypeError} for a dialect other than `sqlite`, `postgres` and `mysql`, a wrong namespace or timeout, and for an
 * unknown option.
 * @example
 * impersonation.configure({ adapter: createAdapter(sequelize), clients, findAccount, jwks })
 */
export function createAdapter(
  sequelize: Sequelize,
  { namespace = '', timeout, ...others }: { readonly namespace?: string; readonly timeout?: Seconds } = {},
): AdapterFactory {
  refuseUnknown(Object.keys(others))
  const database = databaseOf(sequelize, readTimeout(timeout))
  if (typeof namespace !== 'string' || Buffer.byteLength(namespace) > 255) {
    throw new TypeError('namespace must be a string of at most 255 bytes')
  }
  const { dialect } = database
  const texts = { upsert: { sql: dialect.upsert(ROW) }, record: textOf(dialect, RECORD) }
  return (model) => new SequelizeAdapter({ database, texts, namespace, model })
}

interface Place {
  readonly database: Database
  /** The statements that write a row, in the words of this database. */
  readonly texts: { readonly upsert: Text; readonly record: Text }
  readonly namespace: string
  readonly model: string
}

class SequelizeAdapter implements Adapter {
  readonly #place: Place

  constructor(place: Place) {
    this.#place = place
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const { database, texts, namespace, model } = this.#place
    const expiresAt = expiryOf(model, expiresIn)
    if (model === REPLAY_DETECTION) return this.#record(id, payload, expiresAt)
    const { jti: _, ...withoutId } = payload
    const stored = BEARERS.has(model) ? withoutId : payload
    const name = database.dialect.bindName
    const columns = [
      ...this.#where(id),
      JSON.stringify(stored),
      GRANTABLE.has(model) ? name(payload.grantId) : null,
      name(payload.userCode),
      name(payload.uid),
      writtenAt(),
      typeof payload.consumed === 'number' ? payload.consumed : null,
      expiresAt,
    ]
    await database.writeRow(texts.upsert, columns, `${namespace} ${model} ${id}`)
  }

  /** One of any number at the same time writes the row, or replaces one that has expired; the others are refused. */
  async #record(id: string, payload: AdapterPayload, expiresAt: number | null): Promise<void> {
    const { database, texts, namespace, model } = this.#place
    const bind = [...this.#where(id), JSON.stringify(payload), writtenAt(), expiresAt]
    if (await database.writeRow(texts.record, bind, `${namespace} ${model} ${id}`)) return
    const replaced = await database.writeAlone({ sql: REPLACE_EXPIRED }, [...bind, epochTime() - GRACE])
    if (replaced === 0) throw new errors.InvalidGrant(`${model} already recorded`)
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#first(FIND, this.#key(id), id)
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#first(FIND_BY_UID, this.#place.database.dialect.bindName(uid))
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.#first(FIND_BY_USER_CODE, this.#place.database.dialect.bindName(userCode))
  }

  async consume(id: string): Promise<void> {
    const { database, model } = this.#place
    // Not in a group, and `destroy` neither: the end of a grant takes its rows in another order.
    if ((await database.writeAlone({ sql: CONSUME }, [...this.#where(id), epochTime()])) === 1) return
    // The provider does the same with a second use that it sees in time.
    const row = await database.findRow({ sql: GRANT_OF }, this.#where(id))
    const grantId = optionalText(row?.grant_id ?? null)
    if (grantId !== undefined) await this.#endGrant(grantId)
    throw new errors.InvalidGrant(`${model} already consumed`)
  }

  async destroy(id: string): Promise<void> {
    await this.#place.database.writeAlone({ sql: DESTROY }, this.#where(id))
  }

  /** Ends the rows of every grantable model: what the provider asks of one of them, it asks of all. */
  async revokeByGrantId(grantId: string): Promise<void> {
    const { database, namespace } = this.#place
    await database.writeAll(REVOKE_GRANT, [namespace, grantId].map(database.dialect.bindName))
  }

  async #endGrant(grantId: string): Promise<void> {
    await this.revokeByGrantId(grantId)
    await new SequelizeAdapter({ ...this.#place, model: 'Grant' }).destroy(grantId)
  }

  async #first(sql: string, value: Bound, id?: string): Promise<AdapterPayload | undefined> {
    // PostgreSQL refuses NUL, and no row has it.
    if (typeof value === 'string' && value.includes('\0')) return undefined
    const { database, namespace, model } = this.#place
    const bind = [database.dialect.bindName(namespace), model, value, epochTime() - GRACE]
    const row = await database.findRow({ sql }, bind)
    return row && payloadOf(row, BEARERS.has(model) ? id : undefined)
  }

  #where(id: string): Bound[] {
    const { database, namespace, model } = this.#place
    return [database.dialect.bindName(namespace), model, this.#key(id)]
  }

  #key(id: string): Bound {
    const { database, model } = this.#place
    const key = BEARERS.has(model) ? createHash('sha256').update(id).digest('base64url') : id
    return database.dialect.bindName(key)
  }
}

/** Databases keep whole seconds, and what JavaScript counts exactly. */
function expiryOf(model: string, expiresIn: number | undefined): number | null {
  if (typeof expiresIn !== 'number') return null
  const expiry = epochTime() + Math.ceil(expiresIn)
  if (Number.isSafeInteger(expiry)) return expiry
  const reason = `the life of a ${model} is not a number of seconds below 2^53`
  // The provider takes this life from the `exp` of a client assertion, and passes the error on. Every other
  // life is the deployment's own.
  throw model === REPLAY_DETECTION ? new errors.InvalidClientAuth(reason) : new RangeError(reason)
}

function payloadOf(row: Row, id: string | undefined): AdapterPayload {
  const payload: AdapterPayload = JSON.parse(text(row.payload))
  return {
    ...payload,
    ...(id !== undefined && { jti: id }),
    ...(row.consumed_at !== null && { consumed: Number(row.consumed_at) }),
  }
}

let lastWrite = 0

/** Microseconds that never stand still in one process: of two rows with one user code, the newest answers. */
function writtenAt(): number {
  lastWrite = Math.max(lastWrite + 1, Date.now() * 1000)
  return lastWrite
}
