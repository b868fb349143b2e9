import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { RecordQuery, SubjectTokenRecord } from 'oidc-provider-impersonation'
import { tried } from '../form.ts'
import { endOf, lastedOf, wordOf } from '../state.ts'
import { engineerOf, reasonIn, ticketIn } from '../table.ts'
import type { Page, Visit } from '../visit.ts'
import { dateOf, isoOf } from '../words.ts'
import { historyPage, queryIn } from './history.ts'

const MOST = 10_000
const AT_ONCE = 100
/** Pages may be empty: storage reads up to 1,000 rows for one. */
const MOST_PAGES = 1_000

export async function downloadHistory(visit: Visit): Promise<Page | undefined> {
  const { ctx, now } = visit
  const { result: query } = await tried(() => queryIn(ctx.querystring))
  // The history says what is wrong.
  if (!query) return historyPage(visit)
  const file = Readable.from(linesOf(visit, query))
  // The first page is read before the status is sent: storage that is down is a 503.
  const { error } = await tried(() => once(file, 'readable'))
  if (error) return historyPage(visit)
  // A file that is cut off must not look complete. Koa 2 would leave the response open.
  file.on('error', () => ctx.res.destroy())
  ctx.type = 'text/csv'
  ctx.attachment(`impersonations-${dateOf(now)}.csv`)
  ctx.body = file
  return undefined
}

/** One text for each page of storage, also for an empty one: there it ends when the client has left. */
async function* linesOf({ records, now }: Visit, query: RecordQuery): AsyncGenerator<string> {
  let head = lineOf(Object.keys(COLUMNS))
  let left = MOST
  let cursor = query.cursor
  for (let pages = 0; pages < MOST_PAGES && left > 0; pages += 1) {
    const { items, nextCursor } = await records.list({ ...query, cursor, limit: AT_ONCE })
    const taken = items.slice(0, left)
    yield head + taken.map((record) => lineOf(cellsOf(record, now))).join('')
    head = ''
    left -= taken.length
    cursor = nextCursor
    if (cursor === undefined) return
  }
}

type Column = (record: SubjectTokenRecord, now: number) => string | number | undefined

/** The columns of the history, with ids instead of names. */
const COLUMNS: Readonly<Record<string, Column>> = {
  started: ({ createdAt }) => isoOf(createdAt),
  engineer: engineerOf,
  user: ({ userId }) => userId,
  application: ({ usedBy, clientId }) => usedBy ?? clientId,
  backend: ({ createdBy }) => createdBy,
  ticket: ({ context }) => ticketIn(context),
  reason: ({ context }) => reasonIn(context),
  scope: ({ scope }) => scope,
  'read only': ({ readOnly }) => readOnly && 'yes',
  resource: ({ resource = [] }) => [resource].flat().join(' '),
  state: (record, now) => wordOf(record, now).toLowerCase(),
  'lasted (s)': lastedOf,
  exchanged: ({ consumedAt }) => consumedAt && isoOf(consumedAt),
  until: (record) => isoOf(endOf(record)),
  'used again': ({ replay }) => replay && isoOf(replay.at),
  stopped: ({ revokedAt }) => revokedAt && isoOf(revokedAt),
  'stopped by': ({ revocation }) => revocation?.by,
  'stopped because': ({ revocation }) => revocation?.reason ?? revocation?.cause,
  'continued by': ({ revocation }) => revocation?.continuedBy,
  'looked into': ({ acknowledged }) => acknowledged?.map(({ by, note }) => `${by}: ${note}`).join('; '),
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
