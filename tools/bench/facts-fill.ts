/** Impersonations as in life, loaded in bulk: issued, spent, and most of them stopped by who acted, minutes later. */
import { randomBytes } from 'node:crypto'
import { epochTime, type Seconds } from '../../src/base/clock.ts'
import type { Database } from '../../src/sequelize/database/database.ts'
import { insertInto } from '../../src/sequelize/database/standard.ts'
import type { Bound } from '../../src/sequelize/database/text.ts'
import { columnsOf, STOPS, TOKENS, USES } from '../../src/sequelize/tables.ts'
import { ISSUED, issuedRow, revocationText, USED, useRow } from '../../src/sequelize/tokens/rows.ts'
import type { TokenHash } from '../../src/tokens/secret.ts'
import type { SubjectTokenUse } from '../../src/tokens/subject-token.ts'
import { API, DAY, ISSUER, SCOPE } from './deployment.ts'

/** What a database is filled with. */
export interface Shape {
  readonly rows: number
  /** They are issued evenly over this time, up to now. */
  readonly span: Seconds
  readonly stopped: boolean
  readonly ticketOf: (index: number) => string | undefined
}

/** A million in 80 days, and never longer; tickets are rare. */
const spanOf = (rows: number): Seconds => Math.min(80 * DAY, rows * 7)

export const lifeOf = (rows: number): Shape => ({
  rows,
  span: spanOf(rows),
  stopped: true,
  ticketOf: (index) => (index % 1000 === 5 ? TICKET : undefined),
})

/** The same without stops, where each has a ticket or none has one. */
export const unstopped = (rows: number, tickets: boolean): Shape => ({
  rows,
  span: spanOf(rows),
  stopped: false,
  ticketOf: (index) => (tickets ? `T-${String(index).padStart(7, '0')}` : undefined),
})

/** All within the hour: what a deployment of 40 impersonations a second looks like. */
export const busyHour = (rows: number): Shape => ({ ...lifeOf(rows), span: 3600 })

/** The names that lists search for. */
export const TICKET = 'T-4711042'
export const BACKEND = 'm2m'
/** It issued a third of all. */
export const OTHER_BACKEND = 'm2m-2'
export const BOT = 'bot'
/** Of one in a hundred, and of one in 100,000. */
export const BUSY_USER = 'user-0'
export const QUIET_USER = 'user-777'
/** Acts once in 1,700. */
export const ENGINEER = 'eng-9'
export const APPLICATION = 'web'

const TTL: Seconds = 600
const LIFE: Seconds = 3600
const CHUNK = 500

const STOPPED = columnsOf(STOPS)

export const BY_WHO_ACTED = { cause: 'self', client: APPLICATION } as const

/** @param issuer its number. */
export async function fill(database: Database, issuer: number, shape: Shape): Promise<void> {
  const { dialect } = database
  const until = epochTime()
  let pending: End[] = []
  for (let from = 0; from < shape.rows; from += CHUNK) {
    const length = Math.min(CHUNK, shape.rows - from)
    const lives = Array.from({ length }, (_, step) => lifeAt(from + step, shape, until))
    await insert(
      database,
      { table: TOKENS.name, columns: ISSUED },
      lives.map(({ token }) => issuedRow(dialect, issuer, token)),
    )
    const used = lives.flatMap(({ token, use }) => (use ? [useRow(dialect, issuer, token, use)] : []))
    await insert(database, { table: USES.name, columns: USED }, used)
    if (!shape.stopped) continue
    const first = await numberOf(database, issuer, lives[0]?.token.id ?? '')
    pending.push(...lives.flatMap((life, step) => endOf(life, from + step, { until, number: first + step })))
    const passed = from + length === shape.rows ? until : (lives.at(-1)?.token.createdAt ?? until)
    await end(
      database,
      issuer,
      pending.filter(({ at }) => at <= passed),
    )
    pending = pending.filter(({ at }) => at > passed)
  }
}

/** In the order in which it happened. */
async function end(database: Database, issuer: number, ends: readonly End[]): Promise<void> {
  const sorted = [...ends].sort((one, other) => one.at - other.at)
  for (let from = 0; from < sorted.length; from += CHUNK) {
    const part = sorted.slice(from, from + CHUNK)
    await insert(
      database,
      { table: STOPS.name, columns: STOPPED },
      part.map((one) => stopRow(database, issuer, one)),
    )
    const tombstones = part.filter(({ ends, isStopped }) => isStopped && ends === null)
    await insert(
      database,
      { table: USES.name, columns: ['token_id', 'issuer'] },
      tombstones.map(({ id }) => [database.dialect.bindId(id), issuer]),
    )
  }
}

