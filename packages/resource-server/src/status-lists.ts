/** Whether a JWT has been stopped before its `exp`: the issuer's status lists (draft-ietf-oauth-status-list). */
import type { Issuer } from './discovery.ts'
import { Refused } from './errors.ts'
import type { Send } from './http.ts'
import { isObject } from './json.ts'
import { Keeper } from './kept.ts'
import type { ResolvedOptions } from './options.ts'
import { MAX_RESPONSE, readStatusList, type StatusList, statusAt } from './status-list.ts'

/** Where the status of a token stands. */
export interface StatusReference {
  readonly uri: string
  readonly index: number
}

/**
 * Reads the claim `status` of a token. With `base` `false`, where no list is looked up, nothing is asked of it.
 *
 * @throws {Refused} for what does not refer to a list of the issuer's: whatever it means, it cannot be looked up.
 */
export function readStatus(status: unknown, base: string | false): StatusReference | undefined {
  if (status === undefined || base === false) return undefined
  const { idx, uri } = isObject(status) && isObject(status.status_list) ? status.status_list : {}
  if (typeof idx !== 'number' || !Number.isSafeInteger(idx) || idx < 0)
    throw new Refused('status is malformed')
  // Compared as text: two ways to write one URL are a way to have another one fetched.
  if (
    typeof uri !== 'string' ||
    !uri.startsWith(`${base}/`) ||
    !/^\d{1,16}$/.test(uri.slice(base.length + 1))
  ) {
    throw new Refused('status refers to a list that is not of the issuer')
  }
  return { uri, index: idx }
}

/** @throws {Refused} when the token is stopped. @throws {ProviderUnavailable} when its list cannot be had. */
export type AssertNotStopped = (reference: StatusReference) => Promise<void>

/** At 131,072 tokens a list more than a day of a thousand exchanges a second, and 16 MiB. */
const MAX_LISTS = 1000

export function statusLists(
  { issuer, timeout }: ResolvedOptions,
  { keyOf }: Issuer,
  send: Send,
): AssertNotStopped {
  const lists = new Map<string, Keeper<StatusList>>()

  const listAt = (uri: string): Keeper<StatusList> => {
    const known = lists.get(uri)
    if (known) return known
    const list = new Keeper<StatusList>('status list', async (previous) => {
      // What begins to renew a list at half of its time has ended before the other half is over.
      const patience = previous ? Math.max(1, Math.min(timeout, previous.freshFor / 2)) : timeout
      const request = { what: 'status list', url: uri, accept: 'application/statuslist+jwt' }
      const jwt = await send({ ...request, limit: MAX_RESPONSE, timeout: patience })
      return readStatusList(jwt, { uri, issuer, keyOf })
    })
    lists.set(uri, list)
    for (const oldest of lists.keys()) if (lists.size > MAX_LISTS) lists.delete(oldest)
    return list
  }

  return async ({ uri, index }) => {
    const status = statusAt(await listAt(uri).get(), index)
    if (status === undefined) throw new Refused('status is outside its list')
    if (status !== 0) throw new Refused('stopped')
  }
}
