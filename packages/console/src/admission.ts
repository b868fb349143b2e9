/** Who may come in: first the origin of a request, then the person, then their rights. */

import type { Context } from 'koa'
import { RecordError, type Seconds } from 'oidc-provider-impersonation'
import { isOfThisOrigin, isPlainObject, isStorableName, within } from 'oidc-provider-impersonation/inside'
import type { Administrator, ConsoleOptions, ConsoleRight } from './options.ts'

const forbidden = (text: string) => new RecordError({ status: 403, code: 'forbidden', public: text })

/** The console may share its origin with the provider, and with applications. */
export function assertSameOrigin(ctx: Context): void {
  if (!isOfThisOrigin(ctx)) throw forbidden('this request did not come from a page of the console')
}

const REFUSALS: Readonly<Record<ConsoleRight, string>> = {
  see: 'you may not see this console',
  stop: 'you may not stop impersonations',
  stopAll: 'you may not stop all impersonations of a person or of a backend',
}

/** @throws a refusal for no one; an error for what `authorize` may not return, which tells the client nothing. */
export async function administratorOf(
  ctx: Context,
  authorize: ConsoleOptions['authorize'],
  timeLimit: Seconds,
): Promise<Administrator> {
  const asking = async (): Promise<unknown> => authorize(ctx)
  const given = await within(timeLimit, asking()).catch((cause: unknown) => {
    // Whatever its class: none must decide that it is a refusal.
    throw new Error('authorize failed', { cause })
  })
  if (given === undefined || given === null || given === false) throw forbidden(REFUSALS.see)
  if (!isAdministrator(given))
    throw new TypeError("authorize must return { id, can: ['see', 'stop', 'stopAll'] } or undefined")
  return { id: given.id, can: [...given.can] }
}

function isAdministrator(value: unknown): value is Administrator {
  if (!isPlainObject(value) || !isStorableName(value.id) || !Array.isArray(value.can)) return false
  return value.can.every((right) => Object.keys(REFUSALS).includes(right))
}

export function assertRight({ can }: Administrator, right: ConsoleRight): void {
  if (can.includes(right)) return
  // A successful stop leads to its record, also those who may not see it.
  const stopped =
    right === 'see' && can.includes('stop') ? '. A stop that led here was carried out. So was a note' : ''
  throw forbidden(REFUSALS[right] + stopped)
}
