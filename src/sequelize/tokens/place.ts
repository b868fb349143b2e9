/** The rows of one issuer: where they are, and how they are read. */
import type { Database } from '../database/database.ts'
import type { Dialect, Ids } from '../database/dialect.ts'
import { STOPS, TOKENS, USES } from '../tables.ts'
import type { Reader } from './rows.ts'

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

/** The rows of records whose ids a statement finds, one by one. */
export const recordsOf = (dialect: Dialect, found: string, issuer: string): string => `(${found}) rows_found
  ${dialect.joinEach(TOKENS.name, 't', `t.issuer = ${issuer} AND t.id = rows_found.found`)}
  ${dialect.lookUpEach(USES.name, 'u', `u.issuer = ${issuer} AND u.token_id = rows_found.found`)}
  ${dialect.lookUpEach(STOPS.name, 's', `s.issuer = ${issuer} AND s.token_id = rows_found.found`)}`

/** The same, where the statement selects the rows of stops with the ids. */
export const recordsOfStops = (dialect: Dialect, found: string, issuer: string): string => `(${found}) s
  ${dialect.joinEach(TOKENS.name, 't', `t.issuer = ${issuer} AND t.id = s.found`)}
  ${dialect.lookUpEach(USES.name, 'u', `u.issuer = ${issuer} AND u.token_id = s.found`)}`

/** The rows of records of the issuer `$1` whose ids are at hand. */
export const recordsWith = (dialect: Dialect, { among }: Ids): string => `${TOKENS.name} t
  ${dialect.lookUpEach(USES.name, 'u', 'u.issuer = t.issuer AND u.token_id = t.id')}
  ${dialect.lookUpEach(STOPS.name, 's', 's.issuer = t.issuer AND s.token_id = t.id')}
  WHERE t.issuer = $1 AND ${among('t.id')}`

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
