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
    // A result that is there cannot be late: no timer for it.
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

/** The time that a page waits for what it can do without. */
const PATIENCE: Seconds = 1

type Report = (error: unknown) => void

/** A person as the deployment names them. */
interface Person {
  readonly name: string
  /** Anything: a page links to it where it is an address. */
  readonly url?: unknown
}

/** The names of these accounts that have a usable one; `undefined` where the deployment names no one, or fails. */
export async function findNames(
  nameOf: SessionOptions['nameOf'],
  ids: readonly string[],
  report: Report,
): Promise<ReadonlyMap<string, Person> | undefined> {
  if (!nameOf) return undefined
  return answerOf(async () => {
    const names: unknown = await nameOf([...new Set(ids)])
    if (!(names instanceof Map)) throw new TypeError('nameOf must return a Map')
    const people = new Map<string, Person>()
    for (const id of ids) {
      const person = personIn(names.get(id))
      if (person) people.set(id, person)
    }
    return people
  }, report)
}

function personIn(value: unknown): Person | undefined {
  const given = typeof value === 'string' ? { name: value } : value
  if (!isPlainObject(given) || typeof given.name !== 'string' || given.name.trim() === '') return undefined
  return { name: given.name, url: given.url }
}

/** A result that a page can do without; `undefined` where the function fails or takes too long, and then the operator is told why. */
export async function answerOf<Answer>(
  ask: () => Promise<Answer>,
  report: Report,
): Promise<Answer | undefined> {
  try {
    return await within(PATIENCE, ask())
  } catch (error) {
    report(error)
    return undefined
  }
}
