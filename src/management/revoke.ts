import type { Provider } from 'oidc-provider'
import { epochTime } from '../clock.ts'
import { emit, type SubjectTokenRevoked } from '../events.ts'
import { storageUnavailable } from '../outage.ts'
import { endAccessToken } from '../provider/access-token.ts'
import { isId } from '../subject-tokens/id.ts'
import type { KillFilter, Revoked, RevokedToken } from '../subject-tokens/store.ts'
import type { Revocation } from '../subject-tokens/subject-token.ts'
import { forAccount } from './account-ids.ts'
import { subjectTokenNotFound } from './errors.ts'
import type { Caller, ManagementService } from './service.ts'

/**
 * Revokes one: an unused token can no longer be exchanged, an opaque access token ends. Returns how many this call
 * marked: 0 when it is repeated.
 */
export async function revokeSubjectToken(
  { provider, store }: ManagementService,
  caller: Caller,
  id: string,
): Promise<number> {
  const by = byApi(caller)
  const revoked = isId(id) ? await store.revoke(provider.issuer, id, epochTime(), by) : undefined
  if (!revoked) throw subjectTokenNotFound()
  await finish(provider, caller, revoked)
  return revoked.marked ? 1 : 0
}

/**
 * The kill switch; returns how many it marked. First by the name as given, then by the account that it is an alias of,
 * so that nothing waits for the look-up.
 */
export async function revokeSubjectTokens(
  { provider, store, options }: ManagementService,
  caller: Caller,
  given: KillFilter,
): Promise<number> {
  let failure: { readonly error: unknown } | undefined
  const failed = (error: unknown) => {
    failure ??= { error }
  }
  const revokeAll = async (filter: KillFilter): Promise<number> => {
    let marked = 0
    try {
      for await (const batch of store.revokeWhere(provider.issuer, filter, epochTime(), byApi(caller))) {
        // A failure to end one must not keep the others alive.
        await forEach(batch, AT_ONCE, (revoked) => finish(provider, caller, revoked).catch(failed))
        marked += batch.filter((revoked) => revoked.marked).length
      }
    } catch (error) {
      failed(error)
    }
    return marked
  }

  let revoked = await revokeAll(given)
  const account = await forAccount(caller, given, options.customClaimsTimeout)
  if (account) revoked += await revokeAll(account)
  if (failure) throw failure.error
  return revoked
}

const byApi = ({ clientId }: Caller): Revocation => ({ cause: 'api', client: clientId })

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
async function finish(provider: Provider, { clientId }: Caller, { token, marked }: Revoked): Promise<void> {
  const { grantId } = token.use ?? {}
  let accessTokenEnded = false
  try {
    if (grantId !== undefined) {
      await endAccessToken(provider, grantId)
      accessTokenEnded = true
    }
  } catch (error) {
    throw storageUnavailable(error)
  } finally {
    if (marked) emit(provider, 'subject_token.revoked', payloadOf(token, clientId, accessTokenEnded))
  }
}

function payloadOf(token: RevokedToken, revokedBy: string, accessTokenEnded: boolean): SubjectTokenRevoked {
  return {
    id: token.id,
    userId: token.userId,
    actorId: token.use?.actor?.sub ?? token.actorId,
    clientId: token.use?.clientId ?? token.clientId,
    revokedBy,
    accessTokenEnded,
  }
}
