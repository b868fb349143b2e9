/**
 * Calls that come in the same turn of the event loop go together: one run for all of them. A call that is alone
 * goes when the turn ends. Knows neither SQL nor connections.
 */
export interface BatchOptions<Call> {
  /** More would save little, and let the first wait for the last. */
  readonly max: number
  /** One order in every process, so that no two batches wait for each other's rows. */
  readonly compare: (one: Call, other: Call) => number
  /** Whether a failed batch had no effect, so that each call may be run alone. */
  readonly maySplit: (error: unknown) => boolean
}

interface Waiting<Call, Answer> {
  readonly call: Call
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export function inBatches<Call, Answer>(
  run: (calls: readonly Call[]) => Promise<readonly Answer[]>,
  { max, compare, maySplit }: BatchOptions<Call>,
): (call: Call) => Promise<Answer> {
  let open: Waiting<Call, Answer>[] = []

  const send = (batch: Waiting<Call, Answer>[]) => {
    if (batch !== open) return // it was full, and went before the turn ended
    open = []
    void settle(batch.sort((one, other) => compare(one.call, other.call)))
  }
  const settle = async (batch: readonly Waiting<Call, Answer>[]) => {
    try {
      const answers = await run(batch.map(({ call }) => call))
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Answer)
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
