/** Runs groups of cases until enough requests were sent, and says how to repeat a failure. */
import fc from 'fast-check'
import type { DatabaseKind } from '../fixtures/databases.ts'
import type { Group } from './group.ts'
import { heapAfterCollection } from './memory.ts'
import { openWorld, type Plant, type World } from './world.ts'

export interface RunOptions {
  readonly kind: DatabaseKind
  readonly groups: readonly Group[]
  readonly seed: number
  /** Requests, shared among the groups. */
  readonly count: number
  /** One case, as a failure names it. */
  readonly path?: string
  readonly plant?: Plant
  /** Milliseconds until a request without response counts as one that hangs. */
  readonly timeLimit?: number
  /** Whether a failing case is made smaller. */
  readonly shrinks?: boolean
  readonly tell?: (requests: number) => void
  /** Whether to end before `count` is reached. */
  readonly isOver?: () => boolean
}

export interface Failure {
  readonly group: string
  readonly seed: number
  readonly path: string
  readonly message: string
  /** The smallest case that was found to fail. */
  readonly example: string
}

/** Responses by group and status. */
export type Answers = Readonly<Record<string, Readonly<Record<string, number>>>>

export interface Report {
  readonly requests: number
  readonly answers: Answers
  /** Bytes by which the heap has grown in the second half of the run. */
  readonly growth: number
  readonly failure?: Failure
}

/** In the second half of a run, when every cache is full. */
const MOST_GROWTH = 16 * 1024 * 1024

/** What no single case has done. */
const NOWHERE = { group: '', seed: 0, path: '', example: '' }

/** Groups take turns, so that each meets the state that the others leave. */
const TURNS = 10

export async function run(options: RunOptions): Promise<Report> {
  const { groups, count, isOver = () => false } = options
  const world = await openWorld(options)
  const answers: Record<string, Record<string, number>> = {}
  const share = count / groups.length / TURNS
  let failure: Failure | undefined
  let half = 0
  try {
    for (let turn = 0; turn < TURNS && !failure && !isOver(); turn += 1) {
      if (turn === TURNS / 2) half = heapAfterCollection()
      for (const group of groups) {
        failure ??= await runGroup(world, group, options, { turn, until: world.sent.count + share })
        addTo(answers, group.name, world.answers)
      }
    }
    const growth = failure || half === 0 ? 0 : heapAfterCollection() - half
    if (growth > MOST_GROWTH) failure = { ...NOWHERE, message: `the heap grew by ${growth} bytes` }
    return { requests: world.sent.count, answers, growth, ...(failure && { failure }) }
  } finally {
    await world.close()
  }
}

function addTo(
  answers: Record<string, Record<string, number>>,
  group: string,
  more: Map<string, number>,
): void {
  const counts = answers[group] ?? {}
  for (const [status, count] of more) counts[status] = (counts[status] ?? 0) + count
  answers[group] = counts
  more.clear()
}

/** Cases that share a seed. A run of any length goes from one seed to the next. */
const CASES = 25
/** More than the seeds of a turn. */
const SEEDS = 1_000_003
/** More than the seeds of a run. */
const SEEDS_OF_RUN = TURNS * SEEDS

/** The seed of a piece of a longer run, by its number from 0. No two send the same requests. */
export const seedOfPiece = (first: number, piece: number): number => (first + piece * SEEDS_OF_RUN) % 2 ** 31

async function runGroup(
  world: World,
  group: Group,
  { seed: first, path, shrinks = true, isOver = () => false, tell }: RunOptions,
  { turn, until }: { readonly turn: number; readonly until: number },
): Promise<Failure | undefined> {
  if (path !== undefined)
    return check(world, group, { seed: first, path, shrinks, until: Number.POSITIVE_INFINITY })
  for (let seed = first + turn * SEEDS; world.sent.count < until && !isOver(); seed += 1) {
    const failure = await check(world, group, { seed, shrinks, until })
    if (failure) return failure
    tell?.(world.sent.count)
    const token = await world.tokenInTables()
    if (token !== undefined)
      return { ...NOWHERE, group: group.name, seed, message: `a column holds ${token}` }
  }
  return undefined
}

interface Cases {
  readonly seed: number
  readonly path?: string
  readonly shrinks: boolean
  readonly until: number
}

async function check(
  world: World,
  group: Group,
  { seed, path, shrinks, until }: Cases,
): Promise<Failure | undefined> {
  const result = await fc.check(group.property(world, until), {
    seed,
    numRuns: CASES,
    endOnFailure: !shrinks,
    ...(path !== undefined && { path }),
  })
  if (!result.failed) return undefined
  const { errorInstance: error } = result
  return {
    group: group.name,
    seed,
    path: result.counterexamplePath ?? '',
    message: error instanceof Error ? error.message : String(error),
    example: fc.stringify(result.counterexample?.[0]),
  }
}
