import type { Seconds } from '../clock.ts'
import { epochTime } from '../clock.ts'
import type { JsonObject } from '../plain-json.ts'
import { isId } from '../subject-tokens/id.ts'
import {
  type ActingParty,
  type IssuedAccessToken,
  type Replay,
  type Revocation,
  type SubjectToken,
  type SubjectTokenState,
  stateOf,
} from '../subject-tokens/subject-token.ts'
import { type Lookup, withAccounts } from './account-ids.ts'
import { subjectTokenNotFound } from './errors.ts'
import type { ListRequest } from './list-request.ts'
import type { ManagementService } from './service.ts'

/** The record of one impersonation, as the API shows it (protocol.md §2.2). Times in epoch seconds; never a secret. */
export interface SubjectTokenRecord {
  readonly id: string
  readonly userId: string
  readonly actorId?: string
  readonly actor?: ActingParty
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
  readonly revocation?: Revocation
  readonly replay?: Replay
  readonly accessToken?: IssuedAccessToken
  readonly state: SubjectTokenState
}

interface Page {
  /** Newest first. */
  readonly items: readonly SubjectTokenRecord[]
  /** The id of the last row that was read. The next page begins after it, if there is one. */
  readonly nextCursor?: string
}

export async function listSubjectTokens(
  { provider, store, options }: ManagementService,
  caller: Lookup,
  { filter: given, limit, cursor }: ListRequest,
): Promise<Page> {
  const filter = await withAccounts(caller, given, options.customClaimsTimeout)
  const now = epochTime()
  const { tokens, next } = await store.list(provider.issuer, filter, { limit, cursor, now })
  return { items: tokens.map((token) => recordOf(token, now)), ...(next && { nextCursor: next }) }
}

export async function showSubjectToken(
  { provider, store }: ManagementService,
  id: string,
): Promise<SubjectTokenRecord> {
  const token = isId(id) ? await store.get(provider.issuer, id) : undefined
  if (!token) throw subjectTokenNotFound()
  return recordOf(token, epochTime())
}

/** Named members only: what leaves is decided here. Once used, resource and scope are what was granted. */
function recordOf(token: SubjectToken, now: Seconds): SubjectTokenRecord {
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
    revocation: token.revocation,
    replay: token.replay,
    accessToken: use?.accessToken,
    state: stateOf(token, now),
  }
}
