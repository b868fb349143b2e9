import { Readable } from 'node:stream'
import type { SubjectTokenRecord } from '../management/inspect.ts'
import { listSubjectTokens } from '../management/inspect.ts'
import type { ListRequest } from '../management/list-request.ts'
import { showHistory } from './history.ts'
import { reasonIn, ticketIn } from './records.ts'
import { inputErrorOf } from './refusal.ts'
import { searchOf } from './search.ts'
import { isLive } from './state.ts'
import type { Visit } from './visit.ts'
import { dateOf, isoOf } from './words.ts'

const MOST = 10_000
const AT_ONCE = 100
/** Pages may be empty: storage reads up to 1,000 rows for one. */
const MOST_PAGES = 1_000

/** The history as a file, under the same filter. */
export async function downloadHistory(visit: Visit): Promise<void> {
  const { ctx, now } = visit
  let search: ListRequest
  try {
    search = searchOf(ctx.querystring, AT_ONCE)
  } catch (thrown) {
    inputErrorOf(thrown)
    return showHistory(visit)
  }
  const lines = linesOf(visit, search)
  // Before the status is sent: storage that is down is a 503.
  const first = await lines.next()
  const file = Readable.from(resumed(first.value ?? '', lines))
  // A file that is cut off must not look complete. Koa 2 would leave the response open.
  file.on('error', () => ctx.res.destroy())
  ctx.type = 'text/csv'
  ctx.attachment(`impersonations-${dateOf(now)}.csv`)
  ctx.body = file
}

/** One text for each page of storage, also for an empty one: there it ends when the client has left. */
async function* linesOf(
  { service, lookup, now }: Visit,
  search: ListRequest,
): AsyncGenerator<string, undefined> {
  let head = lineOf(Object.keys(COLUMNS))
  let left = MOST
  let request = search
  for (let page = 0; page < MOST_PAGES && left > 0; page += 1) {
    const { items, nextCursor } = await listSubjectTokens(service, lookup, request)
    const taken = items.slice(0, left)
    yield head + taken.map((record) => lineOf(cellsOf(record, now))).join('')
    if (nextCursor === undefined) return
    head = ''
    left -= taken.length
    request = { ...search, cursor: nextCursor }
  }
}

async function* resumed(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

type Column = (record: SubjectTokenRecord, now: number) => string | number | undefined

/** Those of the history, with ids instead of names. */
const COLUMNS: Readonly<Record<string, Column>> = {
  started: ({ createdAt }) => isoOf(createdAt),
  engineer: ({ actor, actorId, consumedAt }) => (consumedAt === undefined ? actorId : actor?.sub),
  user: ({ userId }) => userId,
  application: ({ usedBy, clientId }) => usedBy ?? clientId,
  backend: ({ createdBy }) => createdBy,
  ticket: ({ context }) => ticketIn(context),
  reason: ({ context }) => reasonIn(context),
  scope: ({ scope }) => scope,
  resource: ({ resource }) => resource,
  state: (record, now) => (isLive(record, now) ? 'live' : record.state),
  exchanged: ({ consumedAt }) => consumedAt && isoOf(consumedAt),
  until: ({ accessToken, expiresAt }) => isoOf(accessToken?.expiresAt ?? expiresAt),
  'used again': ({ replay }) => replay && isoOf(replay.at),
  stopped: ({ revokedAt }) => revokedAt && isoOf(revokedAt),
  'stopped by': ({ revocation }) => revocation?.by,
  'stopped because': ({ revocation }) => revocation?.reason ?? revocation?.cause,
  jti: ({ accessToken }) => accessToken?.jti,
  record: ({ id }) => id,
}

const cellsOf = (record: SubjectTokenRecord, now: number): string[] =>
  Object.values(COLUMNS).map((column) => String(column(record, now) ?? ''))

/** RFC 4180, every cell with quotes. */
const lineOf = (cells: readonly string[]): string =>
  `${cells.map((cell) => `"${harmless(cell).replaceAll('"', '""')}"`).join(',')}\r\n`

/**
 * Spreadsheets take a cell that begins like this for a formula. A semicolon begins a cell where lists are separated by
 * it, with or without a quote, and a line break begins a row.
 */
const FORMULA = /(^|;)([\s"]*)([=+\-@\uff1d\uff0b\uff0d\uff20])/g

const harmless = (text: string): string =>
  text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ').replace(FORMULA, "$1$2'$3")
