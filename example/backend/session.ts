/**
 * What the backend remembers of a browser: the record of the impersonation that it has started. The cookie alone is
 * useless to a thief, because every request also carries the engineer's own token.
 */

import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import { createSession } from 'koa-session'
import { engineerOf } from './authenticate.ts'

/** In milliseconds, as koa-session expects. */
const MAX_AGE = 3600 * 1000

export function sessions(app: Koa): Middleware {
  const cookie = {
    key: 'support-backend',
    path: '/backend',
    httpOnly: true,
    sameSite: 'strict',
    // The id is random and looked up, so a signature would add nothing.
    signed: false,
    // `secure` is left to koa-session, which sets it if the request came over HTTPS (see `app.proxy`).
  }
  return createSession({ ...cookie, maxAge: MAX_AGE, store: memoryStore() }, app)
}

/** For one process. With several processes, use a table or a shared cache. */
function memoryStore() {
  const sessions = new Map<string, { readonly data: unknown; readonly until: number }>()
  return {
    async get(id: string) {
      return sessions.get(id)?.data
    },
    async set(id: string, data: unknown, maxAge: number) {
      for (const [other, { until }] of sessions) if (until < Date.now()) sessions.delete(other)
      sessions.set(id, { data, until: Date.now() + maxAge })
    },
    async destroy(id: string) {
      sessions.delete(id)
    },
  }
}

/** The record of what this browser has started. A session that another engineer left behind does not count. */
export function runningRecord(ctx: Context): string | undefined {
  const { engineer, recordId } = ctx.session
  return engineer === engineerOf(ctx).id ? recordId : undefined
}

/** Every start and every stop gets a new id and deletes the old one, so an id that leaked before is useless. */
export async function rotateSession(ctx: Context, recordId?: string): Promise<void> {
  ctx.session.engineer = engineerOf(ctx).id
  ctx.session.recordId = recordId
  await ctx.session.regenerate()
}
