import { epochTime, type Seconds } from '../clock.ts'
import { type AccessTokenEnd, emit, type SubjectTokenRevoked } from '../events.ts'
import { storageUnavailable } from '../outage.ts'
import { endAccessToken } from '../provider/access-token.ts'
import { isId } from '../subject-tokens/id.ts'
import type { KillFilter, Revoked, RevokedToken } from '../subject-tokens/store.ts'
import type { Revocation } from '../subject-tokens/subject-token.ts'
import { forAccount, type Lookup } from './account-ids.ts'
import { subjectTokenNotFound } from './errors.ts'
import type { ManagementService } from './service.ts'

/**
 * Revokes one: an unused token can no longer be exchanged, what it was exchanged for ends. Returns how many this call
 * marked: 0 when it is repeated, and 1 when it completes one that failed.
 */
export async function revokeSubjectToken(
  service: ManagementService,
  id: string,
  revocation: Revocation,
): Promise<number> {
  const { provider, store } = service
  const now = epochTime()
  const revoked = isId(id) ? await store.revoke(provider.issuer, id, now, revocation) : undefined
  if (!revoked) throw subjectTokenNotFound()
  await finish(service, revoked, { at: now, revocation })
  return revoked.marked ? 1 : 0
}

/**
 * The kill switch; returns how many it marked. First by the name as given, then by the account that it is an alias of,
 * so that nothing waits for the look-up.
 */
export async function revokeSubjectTokens(
  service: ManagementService,
  caller: Lookup,
  given: KillFilter,
  revocation: Revocation,
): Promise<number> {
  const { provider, store, options } = service
  let failure: { readonly error: unknown } | undefined
  const failed = (error: unknown) => {
    failure ??= { error }
  }
  const revokeAll = async (filter: KillFilter): Promise<number> => {
    let marked = 0
    const at = epochTime()
    try {
      for await (const batch of store.revokeWhere(provider.issuer, filter, at, revocation)) {
        // A failure to end one must not keep the others alive.
        await forEach(batch, AT_ONCE, (revoked) => finish(service, revoked, { at, revocation }).catch(failed))
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

interface Stop {
  readonly at: Seconds
  readonly revocation: Revocation
}

/**
 * Ends what the token was exchanged for. Done for a token that was marked before, too, while its access token may live:
 * the request that marked it may have died before it came this far.
 */
async function finish(
  { provider, options }: ManagementService,
  { token, marked }: Revoked,
  { at, revocation }: Stop,
): Promise<void> {
  const { use } = token
  const lives = use !== undefined && use.accessToken.expiresAt > at
  let ended: AccessTokenEnd | undefined
  if (use?.accessToken.format === 'jwt') ended = options.statusList === false ? 'kept' : 'now'
  // The mark alone does not end it, and may be that of an earlier request.
  else if (use) ended = lives ? 'now' : 'expired'
  try {
    if ((marked || lives) && use?.grantId !== undefined) await endAccessToken(provider, use.grantId)
  } catch (error) {
    ended = 'failed'
    throw storageUnavailable(error)
  } finally {
    if (marked) {
      // The record's where this completes the request of someone else.
      const first = token.revocation ?? revocation
      emit(provider, 'subject_token.revoked', payloadOf(token, first, ended))
    }
  }
}

function payloadOf(
  { id, userId, actorId, clientId, use }: RevokedToken,
  revocation: Revocation,
  ended: AccessTokenEnd | undefined,
): SubjectTokenRevoked {
  return {
    id,
    userId,
    actorId: use?.actor?.sub ?? actorId,
    clientId: use?.clientId ?? clientId,
    revokedBy: revocation.client,
    revocation,
    jti: use?.accessToken.jti,
    ended,
  }
}
