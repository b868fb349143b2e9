/**
 * The issuers by their numbers, which rows hold in place of their names. A number follows from the name, so that no cache
 * can be wrong; the first use of a process writes both down, and compares.
 */
import { createHash } from 'node:crypto'
import type { Sequelize } from 'sequelize'
import type { Database } from '../database/database.ts'
import { textOf } from '../database/dialect.ts'
import { StorageError } from '../database/storage-error.ts'
import { text } from '../database/values.ts'
import { columnsOf, ISSUERS } from '../tables.ts'

const FIND = 'SELECT issuer FROM impersonation_issuers WHERE number = $1'

const COLLISION = 'two issuers in this database have the same number: give one of them a database of its own'

/** The first 32 bits of the SHA-256. */
export const numberOf = (issuer: string): number =>
  createHash('sha256').update(issuer).digest().readInt32BE(0)

/** @throws {StorageError} where another issuer has the number. */
async function registerIssuer(database: Database, issuer: string): Promise<number> {
  const number = numberOf(issuer)
  const find = async () => (await database.find(FIND, [number]))[0]
  let found = await find()
  if (!found) {
    const { dialect } = database
    const claim = textOf(dialect, { to: 'claim', table: ISSUERS.name, columns: columnsOf(ISSUERS) })
    await database.writeAlone({ ...claim, rare: true }, [number, dialect.bindName(issuer)])
    found = await find()
  }
  if (found && text(found.issuer) === issuer) return number
  throw new StorageError(`storage failed: ${COLLISION}`, { forOperators: COLLISION, tookEffect: false })
}

/** The numbers that a pool has found to be right. Remembered only after success. */
const known = new WeakMap<Sequelize, Map<string, Promise<number>>>()

/** The number of an issuer: of one statement at its first use, or of two or three where it is new. */
export function issuersOf(sequelize: Sequelize): (database: Database, issuer: string) => Promise<number> {
  const numbers = known.get(sequelize) ?? new Map<string, Promise<number>>()
  known.set(sequelize, numbers)
  return (database, issuer) => {
    const begun = numbers.get(issuer) ?? registerIssuer(database, issuer)
    if (!numbers.has(issuer)) {
      numbers.set(issuer, begun)
      begun.catch(() => numbers.delete(issuer))
    }
    return begun
  }
}
