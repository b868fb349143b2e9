/** Runs walks until enough requests were sent, and says how to repeat a failure. */
import fc from 'fast-check'
import type { DatabaseKind } from '../fixtures/databases.ts'
import { heapAfterCollection } from './memory.ts'
import { walks } from './walk/index.ts'
import { openWorld, type World } from './world.ts'

export interface RunOptions {
  readonly kind: DatabaseKind
  readonly seed: number
  /** Requests. */
  readonly count: number
  /** One case, as a failure names it. */
  readonly path?: string
  /** Whether a failing case is made smaller. */
  readonly shrinks?: boolean
  readonly tell?: (requests: number) => void
  /** Whether to end before `count` is reached. */
  readonly isOver?: () => boolean
}

export interface Failure {
  readonly seed: number
  readonly path: string
  readonly message: string
  /** The smallest case that was found to fail. */
  readonly example: string
}

/** Responses by status. */
type Answers = Readonly<Record<string, number>>

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
const NOWHERE = { seed: 0, path: '', example: '' }

/** Parts of a run, between which its heap is looked at. */
const TURNS = 10

export async function run(options: RunOptions): Promise<Report> {
  const { count, isOver = () => false } = options
  const world = await openWorld(options.kind)
  const share = count / TURNS
  let failure: Failure | undefined
  let half = 0
  try {
    for (let turn = 0; turn < TURNS && !failure && !isOver(); turn += 1) {
      if (turn === TURNS / 2) half = heapAfterCollection()
      failure = await runTurn(world, options, { turn, until: world.sent.count + share })
    }
    const growth = failure || half === 0 ? 0 : heapAfterCollection() - half
    if (growth > MOST_GROWTH) failure = { ...NOWHERE, message: `the heap grew by ${growth} bytes` }
    const answers = Object.fromEntries(world.answers)
    return { requests: world.sent.count, answers, growth, ...(failure && { failure }) }
  } finally {
    await world.close()
  }
}

/** Cases that share a seed. A run of any length goes from one seed to the next. */
const CASES = 25
/** More than the seeds of a turn. */
const SEEDS = 1_000_003
/** More than the seeds of a run. */
const SEEDS_OF_RUN = TURNS * SEEDS

/** The seed of a piece of a longer run, by its number from 0. No two send the same requests. */
export const seedOfPiece = (first: number, piece: number): number => (first + piece * SEEDS_OF_RUN) % 2 ** 31

async function runTurn(
  world: World,
  { seed: first, path, shrinks = true, isOver = () => false, tell }: RunOptions,
  { turn, until }: { readonly turn: number; readonly until: number },
): Promise<Failure | undefined> {
  if (path !== undefined) return check(world, { seed: first, path, shrinks, until: Number.POSITIVE_INFINITY })
  for (let seed = first + turn * SEEDS; world.sent.count < until && !isOver(); seed += 1) {
    const failure = await check(world, { seed, shrinks, until })
    if (failure) return failure
    tell?.(world.sent.count)
    const token = await world.tokenInTables()
    if (token !== undefined) return { ...NOWHERE, seed, message: `a column holds ${token}` }
  }
  return undefined
}

interface Cases {
  readonly seed: number
  readonly path?: string
  readonly shrinks: boolean
  readonly until: number
}

async function check(world: World, { seed, path, shrinks, until }: Cases): Promise<Failure | undefined> {
  const result = await fc.check(walks(world, until), {
    seed,
    numRuns: CASES,
    endOnFailure: !shrinks,
    ...(path !== undefined && { path }),
  })
  if (!result.failed) return undefined
  const { errorInstance: error } = result
  return {
    seed,
    path: result.counterexamplePath ?? '',
    message: error instanceof Error ? error.message : String(error),
    example: fc.stringify(result.counterexample?.[0]),
  }
}
