/** The rows of one issuer: where they are, and how they are read. */
import { createHash } from 'node:crypto'
import type { Database } from '../database/database.ts'
import type { Dialect, Ids } from '../database/dialect.ts'
import { textOf } from '../database/standard.ts'
import { failedFor } from '../database/storage-error.ts'
import { hexOf, type Row, text } from '../database/text.ts'
import { columnsOf, ISSUERS, STOPS, TOKENS, USES } from '../tables.ts'
import { ISSUED, NO_ROW, OPENED, partOf, RECORD, type Reader, USED } from './rows.ts'

export interface Place extends Reader {
  readonly database: Database
  readonly dialect: Dialect
  /** The issuer's number. */
  readonly number: number
  readonly texts: ReturnType<typeof textsOf>
}

/** The other tables' rows for a token, found by their keys. */
const REST = `LEFT JOIN ${USES.name} u ON u.issuer = t.issuer AND u.token_id = t.id
  LEFT JOIN ${STOPS.name} s ON s.issuer = t.issuer AND s.token_id = t.id`

/** The rows of a record. */
export const RECORDS = `${TOKENS.name} t ${REST}`

/** The statements of issue and exchange. */
const textsOf = (dialect: Dialect) => ({
  insert: textOf(dialect, { to: 'insert', table: TOKENS.name, columns: ISSUED }),
  find: textOf(dialect, {
    to: 'find',
    table: `${TOKENS.name} t`,
    join: REST,
    columns: RECORD,
    key: 't.id',
    equal: ['t.issuer'],
    index: 'PRIMARY',
  }),
  /** Makes a token single-use: of any number of rows with one key, a database takes one. */
  spend: textOf(dialect, { to: 'claim', table: USES.name, columns: USED }),
  open: textOf(dialect, { to: 'claim', table: USES.name, columns: OPENED }),
})

/** One for all stores, whose statements go together. */
const texts = new WeakMap<Dialect, ReturnType<typeof textsOf>>()

/** The rows that a walk has read, by the ids of their records, the newest first. */
export type Found = ReadonlyMap<string, Row>

/**
 * The rows of these records, in the order of their ids. Table by table: a planner without statistics would read all of an
 * issuer to join them. The use comes last, so that what is read was true at one time: before a stop that was not seen. A
 * walk has found it before, at most where there was one, and that stays. What has been read may say that a row is not meant.
 */
export async function readRows(
  { database, dialect, number }: Place,
  ids: readonly string[],
  found: Found = new Map(),
  isMeant: (row: Row) => boolean = () => true,
): Promise<readonly Row[]> {
  const rows = new Map<string, Row>(ids.map((id) => [id, found.get(id) ?? {}]))
  const read = async (alias: 't' | 'u' | 's', key: string, from: (ids: Ids) => string) => {
    for (const [id, row] of rows) if (!isMeant(row)) rows.delete(id)
    const [first] = rows.values()
    if (first === undefined || key in first) return
    const left = dialect.idsFrom(2, [...rows.keys()])
    const sql = `SELECT ${partOf(alias)} FROM ${from(left)}`
    for (const row of await database.find(sql, [number, ...left.bind]))
      rows.set(hexOf(row[key]), { ...rows.get(hexOf(row[key])), ...row })
  }
  await read('t', 'id', ({ among }) => `${TOKENS.name} t WHERE t.issuer = $1 AND ${among('t.id')}`)
  // There are fewer stops: a planner without statistics would take them for few enough to read all.
  await read('s', 's_token_id', ({ each }) => each(STOPS.name, 's', 'token_id'))
  await read(
    'u',
    'u_token_id',
    ({ among }) => `${USES.name} u WHERE u.issuer = $1 AND ${among('u.token_id')}`,
  )
  return [...rows.values()].flatMap((row) => (row.id === undefined ? [] : [{ ...NO_ROW, ...row }]))
}

/** Parts of a size, the last one perhaps smaller. */
export const partsOf = <Value>(values: readonly Value[], size: number): Value[][] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, part) =>
    values.slice(part * size, (part + 1) * size),
  )

// The issuers, by their numbers, which rows hold in place of their names. A number follows from the name, so that no cache
// can be wrong; the first use of a store writes both down, and compares.

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
  throw failedFor(COLLISION, { tookEffect: false })
}

/** The place of an issuer: of one statement at its first use, or of two or three where it is new. */
export function placesOf(
  database: Database,
  unreadable: Reader['unreadable'] = () => {},
): (issuer: string) => Promise<Place> {
  const { dialect } = database
  const known = texts.get(dialect) ?? textsOf(dialect)
  texts.set(dialect, known)
  const makePlace = async (issuer: string): Promise<Place> => {
    const number = await registerIssuer(database, issuer)
    return { database, dialect, issuer, number, texts: known, unreadable }
  }
  /** Remembered only after success. */
  const places = new Map<string, Promise<Place>>()
  return (issuer) => {
    const begun = places.get(issuer) ?? makePlace(issuer)
    if (!places.has(issuer)) {
      places.set(issuer, begun)
      begun.catch(() => places.delete(issuer))
    }
    return begun
  }
}
