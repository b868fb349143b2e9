import type { Seconds } from '../clock.ts'
import { epochTime } from '../clock.ts'
import type { ResolvedOptions } from '../options.ts'
import type { JsonObject } from '../plain-json.ts'
import { notFound } from '../refusals.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import {
  type ActClaim,
  type SubjectToken,
  type SubjectTokenState,
  stateOf,
} from '../subject-tokens/subject-token.ts'
import { withAccounts } from './account-ids.ts'
import type { ManagementContext } from './authenticate.ts'
import { assertNoQuery, isId, parseListRequest } from './list-request.ts'

/** The record of one impersonation, as the API shows it (CONTRACT §2.2). Times in epoch seconds; never a secret. */
interface Item {
  readonly id: string
  readonly userId: string
  readonly actorId?: string
  readonly actor?: ActClaim & { readonly clientId?: string }
  readonly context: JsonObject
  readonly createdBy: string
  readonly clientId?: string
  readonly usedBy?: string
  readonly resource?: string
  readonly scope?: string
  readonly createdAt: Seconds
  readonly expiresAt: Seconds
  readonly consumedAt?: Seconds
  readonly revokedAt?: Seconds
  readonly accessToken?: { readonly format: 'jwt' | 'opaque'; readonly expiresAt: Seconds }
  readonly state: SubjectTokenState
}

/** `GET /subject-tokens`: newest first, page by page. */
export async function listSubjectTokens(
  ctx: ManagementContext,
  { store, options }: { readonly store: SubjectTokenStore; readonly options: ResolvedOptions },
): Promise<void> {
  const { filter: given, limit, cursor } = parseListRequest(ctx.querystring)
  const filter = await withAccounts(ctx, given, options.customClaimsTimeout)
  const now = epochTime()
  const { tokens, next } = await store.list(ctx.oidc.issuer, filter, { limit, cursor, now })
  ctx.body = { items: tokens.map((token) => itemOf(token, now)), ...(next && { nextCursor: next }) }
}

/** `GET /subject-tokens/{id}` */
export async function showSubjectToken(
  ctx: ManagementContext,
  store: SubjectTokenStore,
  id: string,
): Promise<void> {
  assertNoQuery(ctx.querystring)
  const token = isId(id) ? await store.get(ctx.oidc.issuer, id) : undefined
  if (!token) throw notFound('subject token')
  ctx.body = itemOf(token, epochTime())
}

/** Named members only: what leaves is decided here. Once used, resource and scope are what was granted. */
function itemOf(token: SubjectToken, now: Seconds): Item {
  const { use } = token
  return {
    id: token.id,
    userId: token.userId,
    actorId: token.actorId,
    actor: use?.actor,
    context: token.context,
    createdBy: token.createdBy,
    clientId: token.clientId,
    usedBy: use?.clientId,
    resource: use ? use.resource : token.resource,
    scope: use ? use.scope : token.scope,
    createdAt: token.createdAt,
    expiresAt: token.expiresAt,
    consumedAt: use?.at,
    revokedAt: token.revokedAt,
    accessToken: use?.accessToken,
    state: stateOf(token, now),
  }
}
