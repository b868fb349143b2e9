/** Times and texts as people read them. Times are UTC, because administrators of several places compare them. */
import type { Seconds } from '../clock.ts'
import type { Value } from './html.ts'

/** `2026-11-21T20:10:48Z` */
export const isoOf = (at: Seconds): string => new Date(at * 1000).toISOString().replace('.000', '')

/** `2026-11-21` */
export const dateOf = (at: Seconds): string => isoOf(at).slice(0, 10)

/** `20:10:48`, with the date if that is another than today's. */
export function clockOf(at: Seconds, now: Seconds): string {
  const time = isoOf(at).slice(11, 19)
  return dateOf(at) === dateOf(now) ? time : `${dateOf(at)} ${time}`
}

/** `2 min ago` */
export function ago(at: Seconds, now: Seconds): string {
  const minutes = Math.floor((now - at) / 60)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  return minutes < 1440 ? `${Math.floor(minutes / 60)} h ago` : `${Math.floor(minutes / 1440)} d ago`
}

/** `3:04`, and `1:03:04` from an hour on. */
export function lengthOf(seconds: Seconds): string {
  const whole = Math.max(0, seconds)
  const hours = Math.floor(whole / 3600)
  const rest = isoOf(whole).slice(14, 19)
  return hours > 0 ? `${hours}:${rest}` : rest.replace(/^0/, '')
}

/** The most characters of a name in a row, and of another text. */
const NAME = 32
export const TEXT = 120

/** A text in a row, cut where there is no room for all of it. The record shows it whole. */
export const cut =
  (text: string, longest = NAME): Value =>
  ({ share }) => {
    const most = Math.ceil(longest * share)
    // Two UTF-16 units at most are a character: more need not be counted.
    const characters = [...text.slice(0, 2 * most + 2)]
    return characters.length <= most ? text : `${characters.slice(0, most).join('')}…`
  }

const LABELS: Readonly<Record<string, string>> = {
  userId: 'user',
  actorId: 'engineer',
  clientId: 'application',
  createdBy: 'backend',
  ticketId: 'ticket',
}

/** The text of an error of the management API, which names fields in the API's terms. An unknown one stays as it was sent. */
export function sentenceOf(message: string): string {
  const text = message.replace(/(?<!: )\b\w+(Id|By)\b/g, (name) => LABELS[name] ?? name)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
