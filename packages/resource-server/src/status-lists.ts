/** Whether a JWT has been stopped before its `exp`: the issuer's status lists (draft-ietf-oauth-status-list). */
import type { Issuer } from './discovery.ts'
import { Refused } from './errors.ts'
import type { Send } from './http.ts'
import { isObject } from './json.ts'
import { Keeper, type Kept, type Load } from './kept.ts'
import type { ResolvedOptions, StatusListReport, VerifierOptions } from './options.ts'
import { MAX_RESPONSE, readStatusList, type StatusList, statusAt } from './status-list.ts'
import { instant } from './time.ts'

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

/** A listener cannot change what the verifier does. */
function tell(listener: VerifierOptions['onStatusList'], report: StatusListReport): void {
  try {
    Promise.resolve(listener?.(report)).catch(() => {})
  } catch {
    // A faulty listener must not fail a request.
  }
}

/** At 131,072 tokens a list more than a day of a thousand exchanges a second, and 16 MiB. */
const MAX_LISTS = 1000

export function statusLists(
  { issuer, timeout, onStatusList }: ResolvedOptions,
  { keyOf }: Issuer,
  send: Send,
): AssertNotStopped {
  const lists = new Map<string, Keeper<StatusList>>()
  const report = (uri: string, kept: Kept<StatusList> | undefined, fetched: boolean) =>
    tell(onStatusList, {
      uri,
      ...(kept && { age: Math.max(0, instant() - kept.since) }),
      outcome: fetched ? 'fetched' : 'failed',
    })

  const listAt = (uri: string): Keeper<StatusList> => {
    const known = lists.get(uri)
    if (known) return known
    const load: Load<StatusList> = async (previous) => {
      // A renewal that begins at half of a list's time has ended before the other half is over.
      const patience = previous ? Math.max(1, Math.min(timeout, previous.freshFor / 2)) : timeout
      const request = { what: 'status list', url: uri, accept: 'application/statuslist+jwt' }
      const jwt = await send({ ...request, limit: MAX_RESPONSE, timeout: patience })
      return readStatusList(jwt, { uri, issuer, keyOf })
    }
    const list = new Keeper('status list', load, (kept, fetched) => report(uri, kept, fetched))
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
