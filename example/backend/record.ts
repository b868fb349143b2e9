/** The record of who viewed whom, as the management API keeps it. */
import type { Context } from 'koa'
import type { Management } from './management.ts'
import { invalidRequest, notFound } from './refusal.ts'
import { rotateSession, runningRecord } from './session.ts'

const FILTERS = ['userId', 'actorId', 'state', 'limit', 'cursor']
/** What the page shows, and nothing the provider may add one day. */
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
  const running = runningRecord(ctx)
  ctx.body = {
    items: items.map((item) => ({
      ...Object.fromEntries(MEMBERS.map((member) => [member, item[member]])),
      // Started by this browser: when it stops, the page must stop showing it.
      ...(item.id === running && { current: true }),
    })),
    ...(nextCursor && { nextCursor }),
  }
}

export async function stopImpersonation(ctx: Context, management: Management): Promise<void> {
  const { id } = ctx.params
  if (!/^[\w-]{1,64}$/.test(id)) throw notFound('There is no such record.')
  await management.revoke(id)
  if (id === runningRecord(ctx)) await rotateSession(ctx)
  ctx.status = 204
}
