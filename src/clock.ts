/** Whole seconds: a duration, or a time since the epoch. The only unit of time in this package. */
export type Seconds = number

export const epochTime = (): Seconds => Math.floor(Date.now() / 1000)

export class TooLate extends Error {}

/** @throws {TooLate} when the result takes longer. It may still come: its rejection is handled. */
export async function within<Result>(timeLimit: Seconds, result: PromiseLike<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooLate()), timeLimit * 1000)
  })
  try {
    return await Promise.race([result, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
