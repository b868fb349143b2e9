/**
 * The stop: of one token, of many, by a replay, by a command. It writes its own row, then a tombstone where the use would
 * be, and then reads again: that read says which was first, stop or exchange. If it dies in between, the next call
 * completes it.
 */
import { randomInt } from 'node:crypto'
import type { Seconds } from '../../base/clock.ts'
import type { Revoked } from '../../tokens/store.ts'
import type { Replay, Revocation, SpentSubjectToken } from '../../tokens/subject-token.ts'
import { StorageError } from '../database/storage-error.ts'
import { type Binding, type Bound, hexOf, type Row } from '../database/text.ts'
import { STOPS, USES } from '../tables.ts'
import { readRow } from './hot.ts'
import { type Place, partsOf, readRows } from './place.ts'
import { readRevoked, revocationText } from './rows.ts'

/** Rows that one statement writes at most. */
const MOST = 500

const STOP = {
  table: STOPS.name,
  columns: ['issuer', 'stopped_at', 'cause', 'revocation', 'token_id', 'number', 'ends'],
  key: STOPS.key,
  once: ['stopped_at', 'ends', 'cause', 'revocation'],
} as const

const TOMBSTONE = { table: USES.name, columns: ['issuer', 'token_id'] }

const isSpent = (row: Row): boolean => row.u_used_at !== null
/** A use, or a tombstone. */
const isEnded = (row: Row): boolean => row.u_token_id !== null
const isStopped = (row: Row): boolean => row.s_stopped_at !== null
const isReported = (row: Row): boolean => row.s_reported !== null

/** Whether its access token has not expired. */
export const lives = (row: Row, now: Seconds): boolean =>
  isSpent(row) && Number(row.u_access_token_expires_at) > now

export const canStop = (row: Row, now: Seconds): boolean =>
  isSpent(row) ? lives(row, now) : Number(row.expires_at) > now

/** How, and when. */
export interface Stop {
  readonly now: Seconds
  readonly revocation: Revocation
}

/** Stops what is not stopped yet, by the rows of records, and returns all of them as they are afterwards. */
export async function stop(place: Place, tokens: readonly Row[], how: Stop): Promise<Row[]> {
  const stopped: Row[] = []
  // Rows are locked in one order in every process, so that no two wait for each other's.
  const sorted = [...tokens].sort((one, other) => (hexOf(one.id) < hexOf(other.id) ? -1 : 1))
  for (const part of partsOf(sorted, MOST)) stopped.push(...(await stopPart(place, part, how)))
  return stopped
}

/** Returns how many rows it wrote. The end of one impersonation is as frequent as its exchange; that of many is rare. */
async function write(
  { database }: Place,
  ids: readonly string[],
  sql: string,
  bind: Binding,
): Promise<number> {
  const [first = ''] = ids
  if (ids.length > 1) return database.write(sql, bind)
  return (await database.writeRow({ sql }, bind, first)) ? 1 : 0
}

async function stopPart(place: Place, tokens: readonly Row[], { now, revocation }: Stop): Promise<Row[]> {
  const { dialect, number } = place
  const rows = tokens.length
  const ids = tokens.map(({ id }) => hexOf(id))
  if (!tokens.every(isStopped)) {
    const values = tokens.flatMap((row): Bound[] => [
      ...[number, now, revocation.cause, revocationText(revocation), dialect.bindId(hexOf(row.id))],
      Number(row.number),
      isSpent(row) ? Number(row.u_access_token_expires_at) : null,
    ])
    await write(place, ids, dialect.writeOnce({ ...STOP, rows }), values)
  }
  if (!tokens.every(isEnded)) {
    const values = ids.flatMap((id) => [number, dialect.bindId(id)])
    await write(place, ids, dialect.insertNew({ ...TOMBSTONE, rows }), values)
  }
  const [first = ''] = ids
  const found = ids.length > 1 ? await readRows(place, ids) : [await readRow(place, first)]
  return found.filter((row) => row !== undefined)
}

export async function revoke(place: Place, id: string, how: Stop): Promise<Revoked | undefined> {
  const row = await readRow(place, id)
  if (!row) return undefined
  const isOver = !canStop(row, how.now) || (isStopped(row) && isReported(row))
  const [stopped = row] = isOver ? [] : await stop(place, [row], how)
  return readRevoked(place, stopped)
}

/** Names a call: who finds its own number in a row has written it. */
const nameOfCall = (): number => randomInt(2 ** 48 - 1)

/** Returns those of the tokens that no other call has returned. To be called with all that their events say at hand. */
export async function report(place: Place, ids: readonly string[]): Promise<readonly string[]> {
  const reported: string[] = []
  for (const part of partsOf([...new Set(ids)], 1000)) reported.push(...(await reportPart(place, part)))
  return reported
}

async function reportPart(place: Place, ids: readonly string[]): Promise<readonly string[]> {
  const { database, dialect, number } = place
  const call = nameOfCall()
  const { among, bind } = dialect.idsFrom(3, ids)
  try {
    const affected = await write(
      place,
      ids,
      `UPDATE ${STOPS.name} SET reported = $1 WHERE issuer = $2 AND ${among('token_id')}
        AND stopped_at IS NOT NULL AND reported IS NULL`,
      [call, number, ...bind],
    )
    if (affected === ids.length) return ids
    if (affected === 0) return []
  } catch (error) {
    if (error instanceof StorageError && error.tookEffect === false) throw error
  }
  try {
    const rows = await database.find(
      `SELECT token_id FROM ${STOPS.name} WHERE reported = $1 AND issuer = $2 AND ${among('token_id')}`,
      [call, number, ...bind],
    )
    return rows.map((row) => hexOf(row.token_id))
  } catch {
    // No other call reports the rows that it has written. One event too many is better than none.
    return ids
  }
}

const REPLAY = {
  table: STOPS.name,
  columns: [
    ...['token_id', 'issuer', 'number', 'replayed_at', 'replayed', 'replayed_by', 'replayed_account'],
    ...['stopped_at', 'cause', 'ends', 'reported'],
  ],
  key: STOPS.key,
  // A row without a replay is one of a stop, which stays.
  once: ['replayed_at', 'replayed', 'replayed_by', 'replayed_account'],
} as const

const REPORTED = `SELECT reported FROM ${STOPS.name} WHERE issuer = $1 AND token_id = $2`

/** Returns whether this call stopped the token. */
export async function recordReplay(
  { database, dialect, number }: Place,
  { id, statusIndex, use }: SpentSubjectToken,
  { at, clientId, by }: Replay,
): Promise<boolean> {
  const { expiresAt } = use.accessToken
  const call = expiresAt > at ? nameOfCall() : undefined
  const ended: Bound[] = call === undefined ? [null, null, null, null] : [at, 'replay', expiresAt, call]
  await database.write(dialect.writeOnce(REPLAY), [
    ...[dialect.bindId(id), number, statusIndex, at, 1, dialect.bindName(clientId), dialect.bindName(by)],
    ...ended,
  ])
  if (call === undefined) return false
  const [row] = await database.find(REPORTED, [number, dialect.bindId(id)])
  return row?.reported !== null && Number(row?.reported) === call
}
