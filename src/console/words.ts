/** Times and texts as people read them. Times are UTC, because administrators of several places compare them. */
import type { Seconds } from '../clock.ts'

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
  const seconds = Math.max(0, now - at)
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  const days = Math.floor(seconds / 86_400)
  return days === 1 ? 'yesterday' : `${days} days ago`
}

/** `3:04`, and `1:03:04` from an hour on. */
export function lengthOf(seconds: Seconds): string {
  const whole = Math.max(0, seconds)
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const [hours = 0, minutes = 0, rest = 0] = parts
  const two = (part: number) => String(part).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

/** The text of an error of the management API, whose names of fields are in the API's terms. */
export function sentenceOf(message: string): string {
  const [, name = '', rest = ''] = /^(\w+)(.*)$/s.exec(message) ?? []
  const text = (LABELS[name] ?? name) + rest
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

const LABELS: Readonly<Record<string, string>> = {
  userId: 'user',
  actorId: 'engineer',
  clientId: 'application',
  createdBy: 'backend',
}
