/** This process's memory of tokens that were stopped. */
import { epochTime, onceASecond, type Seconds } from '../../base/clock.ts'
import type { SubjectTokenStore } from '../../tokens/store.ts'
import { LONGEST_LIFE, STATUS_LIST_SIZE, STATUS_SHOWN } from '../../tokens/subject-token.ts'

/** The bits of one list. */
export interface StoppedList {
  /** The time until which each bit is shown, by its index in the list. */
  readonly shownUntil: ReadonlyMap<number, Seconds>
  /** Changes whenever a bit is added. */
  readonly version: number
}

/** The stopped tokens as of a time: a later stop may be missing. */
export interface Stopped {
  readonly asOf: Seconds
  list(list: number): StoppedList
}

/** A process whose clock is behind, or a commit that came late, is found by a read that starts this far back. */
const OVERLAP: Seconds = 120
/** How long only what is new is read. */
const FULL_READ_EVERY: Seconds = 300
/** No bit belongs to a token that was stopped longer ago. */
const OLDEST: Seconds = LONGEST_LIFE + STATUS_SHOWN + OVERLAP

const NONE: StoppedList = { shownUntil: new Map(), version: 0 }

/** Reads at most once a second what was stopped since the last time, and now and then everything. */
export function rememberStopped(
  store: Pick<SubjectTokenStore, 'findStopped'>,
  issuer: string,
): () => Promise<Stopped> {
  const lists = new Map<number, { shownUntil: Map<number, Seconds>; version: number }>()
  let last: { readonly readAt: Seconds; readonly readAllAt: Seconds } | undefined

  const add = (statusIndex: number, shownUntil: Seconds) => {
    const number = Math.floor(statusIndex / STATUS_LIST_SIZE)
    const list = lists.get(number) ?? { shownUntil: new Map(), version: 0 }
    lists.set(number, list)
    const index = statusIndex % STATUS_LIST_SIZE
    if (!list.shownUntil.has(index)) list.version += 1
    list.shownUntil.set(index, shownUntil)
  }

  const forgetEnded = (now: Seconds) => {
    for (const { shownUntil } of lists.values())
      for (const [index, until] of shownUntil) if (until <= now) shownUntil.delete(index)
  }

  return onceASecond(async () => {
    const now = epochTime()
    const known = last
    // Everything after a clock was set back, too.
    const isRecent = known !== undefined && known.readAt <= now && now < known.readAllAt + FULL_READ_EVERY
    const since = isRecent ? known.readAt - OVERLAP : now - OLDEST
    const stopped = await store.findStopped(issuer, since)
    if (!isRecent) forgetEnded(now)
    for (const { statusIndex, expiresAt } of stopped) {
      const shownUntil = expiresAt + STATUS_SHOWN
      if (shownUntil > now) add(statusIndex, shownUntil)
    }
    last = { readAt: now, readAllAt: isRecent ? known.readAllAt : now }
    return { asOf: now, list: (list) => lists.get(list) ?? NONE }
  })
}
