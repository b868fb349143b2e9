import { type Seconds, TooLate, within } from '../clock.ts'
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

const isThenable = <Result>(result: Result | PromiseLike<Result>): result is PromiseLike<Result> =>
  typeof Reflect.get(Object(result), 'then') === 'function'
