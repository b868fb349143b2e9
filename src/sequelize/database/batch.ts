/**
 * Calls made in the same turn of the event loop share one run. A call that stays alone runs when the turn ends.
 * Knows neither SQL nor connections.
 */
export interface BatchOptions<Call> {
  /** Calls in one run. More would save little, and make the first wait for the last. */
  readonly max: number
  /** The same order in every process, so that no two batches wait for each other's rows. */
  readonly compare: (one: Call, other: Call) => number
  /** Whether a batch that failed had no effect, so that each call may run alone. */
  readonly maySplit: (error: unknown) => boolean
}

interface Waiting<Call, Outcome> {
  readonly call: Call
  resolve(outcome: Outcome): void
  reject(error: unknown): void
}

export function inBatches<Call, Outcome>(
  run: (calls: readonly Call[]) => Promise<readonly Outcome[]>,
  { max, compare, maySplit }: BatchOptions<Call>,
): (call: Call) => Promise<Outcome> {
  let open: Waiting<Call, Outcome>[] = []

  const send = (batch: Waiting<Call, Outcome>[]) => {
    if (batch !== open) return // it filled up and ran before the turn ended
    open = []
    void settle(batch.sort((one, other) => compare(one.call, other.call)))
  }
  const settle = async (batch: readonly Waiting<Call, Outcome>[]) => {
    try {
      const outcomes = await run(batch.map(({ call }) => call))
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] as Outcome)
    } catch (error) {
      if (batch.length > 1 && maySplit(error)) for (const one of batch) void settle([one])
      else for (const { reject } of batch) reject(error)
    }
  }
  return (call) =>
    new Promise((resolve, reject) => {
      if (open.push({ call, resolve, reject }) === 1) setImmediate(send, open)
      if (open.length === max) send(open)
    })
}
