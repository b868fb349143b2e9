/**
 * What the backend remembers of a browser: the record of the impersonation it has started. Whoever holds the cookie
 * alone can do nothing, because every request carries the engineer's own token too.
 */

import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import { createSession } from 'koa-session'
import { engineerOf } from './authenticate.ts'

/** koa-session counts in milliseconds. */
const MAX_AGE = 3600 * 1000

export function sessions(app: Koa): Middleware {
  const cookie = {
    key: 'support-backend',
    path: '/backend',
    httpOnly: true,
    sameSite: 'strict',
    // The id is random and looked up: a signature would prove nothing more.
    signed: false,
    // `secure` is left to koa-session: it is set when the request came over HTTPS (see `app.proxy`).
  }
  return createSession({ ...cookie, maxAge: MAX_AGE, store: memoryStore() }, app)
}

/** For one process. With more of them this is a table, or a cache that all of them reach. */
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

/** The record of what this browser has started. Of a session that another engineer left behind, nothing counts. */
export function runningRecord(ctx: Context): string | undefined {
  const { engineer, recordId } = ctx.session
  return engineer === engineerOf(ctx).id ? recordId : undefined
}

/** A new id for every start and every stop: one that leaked before is worth nothing after. The old one is deleted. */
export async function rotateSession(ctx: Context, recordId?: string): Promise<void> {
  ctx.session.engineer = engineerOf(ctx).id
  ctx.session.recordId = recordId
  await ctx.session.regenerate()
}
