import { epochTime, onceASecond, type Seconds } from '../../base/clock.ts'
import type { Service } from '../../provider/settings.ts'
import { listUri, type StatusLists } from '../../provider/status-claim.ts'
import type { SubjectTokenStore } from '../../tokens/store.ts'
import { LONGEST_LIFE, STATUS_LIST_SIZE, STATUS_SHOWN } from '../../tokens/subject-token.ts'
import { type SignedStatusList, statusListOf } from './status-list.ts'
import { rememberStopped } from './stopped.ts'

export type PublishedLists = ReturnType<typeof publishLists>

/** The lists that a process publishes. */
export function publishLists({ provider: { issuer }, store, settings }: Service, statusLists: StatusLists) {
  const numbers = rememberNumbers(store)
  const stopped = rememberStopped(store, issuer)
  const lists = new Map<number, ReturnType<typeof statusListOf>>()
  let newest: Seconds | undefined

  const forgetOld = (published: ReadonlySet<number>) => {
    for (const number of lists.keys()) if (!published.has(number)) lists.delete(number)
  }

  return {
    ttl: statusLists.ttl,
    /** Whether a list with this number is published. Other numbers cost nothing: they are not looked up. */
    async has(number: number): Promise<boolean> {
      const published = await numbers()
      if (lists.size > published.size) forgetOld(published)
      return published.has(number)
    },
    /** A published list, at most a second old. */
    async get(number: number): Promise<SignedStatusList> {
      const uri = listUri(statusLists, number)
      const list =
        lists.get(number) ??
        statusListOf({ issuer, number, uri, ttl: statusLists.ttl, signJwt: settings.signJwt })
      lists.set(number, list)
      const signed = await list(await stopped())
      newest = Math.max(newest ?? 0, signed.iat)
      return signed
    },
    /** When the newest of those that were asked for was signed; `undefined` before the first. */
    newestAt: () => newest,
  }
}

/** A token older than this gave no access token that is still shown, even on a clock that is two minutes ahead. */
const OLDEST: Seconds = 2 * LONGEST_LIFE + STATUS_SHOWN + 120

/**
 * The numbers of the lists that are served: those that a live token may refer to, that of the highest status index,
 * and the next one, where the next token may go. Asked at most once a second.
 */
export function rememberNumbers(
  store: Pick<SubjectTokenStore, 'findStatusLists'>,
): () => Promise<ReadonlySet<number>> {
  return onceASecond(async () => {
    const found = await store.findStatusLists(STATUS_LIST_SIZE, epochTime() - OLDEST)
    const highest = found.at(-1) ?? 0
    return new Set([...found, highest, highest + 1])
  })
}
