/** Runs walks until enough requests were sent, and says how to repeat a failure. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { DatabaseKind } from '../../fixtures/databases.ts'
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

interface Failure {
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

/** Cases that share a seed. A run of any length goes from one seed to the next. */
const CASES = 25

export async function run(options: RunOptions): Promise<Report> {
  const { seed: first, path, count, shrinks = true, tell, isOver = () => false } = options
  const world = await openWorld(options.kind)
  const until = path === undefined ? count : Number.POSITIVE_INFINITY
  let failure: Failure | undefined
  let half: number | undefined
  try {
    for (let seed = first; !failure && world.sent.count < count && !isOver(); seed += 1) {
      failure = await check(world, { seed, path, shrinks, until })
      tell?.(world.sent.count)
      if (world.sent.count >= count / 2) half ??= heapAfterCollection()
      if (path !== undefined) break
    }
    const growth = failure || half === undefined ? 0 : heapAfterCollection() - half
    if (growth > MOST_GROWTH)
      failure = { seed: first, path: '', message: `the heap grew by ${growth} bytes`, example: '' }
    const answers = Object.fromEntries(world.answers)
    return { requests: world.sent.count, answers, growth, ...(failure && { failure }) }
  } finally {
    await world.close()
  }
}

/** In bytes, without garbage. */
function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  // Twice: the first lets finalizers release what the second collects.
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

async function check(
  world: World,
  { seed, path, shrinks, until }: Pick<RunOptions, 'seed' | 'path' | 'shrinks'> & { readonly until: number },
): Promise<Failure | undefined> {
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