type Life = ReturnType<typeof lifeAt>

function lifeAt(index: number, { rows, span, ticketOf }: Shape, until: Seconds) {
  const at = until - span + (index * (span - 10)) / rows
  const createdAt = Math.floor(at)
  const actor = index % 10 < 3 ? undefined : index % 10 < 7 ? BOT : `eng-${index % 500}`
  const ticketId = ticketOf(index)
  const token = {
    id: idAt(at, index),
    tokenHash: randomBytes(32).toString('base64url') as TokenHash,
    issuer: ISSUER,
    purpose: 'exchange' as const,
    userId: index % 100 === 0 ? BUSY_USER : `user-${index % 100_000}`,
    // As long with a ticket as without.
    context: {
      [ticketId === undefined ? 'customer' : 'ticketId']: ticketId ?? `C-${String(index).padStart(7, '0')}`,
      reason: 'support case that someone opened',
    },
    createdBy: index % 3 === 0 ? OTHER_BACKEND : BACKEND,
    ...(actor !== undefined && { actorId: actor }),
    scope: SCOPE,
    createdAt,
    expiresAt: createdAt + TTL,
  }
  const use: SubjectTokenUse = {
    at: createdAt + 5,
    clientId: APPLICATION,
    ...(actor !== undefined && { actor: { sub: actor, clientId: APPLICATION } }),
    resource: API,
    scope: SCOPE,
    accessToken: { format: 'jwt', expiresAt: createdAt + 5 + LIFE },
  }
  return { token, use: index % 50 === 0 ? undefined : use }
}

interface End {
  readonly id: string
  readonly number: number
  readonly at: Seconds
  /** Otherwise it was used again. */
  readonly isStopped: boolean
  readonly ends: Seconds | null
}

/** Six in ten; of those that were not spent, one in twenty; and a replay now and then of what was not stopped. */
function endOf(
  { token, use }: Life,
  index: number,
  { until, number }: { readonly until: Seconds; readonly number: number },
): End[] {
  const isStopped = use ? Math.floor(index / 10) % 10 < 6 : index % 1000 === 0
  if (!isStopped && index % 500 !== 77) return []
  const at = token.createdAt + (isStopped ? 300 + ((index * 7919) % 300) : 90)
  return at > until ? [] : [{ id: token.id, number, at, isStopped, ends: use?.accessToken.expiresAt ?? null }]
}

function stopRow({ dialect }: Database, issuer: number, { id, number, at, isStopped, ends }: End) {
  const values: Readonly<Record<(typeof STOPPED)[number], Bound>> = {
    stopped_at: isStopped ? at : null,
    replayed_at: isStopped ? null : at,
    number,
    ends: isStopped ? ends : null,
    reported: isStopped ? randomBytes(6).readUIntBE(0, 6) : null,
    token_id: dialect.bindId(id),
    issuer,
    replayed: isStopped ? null : 1,
    cause: isStopped ? BY_WHO_ACTED.cause : null,
    revocation: isStopped ? revocationText(BY_WHO_ACTED) : null,
    replayed_by: isStopped ? null : dialect.bindName(APPLICATION),
    replayed_account: null,
  }
  return STOPPED.map((column) => values[column])
}

/** Ids sort by time, and within a millisecond by the index. */
function idAt(at: number, index: number): string {
  const time = Math.floor(at * 1000)
    .toString(16)
    .padStart(12, '0')
  return `${time}${(index % 65_536).toString(16).padStart(4, '0')}${randomBytes(8).toString('hex')}`
}

/** The rows of one statement get numbers in their order. */
async function numberOf(database: Database, issuer: number, id: string): Promise<number> {
  const sql = `SELECT number FROM ${TOKENS.name} WHERE issuer = $1 AND id = $2`
  const [row] = await database.find(sql, [issuer, database.dialect.bindId(id)])
  return Number(row?.number)
}

async function insert(
  database: Database,
  { table, columns }: { readonly table: string; readonly columns: readonly string[] },
  rows: readonly (readonly Bound[])[],
): Promise<void> {
  if (rows.length === 0) return
  await database.write(insertInto({ table, columns, rows: rows.length }), rows.flat())
}
