/** The kill switch, batch by batch. */
import type { Seconds } from '../../clock.ts'
import { earliestId } from '../../subject-tokens/id.ts'
import type { KillFilter, Revoked } from '../../subject-tokens/store.ts'
import { LONGEST_LIFE } from '../../subject-tokens/subject-token.ts'
import type { Dialect } from '../database/dialect.ts'
import type { Bound } from '../database/text.ts'
import { STOPS, TOKENS, USES } from '../tables.ts'
import { holds, type Named, NEWEST, newestOf } from './branches.ts'
import { type Ending, stepsOf } from './live.ts'
import { type Place, partsOf, recordsOf } from './place.ts'
import { readRevoked, STOPPABLE } from './rows.ts'
import { lives, type Stop, type Stoppable, stop, stoppable } from './stop.ts'

/** Rows of a name that one statement looks at. A name with more is looked for among all that is open, and all that lives. */
const FEW = 1000
/** Rows that one statement finds. */
const FOUND = 5000
/** Rows that are stopped together. */
const BATCH = 500
/** Walks through the rows: more than one, because others commit meanwhile, but bounded, so that it ends. */
const WALKS = 5

/** What has not ended: someone could exchange it, or its access token has not expired. The time is a parameter. */
const HAS_NOT_ENDED: Readonly<Record<Ending, (now: string) => string>> = {
  open: (now) => `(u.used_at IS NULL AND t.expires_at > ${now})`,
  live: (now) => `COALESCE(u.access_token_expires_at, 0) > ${now}`,
}

/** No one has stopped it; or, at the first walk, the call that did may have died before it had ended it, or told of it. */
const isLeft = (again: boolean): string =>
  again
    ? 's.stopped_at IS NULL'
    : '(s.stopped_at IS NULL OR u.token_id IS NULL OR (s.reported IS NULL AND u.used_at IS NOT NULL))'

interface Kill {
  readonly place: Place
  readonly filter: KillFilter
  readonly how: Stop
}

/** Reads each batch before the next one is stopped: if the database fails, the caller misses one batch at most. */
export async function* killInBatches({ place, filter, how }: Kill): AsyncGenerator<readonly Revoked[]> {
  const startedAt = Date.now()
  for (let walk = 0; walk < WALKS; walk += 1) {
    let found = 0
    for await (const part of findInBatches({ place, filter, now: how.now, again: walk > 0 })) {
      found += part.length
      // The caller may take its time between batches, and status lists look back only so far.
      const passed = Math.floor(Math.max(0, Date.now() - startedAt) / 1000)
      const now = how.now + passed
      const stopped = await stop(place, part, { ...how, now })
      const before = new Set(part.filter(({ row }) => row.s_stopped_at === null).map(({ id }) => id))
      const told = stopped.filter((token) => before.has(token.id) || lives(token, now))
      if (told.length > 0) yield told.map(({ row }) => readRevoked(place, row))
    }
    if (found === 0) return
  }
}

interface Search {
  readonly place: Place
  readonly filter: KillFilter
  readonly now: Seconds
  readonly again: boolean
}

async function* findInBatches(search: Search): AsyncGenerator<readonly Stoppable[]> {
  const few = await findFew(search)
  if (few) return yield* partsOf(few, [BATCH])
  // What is spent in between was open before.
  for (const ending of ['open', 'live'] as const) yield* findByEnd(search, ending)
}

