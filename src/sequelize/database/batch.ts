/**
 * Calls of one kind made in the same turn of the event loop share one run, which begins when the turn ends.
 * Knows neither SQL nor connections.
 */
export interface BatchOptions<Kind, Call> {
  /** A key that calls share if they may share a run. Read for each call, so it must be at hand, not built. */
  readonly keyOf: (kind: Kind) => unknown
  /** How many calls one run takes at most. */
  readonly most: (kind: Kind) => number
  /** An order that is the same in every process, so that no two batches wait for each other's rows. */
  readonly compare: (one: Call, other: Call) => number
  /** Whether a batch that failed was rolled back or refused as a whole, so that each call may run alone. */
  readonly maySplit: (error: unknown) => boolean
}

interface Waiting<Call, Outcome> {
  readonly call: Call
  resolve(outcome: Outcome): void
  reject(error: unknown): void
}

export function inBatches<Kind, Call, Outcome>(
  run: (kind: Kind, calls: readonly Call[]) => Promise<readonly Outcome[]>,
  { keyOf, most, compare, maySplit }: BatchOptions<Kind, Call>,
): (kind: Kind, call: Call) => Promise<Outcome> {
  const open = new Map<unknown, Waiting<Call, Outcome>[]>()

  const send = (kind: Kind, batch: Waiting<Call, Outcome>[]) => {
    if (open.get(keyOf(kind)) !== batch) return // it filled up and ran before the turn ended
    open.delete(keyOf(kind))
    batch.sort((one, other) => compare(one.call, other.call))
    void settle(kind, batch)
  }
  const settle = async (kind: Kind, batch: readonly Waiting<Call, Outcome>[]) => {
    const calls = batch.map(({ call }) => call)
    try {
      const outcomes = await run(kind, calls)
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] as Outcome)
    } catch (error) {
      if (batch.length > 1 && maySplit(error)) for (const one of batch) void settle(kind, [one])
      else for (const { reject } of batch) reject(error)
    }
  }
  return (kind, call) =>
    new Promise((resolve, reject) => {
      let batch = open.get(keyOf(kind))
      if (!batch) {
        batch = []
        open.set(keyOf(kind), batch)
        setImmediate(send, kind, batch)
      }
      if (batch.push({ call, resolve, reject }) === most(kind)) send(kind, batch)
    })
}
