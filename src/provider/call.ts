import { type Seconds, TooLate, within } from '../base/clock.ts'
import { AccessDenied, type CallbackName, denied, functionFailed } from '../base/errors.ts'
import { isPlainObject } from '../base/json.ts'
import { timeCall } from '../metrics/metrics.ts'
import type { SessionOptions } from '../options.ts'

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

/** Seconds that a page waits for names. */
const PATIENCE: Seconds = 1

/**
 * The names of accounts, as the deployment's `nameOf` gives them. Without usable names people are shown by id, and the
 * operator is told why.
 */
export async function askNames(
  nameOf: SessionOptions['nameOf'],
  ids: readonly string[],
  report: (error: unknown) => void,
): Promise<(id: string) => string> {
  if (!nameOf) return (id) => id
  const asking = async (): Promise<ReadonlyMap<unknown, unknown>> => {
    const names: unknown = await nameOf([...new Set(ids)])
    if (names instanceof Map) return names
    throw new TypeError('nameOf must return a Map')
  }
  const names = await within(PATIENCE, asking()).catch((error: unknown) => void report(error))
  return (id) => nameIn(names?.get(id)) ?? id
}

function nameIn(value: unknown): string | undefined {
  const name = isPlainObject(value) ? value.name : value
  return typeof name === 'string' && name.trim() !== '' ? name : undefined
}