/** All of a name, unless they are many. Older rows are left out: their access tokens must have expired. */
async function findFew({ place, filter, now, again }: Search): Promise<readonly Stoppable[] | undefined> {
  const { database, dialect, number } = place
  const [by, name] = namedBy(filter)
  const span = { issuer: '$1', from: '$3', below: '$4' }
  const newest = (limit: number) => newestOf(dialect, { by, names: ['$2'], span, limit })
  const oldest = earliestId(now - 2 * LONGEST_LIFE)
  const bind: Bound[] = [number, dialect.bindName(name), dialect.bindId(oldest), dialect.bindId(NEWEST)]
  const end = `SELECT found FROM (${newest(FEW)}) rows_found ORDER BY found DESC LIMIT 1 OFFSET ${FEW - 1}`
  if ((await database.find(end, bind)).length > 0) return undefined
  // Twice as many: others may be issued or exchanged meanwhile.
  const sql = `SELECT ${STOPPABLE} FROM ${recordsOf(dialect, newest(2 * FEW), '$1')}
    WHERE (${HAS_NOT_ENDED.open('$5')} OR ${HAS_NOT_ENDED.live('$5')}) AND ${isLeft(again)}`
  return (await database.find(sql, [...bind, now])).map((row) => stoppable(row))
}

/** The rows of a step. A stop is looked up before the token is, so that tokens are read of what is left alone. */
const ending = (dialect: Dialect, again: boolean): Readonly<Record<Ending, string>> => ({
  open: `${TOKENS.name} t ${dialect.by(`${TOKENS.name}_open`)}
    ${dialect.lookUpEach(USES.name, 'u', 'u.issuer = t.issuer AND u.token_id = t.id')}
    ${dialect.lookUpEach(STOPS.name, 's', 's.issuer = t.issuer AND s.token_id = t.id')}
    WHERE t.issuer = $1 AND t.open = $2 AND ${isLeft(again)}`,
  live: `${USES.name} u ${dialect.by(`${USES.name}_live`)}
    ${dialect.lookUpEach(STOPS.name, 's', 's.issuer = u.issuer AND s.token_id = u.token_id')}
    ${dialect.joinEach(TOKENS.name, 't', `t.issuer = u.issuer AND t.id = u.token_id AND ${isLeft(again)}`)}
    WHERE u.issuer = $1 AND u.live = $2`,
})

/** What its index sorts a step by. */
const KEYS: Readonly<Record<Ending, string>> = { open: 't.id', live: 'u.token_id' }

type SearchByEnd = Omit<Search, 'filter'> & Partial<Search>

/** Gathered, because most steps have few rows of a name. No batch has a row twice. */
export async function* findByEnd(search: SearchByEnd, by: Ending): AsyncGenerator<readonly Stoppable[]> {
  const gathered: Stoppable[] = []
  try {
    for await (const found of findInSteps(search, by)) {
      gathered.push(...found)
      while (gathered.length >= BATCH) yield gathered.splice(0, BATCH)
    }
  } catch (error) {
    // What was found before is stopped all the same.
    if (gathered.length > 0) yield gathered
    throw error
  }
  if (gathered.length > 0) yield gathered
}

/** Of each step the newest first, so that a step of many is found in parts. */
async function* findInSteps(
  { place, filter, now, again }: SearchByEnd,
  by: Ending,
): AsyncGenerator<readonly Stoppable[]> {
  const { database, dialect, number } = place
  const [column, name] = filter ? namedBy(filter) : []
  const named = column === undefined ? '' : `AND ${holds(column, ['$5'])}`
  const sql = `SELECT ${STOPPABLE} FROM ${ending(dialect, again)[by]}
    AND ${KEYS[by]} < $3 AND ${HAS_NOT_ENDED[by]('$4')} ${named} ORDER BY ${KEYS[by]} DESC LIMIT ${FOUND}`
  const bound = name === undefined ? [] : [dialect.bindName(name)]
  for await (const step of stepsOf(place, by, now)) {
    for (let below: string | undefined = NEWEST; below !== undefined; ) {
      const bind: Bound[] = [number, step, dialect.bindId(below), now, ...bound]
      const found: Stoppable[] = (await database.find(sql, bind)).map((row) => stoppable(row))
      yield found
      below = found.length < FOUND ? undefined : found.at(-1)?.id
    }
  }
}

function namedBy(filter: KillFilter): [by: Named, name: string] {
  if ('userId' in filter) return ['userId', filter.userId]
  return 'actorId' in filter ? ['actorId', filter.actorId] : ['createdBy', filter.createdBy]
}
