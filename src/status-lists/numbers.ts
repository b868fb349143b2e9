import { epochTime, type Seconds } from '../clock.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import { LONGEST_LIFE, STATUS_LIST_SIZE, STATUS_SHOWN } from '../subject-tokens/subject-token.ts'
import { onceASecond } from './once-a-second.ts'

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
