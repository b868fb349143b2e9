import type { Seconds } from '../clock.ts'
import { AccessDenied, denied, functionFailed } from '../refusals.ts'

export type CallbackName = 'findAccount' | 'isAllowed' | 'getCustomJwtClaims' | 'extraTokenClaims'

/**
 * Calls one of the deployment's functions, sync or async, under the time limit. `AccessDenied` is a decision of
 * policy and claims function; whatever else goes wrong is a failure of the server (500) that says nothing to the
 * client.
 */
export async function callDeployment<Result>(
  name: CallbackName,
  timeLimit: Seconds,
  call: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    const answer = call()
    // An answer that is there cannot be late: no timer for it.
    return isThenable(answer) ? await within(timeLimit, answer) : answer
  } catch (error) {
    if (error instanceof TooLate) throw functionFailed(name, `took more than ${timeLimit} s`)
    if (name !== 'extraTokenClaims' && error instanceof AccessDenied) throw denied(name, error.message)
    throw functionFailed(name, 'failed', error)
  }
}

class TooLate extends Error {}

async function within<Result>(timeLimit: Seconds, answer: PromiseLike<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooLate()), timeLimit * 1000)
  })
  try {
    return await Promise.race([answer, tooLate])
  } finally {
    clearTimeout(timer)
  }
}

const isThenable = <Result>(answer: Result | PromiseLike<Result>): answer is PromiseLike<Result> =>
  typeof Reflect.get(Object(answer), 'then') === 'function'
