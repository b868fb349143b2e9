/** The record of who viewed whom, as the management API keeps it. */
import type { Context } from 'koa'
// Yours: 'oidc-provider-impersonation/client'.
import type { ImpersonationClient, ListRequest, SubjectTokenRecord } from '../../src/client/index.ts'
import { invalidRequest } from './refusal.ts'

const FILTERS = ['userId', 'actorId', 'state', 'limit', 'cursor']

export async function listImpersonations(ctx: Context, impersonation: ImpersonationClient): Promise<void> {
  for (const [name, value] of Object.entries(ctx.query)) {
    if (!FILTERS.includes(name) || typeof value !== 'string')
      throw invalidRequest('a query parameter is unknown or repeated')
  }
  // The management API checks the values.
  const { items, nextCursor } = await impersonation.listPage(ctx.query as ListRequest)
  ctx.body = { items: items.map(shown), ...(nextCursor && { nextCursor }) }
}

/** What the page shows, so that members that the provider may add later are not passed on. */
export function shown(record: SubjectTokenRecord): object {
  const { id, userId, actorId, actor, context, resource, scope, state, accessToken } = record
  const { createdAt, expiresAt, consumedAt, revokedAt, revocation } = record
  const { cause, by, reason } = revocation ?? {}
  return {
    ...{ id, userId, actorId, actor, context, resource, scope, state },
    ...{ createdAt, expiresAt, consumedAt, revokedAt },
    ...(accessToken && { accessToken: { expiresAt: accessToken.expiresAt } }),
    ...(revocation && { revocation: { cause, by, reason } }),
  }
}
