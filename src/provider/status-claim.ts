/** The status of a token stands at an index of a list (draft-ietf-oauth-status-list §6.2). */
import type { Seconds } from '../base/clock.ts'
import { isPlainObject, type JsonObject } from '../base/json.ts'
import { isStatusListBase, type StatusListOptions } from '../options.ts'
import { STATUS_LIST_SIZE } from '../tokens/subject-token.ts'

/** The status lists of one provider. */
export interface StatusLists {
  /** The address of a list is this, `/` and its number. */
  readonly base: string
  readonly ttl: Seconds
}

/** @throws {TypeError} where the address of the lists follows from a management resource that is no web address. */
export function resolveStatusLists(
  options: StatusListOptions | false,
  managementResource: string,
): StatusLists | undefined {
  if (!options) return undefined
  const base = options.uri ?? defaultBase(managementResource)
  if (!isStatusListBase(base)) {
    throw new TypeError(
      'option statusList.uri is required where the management resource is no http or https URL',
    )
  }
  return { base, ttl: options.ttl }
}

/** The address of the lists unless the option `statusList.uri` is given. */
export const defaultBase = (managementResource: string): string =>
  `${managementResource.replace(/\/$/, '')}/status-lists`

export const listUri = ({ base }: Pick<StatusLists, 'base'>, list: number): string => `${base}/${list}`

/** The claim `status` of an access token whose record has this status index. */
export function statusClaim(lists: StatusLists, statusIndex: number): JsonObject {
  const list = Math.floor(statusIndex / STATUS_LIST_SIZE)
  return { status_list: { idx: statusIndex % STATUS_LIST_SIZE, uri: listUri(lists, list) } }
}

/** The number of a list as an address spells it: in one way only. */
export const LIST_NUMBER = /^(0|[1-9]\d{0,9})$/

/** The status index that a claim `status` refers to; `undefined` if it is not one of ours. */
export function readStatusIndex({ base }: StatusLists, status: unknown): number | undefined {
  const { idx, uri } = isPlainObject(status) && isPlainObject(status.status_list) ? status.status_list : {}
  if (typeof idx !== 'number' || !Number.isInteger(idx) || idx < 0 || idx >= STATUS_LIST_SIZE)
    return undefined
  // Compared as text: the token was given the address in one spelling.
  if (typeof uri !== 'string' || !uri.startsWith(`${base}/`)) return undefined
  const list = uri.slice(base.length + 1)
  return LIST_NUMBER.test(list) ? Number(list) * STATUS_LIST_SIZE + idx : undefined
}
