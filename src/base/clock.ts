/** Whole seconds: a duration, or a time since the epoch. The only unit of time in this package. */
export type Seconds = number

export const epochTime = (): Seconds => Math.floor(Date.now() / 1000)

/** Has the code that the system gives to a connection that timed out. */
export class TooLate extends Error {
  readonly code = 'ETIMEDOUT'
}

/**
 * The limit keeps the process alive, unless `isIdle`: a process that has nothing else to do may end then.
 *
 * @throws {TooLate} when the result takes longer. It may still come: then `late` gets it, and its rejection is handled.
 */
export async function within<Result>(
  timeLimit: Seconds,
  result: PromiseLike<Result>,
  { late = () => {}, isIdle = false }: { late?: (result: Result) => void; isIdle?: boolean } = {},
): Promise<Result> {
  // A thenable may begin its work in `then`, which is called once.
  const once = Promise.resolve(result)
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TooLate('the time limit is over'))
      once.then(late, () => {})
    }, timeLimit * 1000)
    if (isIdle) timer.unref()
  })
  try {
    return await Promise.race([once, tooLate])
  } finally {
    clearTimeout(timer)
  }
}

/** The value of a key, at most `age` old; otherwise `find` is called. */
type Recall<Key, Value> = (key: Key, age: Seconds, find: () => Promise<Value>) => Promise<Value>

/**
 * A memory for what is costly to find. It is found once for all who ask meanwhile, one at a time, whatever the key. An age
 * counts from the start of the call: what has happened since then may be missing from the result.
 *
 * @param size more than this many are not kept: the one that was found first goes.
 * @param keepsFailures whether a rejection is kept as a result is.
 */
export function createMemory<Key, Value>(size: number, keepsFailures = false): Recall<Key, Value> {
  const kept = new Map<Key, { readonly since: number; readonly value: Promise<Value>; underWay: boolean }>()
  let last: Promise<void> | undefined
  return (key, age, find) => {
    const known = kept.get(key)
    const passed = Date.now() - (known?.since ?? 0)
    // A clock that was set back says nothing of an age.
    if (known && (known.underWay || (passed >= 0 && passed < age * 1000))) return known.value
    const since = Date.now()
    const value = last ? last.then(find) : find()
    const entry = { since, value, underWay: true }
    kept.delete(key)
    kept.set(key, entry)
    for (const oldest of kept.keys()) if (kept.size > size) kept.delete(oldest)
    const end = (keep: boolean) => {
      entry.underWay = false
      if (!keep && kept.get(key) === entry) kept.delete(key)
      if (last === ended) last = undefined
    }
    const ended = value.then(
      () => end(true),
      () => end(keepsFailures),
    )
    last = ended
    return value
  }
}

/** Calls `read` at most once a second, however many ask, and remembers for that second what it returned or threw. */
export function onceASecond<Result>(read: () => Promise<Result>): () => Promise<Result> {
  const recall = createMemory<'it', Result>(1, true)
  return () => recall('it', 1, read)
}
