/** Whole seconds: a duration, or a time since the epoch. The only unit of time in this package. */
export type Seconds = number

export const epochTime = (): Seconds => Math.floor(Date.now() / 1000)
