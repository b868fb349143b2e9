/** Times and texts as people read them. */
import type { RecordError, Seconds } from 'oidc-provider-impersonation'
import { type Html, html } from 'oidc-provider-impersonation/inside'

/** `2026-11-21T20:10:48Z` */
export const isoOf = (at: Seconds): string => new Date(at * 1000).toISOString().replace('.000', '')

/** `2026-11-21` */
export const dateOf = (at: Seconds): string => isoOf(at).slice(0, 10)

/**
 * `20:10:48`, with the date if it is not today's. UTC, until the script of the page has brought it into the zone of the
 * reader. On paper the style sheet shows `datetime`, which says it all.
 */
export function timeOf(at: Seconds, now: Seconds): Html {
  const [date, time] = isoOf(at).slice(0, 19).split('T')
  return html`<time datetime="${isoOf(at)}">${date !== dateOf(now) && `${date} `}${time}</time>`
}

/** The name of the zone that the times of the page are in. */
export const ZONE: Html = html`<span class="zone">UTC</span>`

/** `3:04`, and `1:03:04` from an hour on. */
export function lengthOf(seconds: Seconds): string {
  const whole = Math.max(0, seconds)
  const hours = Math.floor(whole / 3600)
  const rest = isoOf(whole).slice(14, 19)
  return hours > 0 ? `${hours}:${rest}` : rest.replace(/^0/, '')
}

/** `1 record`, `2 records` */
export const countOf = (count: number | string, one: string): string =>
  `${count} ${one}${count === 1 ? '' : 's'}`

/** A text for a row, which has no room for more. The record shows it whole. */
export function shorten(text: string, most = 120): string {
  // Two UTF-16 units at most are a character: more need not be counted.
  const characters = [...text.slice(0, 2 * most + 2)]
  return characters.length <= most ? text : `${characters.slice(0, most).join('')}…`
}

/** The pages' names for the members of a record. */
export const LABELS: Readonly<Record<string, string>> = {
  userId: 'user',
  actorId: 'engineer',
  clientId: 'application',
  createdBy: 'backend',
  ticketId: 'ticket',
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** The text of an error, in which the management API names members. One that is not known stays as it was sent. */
export function sentenceOf({ message, field = '' }: Pick<RecordError, 'message' | 'field'>): string {
  const isRule = Object.hasOwn(LABELS, field) && message.startsWith(field)
  return `${capital(isRule ? message.replaceAll(/\w+/g, (name) => LABELS[name] ?? name) : message)}.`
}
