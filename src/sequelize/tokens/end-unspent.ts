import { randomBytes } from 'node:crypto'
import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../../base/clock.ts'
import { earliestId } from '../../tokens/id.ts'
import { type Revocation, STATUS_LIST_SIZE } from '../../tokens/subject-token.ts'
import type { Database } from '../database/database.ts'
import type { Dialect } from '../database/dialect.ts'
import { hexOf, type Row, text } from '../database/text.ts'
import { databaseOf } from '../drivers.ts'
import { missingRights } from '../schema/rights.ts'
import { ISSUERS, NO_ISSUER, STOPS, type Table, TOKENS, USES } from '../tables.ts'
import { type Place, partsOf, placesOf, readRows } from './place.ts'
import { canStop, report, stop } from './stop.ts'
import { unended } from './walks.ts'

const REVOCATION: Revocation = { cause: 'command' }

/** More status indexes than a database can have lost: a thousand lists. */
const LOST = 1000 * STATUS_LIST_SIZE

/** How the sequence of status indexes is moved; absent where rows move it. */
const moveNumbers = (dialect: Dialect) => dialect.moveSequence?.(TOKENS.name, 'number', LOST)

/** A statement may change many rows. */
const PATIENCE: Seconds = 300

/**
 * Revokes every subject token that could still be exchanged: in a database that lost its last commits, some of them
 * have been exchanged already. Then moves the sequence of status indexes ahead, because the database would hand out those
 * of the lost rows again. Returns how many tokens it revoked. One that was spent meanwhile is left for the next kill
 * switch, which ends its access token.
 *
 * @param options.issuer only the tokens of this issuer; without it, those of all.
 * @throws {Error} naming the right that the role lacks, or an issuer that no token is of, before anything is changed.
 */
export async function endUnspent(
  sequelize: Sequelize,
  { issuer }: { readonly issuer?: string | undefined } = {},
): Promise<number> {
  const database = databaseOf(sequelize, PATIENCE)
  await assertRights(sequelize, database)
  const rows = await database.find(`SELECT number, issuer FROM ${ISSUERS.name}`, [])
  // Compared by name: a number alone does not say whose tokens they are.
  const named = rows.map((row) => text(row.issuer)).filter((name) => issuer === undefined || name === issuer)
  if (issuer !== undefined && named.length === 0)
    throw new Error(`no subject token is of ${issuer}: name an issuer as the tokens do`)
  const at = placesOf(database)
  let ended = 0
  for (const one of named) ended += await endAll(await at(one))
  await moveAhead(database)
  return ended
}

const idOf = ({ id }: Row): string => hexOf(id)
const isUnspent = (row: Row): boolean => row.u_used_at === null && row.s_stopped_at === null

/** Tokens without a use are reported at once: there is nothing else to end. */
async function endAll(place: Place): Promise<number> {
  const now = epochTime()
  let ended = 0
  for (const ids of partsOf([...(await unended(place, 'open', now)).keys()], 500)) {
    const tokens = (await readRows(place, ids)).filter((row) => isUnspent(row) && canStop(row, now))
    // Each by its own time: status lists look back only so far.
    const stopped = await stop(place, tokens, { now: epochTime(), revocation: REVOCATION })
    const unspent = stopped.filter((row) => row.u_used_at === null && row.s_reported === null)
    ended += (await report(place, unspent.map(idOf))).length
  }
  return ended
}

async function assertRights(sequelize: Sequelize, database: Database): Promise<void> {
  const move = moveNumbers(database.dialect)
  const needed: readonly Table[] = [
    { ...ISSUERS, rights: ['SELECT'] },
    { ...TOKENS, rights: move ? ['SELECT'] : TOKENS.rights },
    ...[USES, STOPS].map((table) => ({ ...table, rights: ['INSERT', 'UPDATE'] as const })),
  ]
  const [missing] = await missingRights(sequelize, needed)
  if (missing) throw lacking(`${missing.right} ON ${missing.table}`)
  if (move && (await database.find(move.mayMove, [])).length === 0) throw lacking(move.right)
}

const lacking = (right: string) => new Error(`the role of end-unspent needs GRANT ${right}`)

const INSERT = `INSERT INTO ${TOKENS.name}
  (id, issuer, open, purpose, secret_hash, user_id, created_by, context, created_at, expires_at)
  VALUES ($1, ${NO_ISSUER}, 0, 0, $2, '', '', '{}', 0, 0)`

const INSERT_AHEAD = `INSERT INTO ${TOKENS.name}
  (id, issuer, open, purpose, secret_hash, user_id, created_by, context, created_at, expires_at, number)
  SELECT $1, issuer, 0, 0, secret_hash, '', '', '{}', 0, 0, number + ${LOST} FROM ${TOKENS.name}
  WHERE issuer = ${NO_ISSUER} AND id = $2`

const DELETE = `DELETE FROM ${TOKENS.name} WHERE issuer = ${NO_ISSUER} AND id IN ($1, $2)`

/** Rows of no issuer, which no one finds, mark it where that needs no right to change tables. */
async function moveAhead(database: Database): Promise<void> {
  const { dialect } = database
  const move = moveNumbers(dialect)
  if (move) {
    await database.find(move.sql, [])
    return
  }
  const [next, ahead] = [dialect.bindId(placeholder()), dialect.bindId(placeholder())]
  await database.write(INSERT, [next, Buffer.alloc(32)])
  await database.write(INSERT_AHEAD, [ahead, next])
  await database.write(DELETE, [next, ahead])
}

/** Older than every token: what an interrupted command leaves behind is purged. */
const placeholder = () => earliestId(0).slice(0, 12) + randomBytes(10).toString('hex')
