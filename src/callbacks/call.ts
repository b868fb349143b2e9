import type { Seconds } from '../clock.ts'
import { AccessDenied, type CallbackName, denied, functionFailed } from '../refusals.ts'

/**
 * Calls one of the deployment's functions, sync or async, under the time limit.
 *
 * @throws a refusal when the function throws `AccessDenied`, which is a decision; a failure (500) that tells the
 * client nothing when it throws anything else, or takes too long.
 */
export async function callDeployment<Result>(
  name: CallbackName,
  timeLimit: Seconds,
  call: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    const result = call()
    // What a function has returned cannot be late: no timer for it.
    return isThenable(result) ? await within(timeLimit, result) : result
  } catch (error) {
    if (error instanceof TooLate)
      throw functionFailed({ check: name, private: `took more than ${timeLimit} s` })
    if (name !== 'extraTokenClaims' && error instanceof AccessDenied)
      throw denied({ check: name, private: error.message })
    throw functionFailed({ check: name, private: 'failed', cause: error })
  }
}

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

const isThenable = <Result>(result: Result | PromiseLike<Result>): result is PromiseLike<Result> =>
  typeof Reflect.get(Object(result), 'then') === 'function'
