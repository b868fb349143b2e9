import type { Provider } from 'oidc-provider'
import { epochTime } from '../clock.ts'
import { emit, type SubjectTokenRevoked } from '../events.ts'
import { storageUnavailable } from '../outage.ts'
import { endAccessToken } from '../provider/access-token.ts'
import { isId } from '../subject-tokens/id.ts'
import type { KillFilter, Revocation } from '../subject-tokens/store.ts'
import type { SubjectToken } from '../subject-tokens/subject-token.ts'
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
  const revocation = isId(id) ? await store.revoke(provider.issuer, id, epochTime()) : undefined
  if (!revocation) throw subjectTokenNotFound()
  await finish(provider, caller, revocation)
  return revocation.marked ? 1 : 0
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
  const failures: unknown[] = []
  const failed = (error: unknown) => void failures.push(error)
  const revokeAll = async (filter: KillFilter): Promise<number> => {
    const revocations = (await store.revokeWhere(provider.issuer, filter, epochTime()).catch(failed)) ?? []
    // A failure to end one must not keep the others alive.
    for (const revocation of revocations) await finish(provider, caller, revocation).catch(failed)
    return revocations.filter(({ marked }) => marked).length
  }

  let revoked = await revokeAll(given)
  const account = await forAccount(caller, given, options.customClaimsTimeout)
  if (account) revoked += await revokeAll(account)
  if (failures.length > 0) throw failures[0]
  return revoked
}

/**
 * Ends what the token was exchanged for; a JWT cannot be ended. Done for a token marked before, too: the request
 * that marked it may have died before it came this far.
 */
async function finish(
  provider: Provider,
  { clientId }: Caller,
  { token, marked }: Revocation,
): Promise<void> {
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

function payloadOf(token: SubjectToken, revokedBy: string, accessTokenEnded: boolean): SubjectTokenRevoked {
  return {
    id: token.id,
    userId: token.userId,
    actorId: token.use?.actor?.sub ?? token.actorId,
    clientId: token.use?.clientId ?? token.clientId,
    revokedBy,
    accessTokenEnded,
  }
}
