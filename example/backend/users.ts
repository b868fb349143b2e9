/** Whom an engineer can pick: a search, page by page. */
import type { Context } from 'koa'
import { emailOf, type Person, searchPeople, whyNotViewable } from '../accounts.ts'
import { invalidRequest } from './refusal.ts'

const PAGE = 10
const MAX_CHARACTERS = 100

/** `q` is part of a name, an id or an e-mail address. `after` is the last id of the page before. */
export function listUsers(ctx: Context): void {
  const { q = '', role, after, ...others } = ctx.query
  if (Object.keys(others).length > 0) throw invalidRequest('a query parameter is unknown')
  if (typeof q !== 'string' || q.length > MAX_CHARACTERS)
    throw invalidRequest(`q must be text of up to ${MAX_CHARACTERS} characters`)
  if (role !== undefined && role !== 'customer' && role !== 'support')
    throw invalidRequest('role must be customer or support')
  const found = searchPeople(q).filter((person) => role === undefined || person.role === role)
  const start = after === undefined ? 0 : 1 + found.findIndex(({ id }) => id === after)
  if (after !== undefined && start === 0) throw invalidRequest('after must be an id of this list')
  const page = found.slice(start, start + PAGE)
  const isLast = start + PAGE >= found.length
  ctx.body = { users: page.map(shown), total: found.length, ...(!isLast && { next: page.at(-1)?.id }) }
}

function shown(person: Person): object {
  const { id, name, role, plan } = person
  const whyNot = whyNotViewable(person)
  return { id, name, role, email: emailOf(person), plan, viewable: whyNot === undefined, whyNot }
}
