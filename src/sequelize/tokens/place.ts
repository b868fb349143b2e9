/** The rows of one issuer: where they are, and how they are read. */
import type { Database } from '../database/database.ts'
import type { Dialect, Ids } from '../database/dialect.ts'
import type { Row } from '../database/text.ts'
import { hexOf } from '../database/values.ts'
import { STOPS, TOKENS, USES } from '../tables.ts'
import { NO_ROW, partOf, type Reader } from './rows.ts'

export interface Place extends Reader {
  readonly database: Database
  readonly dialect: Dialect
  /** The issuer's number. */
  readonly number: number
}

/** What of other tables belongs to a token: found by their keys. */
export const REST = `LEFT JOIN ${USES.name} u ON u.issuer = t.issuer AND u.token_id = t.id
  LEFT JOIN ${STOPS.name} s ON s.issuer = t.issuer AND s.token_id = t.id`

/** The rows of a record. */
export const RECORDS = `${TOKENS.name} t ${REST}`

/** What a walk has read of the rows of records, by the ids of these, the newest first. */
export type Found = ReadonlyMap<string, Row>

/** Which rows are read: those of all ids, unless what is read first says otherwise. */
interface Wanted {
  readonly found?: Found
  readonly isMeant?: (row: Row) => boolean
}

/**
 * The rows of these records, in the order of their ids. Table by table: a planner without statistics would read all of an
 * issuer to join them. The use comes last, so that what is read was true at one time: before a stop that was not seen. A
 * walk has found it before, at most where there was one, and that stays.
 */
export async function readRows(
  { database, dialect, number }: Place,
  ids: readonly string[],
  { found, isMeant = () => true }: Wanted = {},
): Promise<readonly Row[]> {
  const rows = new Map<string, Row>(ids.map((id) => [id, found?.get(id) ?? {}]))
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

/** Parts of the sizes that come next, each of many: for rows that cannot be repeated. */
export function partsOf<Value>(values: readonly Value[], sizes: readonly number[]): Value[][] {
  const parts: Value[][] = []
  for (let from = 0; from < values.length; ) {
    const left = values.length - from
    const size = sizes.find((rows) => rows <= left) ?? left
    parts.push(values.slice(from, from + size))
    from += size
  }
  return parts
}
