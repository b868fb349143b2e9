import type { Context } from 'koa'
import { within } from '../callbacks/call.ts'
import type { Seconds } from '../clock.ts'
import { isPlainObject, isStorableName } from '../plain-json.ts'
import type { Administrator, ConsoleOptions, ConsoleRight } from './options.ts'
import { forbidden } from './refusal.ts'

const RIGHTS: readonly unknown[] = ['see', 'stop', 'stopAll'] satisfies ConsoleRight[]

/**
 * Who sends this request.
 *
 * @throws a refusal for no one; an error for what `authorize` may not return, which tells the client nothing.
 */
export async function administratorOf(
  ctx: Context,
  authorize: ConsoleOptions['authorize'],
  timeLimit: Seconds,
): Promise<Administrator> {
  const given = await ask(ctx, authorize, timeLimit)
  if (given === undefined || given === null || given === false)
    throw forbidden('You may not see this console')
  if (!isAdministrator(given))
    throw new TypeError("authorize must return { id, can: ['see', 'stop', 'stopAll'] } or undefined")
  return { id: given.id, can: [...given.can] }
}

/** Whatever it throws is a failure: a class of error must not decide that it is a refusal. */
async function ask(
  ctx: Context,
  authorize: ConsoleOptions['authorize'],
  timeLimit: Seconds,
): Promise<unknown> {
  try {
    return await within(timeLimit, Promise.resolve(authorize(ctx)))
  } catch (cause) {
    throw new Error('authorize failed', { cause })
  }
}

function isAdministrator(value: unknown): value is Administrator {
  if (!isPlainObject(value) || !isStorableName(value.id) || !Array.isArray(value.can)) return false
  return value.can.every((right) => RIGHTS.includes(right))
}

const REFUSALS: Readonly<Record<ConsoleRight, string>> = {
  see: 'You may not see this console',
  stop: 'You may not stop impersonations',
  stopAll: 'You may not stop all impersonations of a person',
}

export function assertRight({ can }: Administrator, right: ConsoleRight): void {
  if (can.includes(right)) return
  // A successful stop leads to its record, also those who may not see it.
  const stopped = right === 'see' && can.includes('stop') ? '. A stop that led here was carried out' : ''
  throw forbidden(REFUSALS[right] + stopped)
}
