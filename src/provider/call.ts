import { type Seconds, TooLate, within } from '../base/clock.ts'
import { AccessDenied, type CallbackName, denied, functionFailed } from '../base/errors.ts'
import { timeCall } from '../metrics/metrics.ts'

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
  const end = timeCall(name)
  try {
    const called = call()
    // What a function has returned cannot be late: no timer for it.
    const result = isThenable(called) ? await within(timeLimit, called) : called
    end('returned')
    return result
  } catch (error) {
    if (error instanceof TooLate) {
      end('too_late')
      throw functionFailed({ check: name, private: `took more than ${timeLimit} s` })
    }
    if (name !== 'extraTokenClaims' && error instanceof AccessDenied) {
      end('denied')
      throw denied({ check: name, private: error.message })
    }
    end('failed')
    throw functionFailed({ check: name, private: 'failed', cause: error })
  }
}

const isThenable = <Result>(result: Result | PromiseLike<Result>): result is PromiseLike<Result> =>
  typeof Reflect.get(Object(result), 'then') === 'function'
