/** Chains of those who act (RFC 8693 §4.1): the newest outermost, each earlier one in its `act`. */
import { isPlainObject, withoutUndefined } from '../base/json.ts'
import type { ActClaim, ActingParty } from './subject-token.ts'

/** Every `sub` of a chain, newest first. */
export const subsOf = (newest: ActClaim | undefined): readonly string[] =>
  newest ? [newest.sub, ...subsOf(newest.act)] : []

/** One link of a claim. An API, which passes a person on, has its `sub` as `client_id`, too. */
type Link = { readonly sub: string; readonly client_id?: string }
type Chain<One extends Link> = One & { readonly act?: Chain<One> }

/** Who acts, by these members only: this decides what an event and a record contain. */
export const shownActor = (actor: ActingParty | undefined): ActingParty | undefined =>
  actor && withoutUndefined({ sub: actor.sub, act: actor.act, clientId: actor.clientId })

/** The chain of these, newest first; `undefined` without any. */
export function chainOf<One extends Link>([newest, ...earlier]: readonly One[]): Chain<One> | undefined {
  if (!newest) return undefined
  const act = chainOf(earlier)
  return act ? { ...newest, act } : newest
}

/** The people and the APIs of a claim, newest first. APIs stand outside people. `undefined`: it is malformed. */
export function readAct(value: unknown): { people: readonly string[]; apis: readonly string[] } | undefined {
  if (value === undefined) return { people: [], apis: [] }
  const { sub, act, client_id: clientId, ...rest } = isPlainObject(value) ? value : {}
  const earlier = readAct(act)
  if (typeof sub !== 'string' || sub === '' || Object.keys(rest).length > 0 || !earlier) return undefined
  if (clientId === sub) return { people: earlier.people, apis: [sub, ...earlier.apis] }
  if (clientId !== undefined || earlier.apis.length > 0) return undefined
  return { people: [sub, ...earlier.people], apis: [] }
}
