/** Whole seconds: a duration, or a time since the epoch. The only unit of the public surface. */
export type Seconds = number

/** Seconds since the epoch with their fraction. */
export const instant = (): number => Date.now() / 1000
