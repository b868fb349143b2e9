/** The record of who viewed whom, as the management API keeps it. */
import type { Context } from 'koa'
import type { Management } from './management.ts'
import { invalidRequest } from './refusal.ts'

const FILTERS = ['userId', 'actorId', 'state', 'limit', 'cursor']
/** What the page shows, so that members that the provider may add later are not passed on. */
const MEMBERS = [
  'id',
  'userId',
  'actorId',
  'actor',
  'context',
  'resource',
  'scope',
  'createdAt',
  'expiresAt',
  'consumedAt',
  'revokedAt',
  'accessToken',
  'state',
]

export async function listImpersonations(ctx: Context, management: Management): Promise<void> {
  const query = new URLSearchParams(ctx.querystring)
  for (const name of query.keys()) {
    if (!FILTERS.includes(name)) throw invalidRequest('a query parameter is unknown')
  }
  const { items, nextCursor } = await management.list(query)
  ctx.body = {
    items: items.map((item) => Object.fromEntries(MEMBERS.map((member) => [member, item[member]]))),
    ...(nextCursor && { nextCursor }),
  }
}
