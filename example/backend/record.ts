/** The record of who viewed whom, as the management API keeps it. */
import type { Context, Middleware } from 'koa'
// Yours: 'oidc-provider-impersonation-client'.
import {
  type ImpersonationClient,
  ImpersonationError,
  type ListRequest,
  type SubjectTokenRecord,
} from '../../packages/client/src/index.ts'
import { findPerson } from '../accounts.ts'
import { engineerOf } from './authenticate.ts'
import { invalidRequest, notFound } from './refusal.ts'
import { runningRecord } from './session.ts'

const FILTERS = ['userId', 'actorId', 'state', 'live', 'createdAfter', 'createdBefore', 'limit', 'cursor']

/** Records lead to the console for those who may see it. */
export const leadTo =
  (console: string): Middleware =>
  (ctx, next) => {
    if (engineerOf(ctx).console?.includes('see')) ctx.state.console = console
    return next()
  }

export async function listImpersonations(ctx: Context, impersonation: ImpersonationClient): Promise<void> {
  for (const [name, value] of Object.entries(ctx.query)) {
    if (!FILTERS.includes(name) || typeof value !== 'string')
      throw invalidRequest('a query parameter is unknown or repeated')
  }
  // The management API checks the values.
  const { items, nextCursor } = await impersonation.listPage(ctx.query as ListRequest)
  ctx.body = { items: items.map((item) => shown(ctx, item)), ...(nextCursor && { nextCursor }) }
}

/** One record. A page asks for its own every few seconds, because anyone may have stopped it. */
export async function showImpersonation(ctx: Context, impersonation: ImpersonationClient): Promise<void> {
  ctx.body = shown(ctx, await impersonation.get(idOf(ctx)))
}

/** Of the path. The client throws a `TypeError` for any other text. */
export function idOf(ctx: Context): string {
  const { id } = ctx.params
  if (!/^[0-9a-f]{32}$/.test(id)) throw notFound('There is no such record.')
  return id
}

/** What this browser has started and not ended: a page that was loaded again has forgotten it. */
export async function openView(
  ctx: Context,
  impersonation: ImpersonationClient,
): Promise<SubjectTokenRecord | undefined> {
  const id = runningRecord(ctx)
  const record = id ? await impersonation.get(id).catch(unlessGone) : undefined
  return record && isOpen(record) ? record : undefined
}

export async function showOpenView(ctx: Context, impersonation: ImpersonationClient): Promise<void> {
  const open = await openView(ctx, impersonation)
  ctx.body = open ? { open: shown(ctx, open) } : {}
}

/** Old records are purged, and a session may outlive its own. */
export function unlessGone(error: unknown): undefined {
  if (!(error instanceof ImpersonationError && error.code === 'not_found')) throw error
}

function isOpen({ state, accessToken, session }: SubjectTokenRecord): boolean {
  const endsAt = session?.endsAt ?? accessToken?.expiresAt ?? 0
  return state === 'active' || (state === 'consumed' && endsAt > Date.now() / 1000)
}

/** What the page shows, so that members that the provider may add later are not passed on. */
export function shown(ctx: Context, record: SubjectTokenRecord): object {
  const { id, use, userId, actorId, actor, context, resource, scope, state, accessToken, session } = record
  const { readOnly, createdAt, expiresAt, consumedAt, revokedAt, revocation, replay } = record
  const { cause, by, reason, continuedBy } = revocation ?? {}
  return {
    ...{ id, use, userId, actorId, actor, resource, scope, readOnly, state, session },
    context: textsOf(context),
    ...{ createdAt, expiresAt, consumedAt, revokedAt },
    ...(accessToken && { accessToken: { expiresAt: accessToken.expiresAt } }),
    ...(revocation && { revocation: { cause, by, reason, continuedBy } }),
    ...(replay && { replay: { at: replay.at } }),
    names: namesOf([userId, actorId, actor?.sub, by]),
    ...(ctx.state.console && { consoleUrl: `${ctx.state.console}/${id}` }),
  }
}

/** Another backend may have sent any JSON. `continues` is the id of the record that this one continues. */
const textsOf = (context: SubjectTokenRecord['context']): Record<string, string> =>
  Object.fromEntries(
    ['reason', 'ticketId', 'continues', 'writeReason']
      .filter((name) => name in context)
      .map((name) => [name, written(context[name])]),
  )

const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/**
 * By id, so that the page needs no list of everyone. An id without a person is its own name: the page must not find what
 * every object inherits instead, because another backend may have sent `constructor`.
 */
const namesOf = (ids: readonly (string | undefined)[]): Record<string, string> =>
  Object.fromEntries(ids.flatMap((id) => (id ? [[id, findPerson(id)?.name ?? id]] : [])))
