/**
 * Calls of one kind made in the same turn of the event loop share one run, which begins when the turn ends.
 * Knows neither SQL nor connections.
 */
export interface BatchOptions<Call> {
  /** Calls in one run. More would save little, and make the first wait for the last. */
  readonly max: number
  /** The same order in every process, so that no two batches wait for each other's rows. */
  readonly compare: (one: Call, other: Call) => number
  /** Whether a batch that failed was rolled back or refused as a whole, so that each call may run alone. */
  readonly maySplit: (error: unknown) => boolean
}

interface Waiting<Call, Outcome> {
  readonly call: Call
  resolve(outcome: Outcome): void
  reject(error: unknown): void
}

export function inBatches<Call, Outcome>(
  run: (kind: string, calls: readonly Call[]) => Promise<readonly Outcome[]>,
  { max, compare, maySplit }: BatchOptions<Call>,
): (kind: string, call: Call) => Promise<Outcome> {
  const open = new Map<string, Waiting<Call, Outcome>[]>()

  const send = (kind: string, batch: Waiting<Call, Outcome>[]) => {
    if (open.get(kind) !== batch) return // it filled up and ran before the turn ended
    open.delete(kind)
    batch.sort((one, other) => compare(one.call, other.call))
    void settle(kind, batch)
  }
  const settle = async (kind: string, batch: readonly Waiting<Call, Outcome>[]) => {
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
      let batch = open.get(kind)
      if (!batch) {
        batch = []
        open.set(kind, batch)
        setImmediate(send, kind, batch)
      }
      if (batch.push({ call, resolve, reject }) === max) send(kind, batch)
    })
}
