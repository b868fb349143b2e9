/** Says that alarms were looked into, and what was found. */
import {
  invalidRequest,
  parseText,
  readForm,
  recordNotFound,
  required,
  single,
} from 'oidc-provider-impersonation/inside'
import { secondsIn, tried, typedIn } from '../form.ts'
import { forgetAlarms, MOST_ALARMS } from '../newest-alarms.ts'
import { may, type Page, type Visit } from '../visit.ts'
import { inbox } from './alarms.ts'

/** Marks some as seen, with a note: all that the reader saw as they are now. */
export async function acknowledge(visit: Visit): Promise<Page | string> {
  const { records, base, administrator } = visit
  const form = await readForm(visit.ctx)
  const ids = new URLSearchParams(form).getAll('id').slice(0, MOST_ALARMS)
  const found = await Promise.all(ids.map((id) => records.get(id)))
  if (found.includes(undefined)) throw recordNotFound()
  const { result: seen, error } = await tried(() => seenIn(form))
  const mistakes = await Promise.all(
    (seen ?? []).map(
      async (one) => (await tried(() => records.acknowledge({ ...one, by: administrator.id }))).error,
    ),
  )
  forgetAlarms(visit)
  const mistake = error ?? (mistakes.some((one) => one !== undefined) ? changedSince() : undefined)
  if (!mistake) return `${base}/alarms`
  // The page is what others may know.
  if (!may(visit, 'see')) throw mistake
  return inbox(visit, { note: typedIn(form, ['note']).note, error: mistake })
}

const changedSince = () =>
  invalidRequest({
    status: 409,
    public: 'what was not marked has changed since this page was made: look at it again',
  })

/** Each record with the replay that the reader saw, and with the one note. */
function seenIn(form: string) {
  const given = new URLSearchParams(form)
  const [ids, replays] = [given.getAll('id'), given.getAll('replayedAt')]
  given.delete('id')
  given.delete('replayedAt')
  const note = parseText('note', single(String(given), ['note']).note ?? '')
  if (ids.length === 0) throw required('id')
  if (ids.length > MOST_ALARMS) throw wrong('id', `must not come more than ${MOST_ALARMS} times`)
  if (replays.length !== ids.length) throw wrong('replayedAt', 'must come as often as id')
  return ids.map((id, place) => {
    const replay = replays[place]
    return { id, note, replayedAt: replay ? secondsIn('replayedAt', replay) : null }
  })
}

const wrong = (field: string, rule: string) => invalidRequest({ field, public: `${field} ${rule}` })
