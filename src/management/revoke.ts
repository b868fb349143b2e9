import { epochTime } from '../clock.ts'
import { emit } from '../events.ts'
import type { ResolvedOptions } from '../options.ts'
import { endAccessToken } from '../provider/access-token.ts'
import { notFound, storageUnavailable } from '../refusals.ts'
import type { KillFilter, Revocation, SubjectTokenStore } from '../subject-tokens/store.ts'
import type { SubjectToken } from '../subject-tokens/subject-token.ts'
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
  const failures: unknown[] = []
  const failed = (error: unknown) => void failures.push(error)
  const revokeAll = async (filter: KillFilter): Promise<number> => {
    const revocations = (await store.revokeWhere(ctx.oidc.issuer, filter, epochTime()).catch(failed)) ?? []
    // One that cannot be ended must not keep the others alive.
    for (const revocation of revocations) await finish(ctx, revocation).catch(failed)
    return revocations.filter(({ marked }) => marked).length
  }

  let revoked = await revokeAll(given)
  const account = await forAccount(ctx, given, options.customClaimsTimeout)
  if (account) revoked += await revokeAll(account)
  if (failures.length > 0) throw failures[0]
  ctx.body = { revoked }
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

function emitRevoked(ctx: ManagementContext, token: SubjectToken, accessTokenEnded: boolean): void {
  emit(ctx.oidc.provider, 'subject_token.revoked', {
    id: token.id,
    userId: token.userId,
    actorId: token.use?.actor?.sub ?? token.actorId,
    clientId: token.use?.clientId ?? token.clientId,
    revokedBy: ctx.oidc.client.clientId,
    accessTokenEnded,
  })
}
