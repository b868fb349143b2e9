import type { Seconds } from '../clock.ts'
import { invalidRequest } from '../management/errors.ts'
import { type ListRequest, parseListRequest, single } from '../management/list-request.ts'
import { ROWS } from './records.ts'
import { dateOf } from './words.ts'

/** The fields of the filter, as the form names them. */
const FIELDS = ['userId', 'actorId', 'clientId', 'createdBy', 'state', 'from', 'to'] as const

export type Typed = Readonly<Partial<Record<(typeof FIELDS)[number] | 'cursor', string>>>

/** What was typed, whether it is right or not. A field that was left blank is absent. */
export function typedIn(query: string): Typed {
  const given = new URLSearchParams(query)
  const typed: Partial<Record<string, string>> = {}
  for (const name of [...FIELDS, 'cursor']) {
    const value = given.get(name)
    if (value !== null && value !== '') typed[name] = value
  }
  return typed
}

/** The list that the management API would return for it. */
export function searchOf(query: string, limit = ROWS): ListRequest {
  const { from, to, state, ...names } = notBlank(single(query, [...FIELDS, 'cursor']))
  const times = { createdAfter: from && dayOf('from', from), createdBefore: to && dayOf('to', to) + DAY }
  const parameters = {
    ...names,
    ...(state === 'live' ? { live: 'true' } : { state }),
    ...times,
    limit,
  }
  return parseListRequest(String(new URLSearchParams(notBlank(parameters))))
}

/** The newest records with a mark, a page of them. */
export const marked = (mark: string, cursor: string | undefined): ListRequest =>
  parseListRequest(String(new URLSearchParams(notBlank({ [mark]: 'true', limit: ROWS, cursor }))))

function notBlank<Name extends string>(
  given: Readonly<Partial<Record<Name, string | number>>>,
): Record<Name, string> {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined && value !== '')
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)])) as Record<Name, string>
}

const DAY: Seconds = 86_400

/** The first second of a day, UTC. */
function dayOf(field: string, value: string): Seconds {
  const at = /^\d{4}-\d\d-\d\d$/.test(value) ? Date.parse(`${value}T00:00:00Z`) / 1000 : Number.NaN
  // Dates such as 31 February are read as others.
  if (Number.isNaN(at) || at < 0 || dateOf(at) !== value)
    throw invalidRequest({ public: `${field} must be a date such as 2026-11-21` })
  return at
}
