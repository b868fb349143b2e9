/** Whether something grows: the line through its samples. */

export interface Sample {
  /** Seconds since the start. */
  readonly at: number
  readonly value: number
}

/** By least squares, per minute. */
export function slopeOf(samples: readonly Sample[]): number {
  const count = samples.length
  if (count < 2) return 0
  const mean = (pick: (sample: Sample) => number) =>
    samples.reduce((sum, sample) => sum + pick(sample), 0) / count
  const [at, value] = [mean((sample) => sample.at), mean((sample) => sample.value)]
  const both = samples.reduce((sum, sample) => sum + (sample.at - at) * (sample.value - value), 0)
  const spread = samples.reduce((sum, sample) => sum + (sample.at - at) ** 2, 0)
  return (60 * both) / spread
}
