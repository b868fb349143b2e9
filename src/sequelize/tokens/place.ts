/** The rows of one issuer: where they are, and how they are read. */
import type { Database } from '../database/database.ts'
import type { Dialect } from '../database/dialect.ts'
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

/**
 * The rows of these records, in the order of their ids. Table by table: a planner without statistics would read all of an
 * issuer to join them. The use comes last, so that what is read was true at one time: before a stop that was not seen.
 */
export async function readRows(
  { database, dialect, number }: Place,
  ids: readonly string[],
): Promise<readonly Row[]> {
  const { among, each, bind } = dialect.idsFrom(2, ids)
  const read = async (alias: 't' | 'u' | 's', from: string, id: string) => {
    const rows = await database.find(`SELECT ${partOf(alias)} FROM ${from}`, [number, ...bind])
    return new Map(rows.map((row) => [hexOf(row[id]), row]))
  }
  const tokens = await read('t', `${TOKENS.name} t WHERE t.issuer = $1 AND ${among('t.id')}`, 'id')
  // There are fewer stops: a planner without statistics would take them for few enough to read all.
  const stops = await read('s', each(STOPS.name, 's', 'token_id'), 's_token_id')
  const uses = await read('u', `${USES.name} u WHERE u.issuer = $1 AND ${among('u.token_id')}`, 'u_token_id')
  return ids.flatMap((id) => {
    const token = tokens.get(id)
    return token ? [{ ...NO_ROW, ...token, ...uses.get(id), ...stops.get(id) }] : []
  })
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
