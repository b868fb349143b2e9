import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../clock.ts'
import { databaseOf } from './database/database.ts'

const END = `UPDATE subject_tokens SET revoked_at = $1
  WHERE consumed_at IS NULL AND revoked_at IS NULL AND expires_at > $1`

/** A statement may change many rows. */
const PATIENCE: Seconds = 300

/**
 * Revokes every subject token that could still be exchanged: in a database that lost its last commits, some of them
 * have been exchanged already. Returns how many.
 *
 * @param options.issuer only those of this issuer; without it, those of all.
 */
export async function endUnspent(
  sequelize: Sequelize,
  { issuer }: { readonly issuer?: string | undefined } = {},
): Promise<number> {
  const database = databaseOf(sequelize, PATIENCE)
  const now = epochTime()
  return issuer === undefined
    ? database.writeAll(END, [now])
    : database.writeAll(`${END} AND issuer = $2`, [now, database.dialect.bindName(issuer)])
}
