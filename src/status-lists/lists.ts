import type { Seconds } from '../clock.ts'
import type { Settings } from '../provider/settings.ts'
import { listUri, type StatusLists } from '../provider/status-reference.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import { rememberNumbers } from './numbers.ts'
import { type SignedStatusList, statusListOf } from './status-list.ts'
import { rememberStopped } from './stopped.ts'

/** What the lists of a provider are made of. */
interface StatusListService {
  readonly issuer: string
  readonly store: Pick<SubjectTokenStore, 'findStopped' | 'findStatusLists'>
  readonly settings: Pick<Settings, 'signJwt'>
  readonly statusLists: StatusLists
}

/** The lists that a process publishes. */
export interface PublishedLists {
  readonly ttl: Seconds
  /** Whether a list with this number is published. Other numbers cost nothing: they are not looked up. */
  has(number: number): Promise<boolean>
  /** A published list, at most a second old. */
  get(number: number): Promise<SignedStatusList>
}

export function publishLists({ issuer, store, settings, statusLists }: StatusListService): PublishedLists {
  const numbers = rememberNumbers(store)
  const stopped = rememberStopped(store, issuer)
  const lists = new Map<number, ReturnType<typeof statusListOf>>()

  const forgetOld = (published: ReadonlySet<number>) => {
    for (const number of lists.keys()) if (!published.has(number)) lists.delete(number)
  }

  return {
    ttl: statusLists.ttl,
    async has(number) {
      const published = await numbers()
      if (lists.size > published.size) forgetOld(published)
      return published.has(number)
    },
    async get(number) {
      const uri = listUri(statusLists, number)
      const list =
        lists.get(number) ??
        statusListOf({ issuer, number, uri, ttl: statusLists.ttl, signJwt: settings.signJwt })
      lists.set(number, list)
      return list(await stopped())
    },
  }
}
