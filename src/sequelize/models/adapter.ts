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
  return (model) => adapterOf({ database, texts, namespace }, model)
}

interface Place {
  readonly database: Database
  /** The statements that write a row, in the words of this database. */
  readonly texts: { readonly upsert: Text; readonly record: Text }
  readonly namespace: string
}

function adapterOf(place: Place, model: string): Adapter {
  const { database, texts, namespace } = place
  const { bindName } = database.dialect
  const isBearer = BEARERS.has(model)
  const keyOf = (id: string): Bound =>
    bindName(isBearer ? createHash('sha256').update(id).digest('base64url') : id)
  const where = (id: string): Bound[] => [bindName(namespace), model, keyOf(id)]

  const first = async (sql: string, value: Bound, id?: string): Promise<AdapterPayload | undefined> => {
    // PostgreSQL refuses NUL, and no row has it.
    if (typeof value === 'string' && value.includes('\0')) return undefined
    const row = await database.findRow({ sql }, [bindName(namespace), model, value, epochTime() - GRACE])
    return row && payloadOf(row, isBearer ? id : undefined)
  }

  /** One of any number at the same time writes the row, or replaces one that has expired; the others are refused. */
  const record = async (id: string, payload: AdapterPayload, expiresAt: number | null): Promise<void> => {
    const bind = [...where(id), JSON.stringify(payload), writtenAt(), expiresAt]
    if (await database.writeRow(texts.record, bind, `${namespace} ${model} ${id}`)) return
    const replaced = await database.writeAlone({ sql: REPLACE_EXPIRED }, [...bind, epochTime() - GRACE])
    if (replaced === 0) throw new errors.InvalidGrant(`${model} already recorded`)
  }

  /** Ends the rows of every grantable model: what the provider asks of one of them, it asks of all. */
  const revokeByGrantId = async (grantId: string): Promise<void> => {
    await database.writeAll(REVOKE_GRANT, [namespace, grantId].map(bindName))
  }

  return {
    async upsert(id, payload, expiresIn) {
      const expiresAt = expiryOf(model, expiresIn)
      if (model === REPLAY_DETECTION) return record(id, payload, expiresAt)
      const { jti: _, ...withoutId } = payload
      const columns = [
        ...where(id),
        JSON.stringify(isBearer ? withoutId : payload),
        GRANTABLE.has(model) ? bindName(payload.grantId) : null,
        bindName(payload.userCode),
        bindName(payload.uid),
        writtenAt(),
        typeof payload.consumed === 'number' ? payload.consumed : null,
        expiresAt,
      ]
      await database.writeRow(texts.upsert, columns, `${namespace} ${model} ${id}`)
    },

    find: async (id) => first(FIND, keyOf(id), id),
    findByUid: async (uid) => first(FIND_BY_UID, bindName(uid)),
    findByUserCode: async (userCode) => first(FIND_BY_USER_CODE, bindName(userCode)),

    async consume(id) {
      // Not in a group, and `destroy` neither: the end of a grant takes its rows in another order.
      if ((await database.writeAlone({ sql: CONSUME }, [...where(id), epochTime()])) === 1) return
      // The provider does the same with a second use that it sees in time.
      const row = await database.findRow({ sql: GRANT_OF }, where(id))
      const grantId = optionalText(row?.grant_id ?? null)
      if (grantId !== undefined) {
        await revokeByGrantId(grantId)
        await adapterOf(place, 'Grant').destroy(grantId)
      }
      throw new errors.InvalidGrant(`${model} already consumed`)
    },

    async destroy(id) {
      await database.writeAlone({ sql: DESTROY }, where(id))
    },

    revokeByGrantId,
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
