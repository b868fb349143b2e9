import { epochTime } from '../clock.ts'
import { emit } from '../events.ts'
import type { ResolvedOptions } from '../options.ts'
import { endAccessToken } from '../provider/access-token.ts'
import { notFound, storageUnavailable } from '../refusals.ts'
import type { KillFilter, Revocation, RevokedToken, SubjectTokenStore } from '../subject-tokens/store.ts'
import { forAccount } from './account-ids.ts'
import type { ManagementContext } from './authenticate.ts'
import { assertNoQuery, isId, parseKillRequest } from './list-request.ts'

/** `DELETE /subject-tokens/{id}`: an unused token dies, an opaque access token ends; also when repeated. */
export async function revokeSubjectToken(
  ctx: ManagementContext,
  store: SubjectTokenStore,
  id: string,
): Promise<void> {
  assertNoQuery(ctx.querystring)
  const revocation = isId(id) ? await store.revoke(ctx.oidc.issuer, id, epochTime()) : undefined
  if (!revocation) throw notFound('subject token')
  await finish(ctx, revocation)
  ctx.status = 204
}

/**
 * `DELETE /subject-tokens?userId=`, `?actorId=` or `?createdBy=`: the kill switch. The name as it was given first, and then the
 * account that it is an alias of, so that nothing waits for the look-up.
 */
export async function revokeSubjectTokens(
  ctx: ManagementContext,
  { store, options }: { readonly store: SubjectTokenStore; readonly options: ResolvedOptions },
): Promise<void> {
  const given = parseKillRequest(ctx.querystring)
  let failure: { readonly error: unknown } | undefined
  const failed = (error: unknown) => {
    failure ??= { error }
  }
  const revokeAll = async (filter: KillFilter): Promise<number> => {
    let marked = 0
    try {
      for await (const batch of store.revokeWhere(ctx.oidc.issuer, filter, epochTime())) {
        // One that cannot be ended must not keep the others alive.
        await forEach(batch, AT_ONCE, (revocation) => finish(ctx, revocation).catch(failed))
        marked += batch.filter((revocation) => revocation.marked).length
      }
    } catch (error) {
      failed(error)
    }
    return marked
  }

  let revoked = await revokeAll(given)
  const account = await forAccount(ctx, given, options.customClaimsTimeout)
  if (account) revoked += await revokeAll(account)
  if (failure) throw failure.error
  ctx.body = { revoked }
}

/** Tokens that are ended at the same time: fewer than the connections of a default pool, so that others get one. */
const AT_ONCE = 4

async function forEach<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const worker = async () => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/**
 * Ends what the token was exchanged for; a JWT cannot be ended. Done for a token marked before, too: the request
 * that marked it may have died before it came this far.
 */
async function finish(ctx: ManagementContext, { token, marked }: Revocation): Promise<void> {
  const { grantId } = token.use ?? {}
  let accessTokenEnded = false
  try {
    if (grantId !== undefined) {
      await endAccessToken(ctx.oidc.provider, grantId)
      accessTokenEnded = true
    }
  } catch (error) {
    throw storageUnavailable(error)
  } finally {
    if (marked) emitRevoked(ctx, token, accessTokenEnded)
  }
}

function emitRevoked(ctx: ManagementContext, token: RevokedToken, accessTokenEnded: boolean): void {
  emit(ctx.oidc.provider, 'subject_token.revoked', {
    id: token.id,
    userId: token.userId,
    actorId: token.use?.actor?.sub ?? token.actorId,
    clientId: token.use?.clientId ?? token.clientId,
    revokedBy: ctx.oidc.client.clientId,
    accessTokenEnded,
  })
}
