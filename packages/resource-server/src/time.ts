/** Whole seconds: a duration, or a time since the epoch. The only unit of the public surface. */
export type Seconds = number

/** Seconds since the epoch with their fraction: how long something is kept is counted more finely than tokens live. */
export type Instant = number

export const instant = (): Instant => Date.now() / 1000
