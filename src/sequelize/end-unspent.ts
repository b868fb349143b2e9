import { randomBytes } from 'node:crypto'
import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../clock.ts'
import { earliestId } from '../subject-tokens/id.ts'
import { LONGEST_LIFE, type Revocation, STATUS_LIST_SIZE } from '../subject-tokens/subject-token.ts'
import type { Database } from './database/database.ts'
import type { Dialect } from './database/dialect.ts'
import { databaseOf } from './database-of.ts'

const END = `UPDATE subject_tokens SET revoked_at = $1, revocation = $2
  WHERE id >= $3 AND consumed_at IS NULL AND revoked_at IS NULL AND expires_at > $1`

const REVOCATION: Revocation = { cause: 'command' }

/** A statement may change many rows. */
const PATIENCE: Seconds = 300

/** More status indexes than a database can have lost. */
const LOST = 1000 * STATUS_LIST_SIZE

/**
 * Revokes every subject token that could still be exchanged: in a database that lost its last commits, some of them
 * have been exchanged already. Moves the sequence of status indexes ahead, too, because the database would hand out those
 * of the lost rows again. Returns how many tokens it revoked.
 *
 * @param options.issuer only the tokens of this issuer; without it, those of all.
 */
export async function endUnspent(
  sequelize: Sequelize,
  { issuer }: { readonly issuer?: string | undefined } = {},
): Promise<number> {
  const database = databaseOf(sequelize, PATIENCE)
  await moveStatusIndexes(database)
  const now = epochTime()
  // Older ones have expired, on a clock that is a day ahead, too.
  const bind = [now, JSON.stringify(REVOCATION), earliestId(now - 2 * LONGEST_LIFE)]
  return issuer === undefined
    ? database.writeAll(END, bind)
    : database.writeAll(`${END} AND issuer = $4`, [...bind, database.dialect.bindName(issuer)])
}

const INSERT = `INSERT INTO subject_tokens
  (id, token_hash, issuer, user_id, context, created_by, created_at, expires_at)
  VALUES ($1, $1, $2, $2, '{}', $2, 0, 0)`

const INSERT_AHEAD = `INSERT INTO subject_tokens
  (id, token_hash, issuer, user_id, context, created_by, created_at, expires_at, status_index)
  SELECT $1, $1, issuer, user_id, context, created_by, 0, 0, status_index + ${LOST} FROM subject_tokens WHERE id = $2`

const DELETE = 'DELETE FROM subject_tokens WHERE id IN ($1, $2)'

/** How the sequence of status indexes is moved; absent where rows move it. */
export const moveStatusSequence = (dialect: Dialect) =>
  dialect.moveSequence?.('subject_tokens', 'status_index', LOST)

/** By rows of no issuer, which no one finds: that needs no right to change tables. */
async function moveStatusIndexes(database: Database): Promise<void> {
  const { dialect } = database
  const move = moveStatusSequence(dialect)
  if (move) {
    await database.find(move.sql, [])
    return
  }
  const [next, ahead] = [placeholder(), placeholder()]
  await database.write(INSERT, [next, dialect.bindName('')])
  await database.write(INSERT_AHEAD, [ahead, next])
  await database.write(DELETE, [next, ahead])
}

/** Older than every token: what an interrupted command leaves behind is purged. */
const placeholder = () => earliestId(0).slice(0, 12) + randomBytes(10).toString('hex')
