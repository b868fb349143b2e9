import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { ListRequest } from '../records/list.ts'
import type { SubjectTokenRecord } from '../records/record.ts'
import { tried } from './form.ts'
import { historyPage, searchOf } from './history.ts'
import { engineerOf, pagesOf, reasonIn, requestOf, ticketIn } from './records.ts'
import { endOf, isLive } from './state.ts'
import type { Page, Visit } from './visit.ts'
import { dateOf, isoOf } from './words.ts'

const MOST = 10_000
const AT_ONCE = 100
/** Pages may be empty: storage reads up to 1,000 rows for one. */
const MOST_PAGES = 1_000

export async function downloadHistory(visit: Visit): Promise<Page | undefined> {
  const { ctx, now } = visit
  const { result: request } = await tried(() => requestOf(searchOf(ctx.querystring), AT_ONCE))
  // Which says what is wrong.
  if (!request) return historyPage(visit)
  const file = Readable.from(linesOf(visit, request))
  // Before the status is sent: storage that is down is a 503.
  await once(file, 'readable')
  // A file that is cut off must not look complete. Koa 2 would leave the response open.
  file.on('error', () => ctx.res.destroy())
  ctx.type = 'text/csv'
  ctx.attachment(`impersonations-${dateOf(now)}.csv`)
  ctx.body = file
  return undefined
}

/** One text for each page of storage, also for an empty one: there it ends when the client has left. */
async function* linesOf(visit: Visit, request: ListRequest): AsyncGenerator<string> {
  let head = lineOf(Object.keys(COLUMNS))
  let left = MOST
  for await (const { items } of pagesOf(visit, request, MOST_PAGES)) {
    const taken = items.slice(0, left)
    yield head + taken.map((record) => lineOf(cellsOf(record, visit.now))).join('')
    head = ''
    left -= taken.length
    if (left === 0) return
  }
}

type Column = (record: SubjectTokenRecord, now: number) => string | number | undefined

/** Those of the history, with ids instead of names. */
const COLUMNS: Readonly<Record<string, Column>> = {
  started: ({ createdAt }) => isoOf(createdAt),
  engineer: engineerOf,
  user: ({ userId }) => userId,
  application: ({ usedBy, clientId }) => usedBy ?? clientId,
  backend: ({ createdBy }) => createdBy,
  ticket: ({ context }) => ticketIn(context),
  reason: ({ context }) => reasonIn(context),
  scope: ({ scope }) => scope,
  resource: ({ resource = [] }) => [resource].flat().join(' '),
  state: (record, now) => (isLive(record, now) ? 'live' : record.state),
  exchanged: ({ consumedAt }) => consumedAt && isoOf(consumedAt),
  until: (record) => isoOf(endOf(record)),
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
