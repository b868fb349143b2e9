import type { Seconds } from '../clock.ts'
import { epochTime } from '../clock.ts'
import type { JsonObject } from '../plain-json.ts'
import { isId } from '../subject-tokens/id.ts'
import {
  type AccessTokenFormat,
  type ActingParty,
  type SubjectToken,
  type SubjectTokenState,
  stateOf,
} from '../subject-tokens/subject-token.ts'
import { withAccounts } from './account-ids.ts'
import { subjectTokenNotFound } from './errors.ts'
import type { ListRequest } from './list-request.ts'
import type { Caller, ManagementService } from './service.ts'

/** The record of one impersonation, as the API shows it (protocol.md §2.2). Times in epoch seconds; never a secret. */
interface SubjectTokenRecord {
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
  readonly accessToken?: { readonly format: AccessTokenFormat; readonly expiresAt: Seconds }
  readonly state: SubjectTokenState
}

interface Page {
  /** Newest first. */
  readonly items: readonly SubjectTokenRecord[]
  /** The id that the next page begins after, if there is one. */
  readonly nextCursor?: string
}

export async function listSubjectTokens(
  { provider, store, options }: ManagementService,
  caller: Caller,
  request: ListRequest,
): Promise<Page> {
  const { limit, cursor } = request
  const filter = await withAccounts(caller, request.filter, options.customClaimsTimeout)
  const now = epochTime()
  // One more than asked for tells whether there is a next page.
  const found = await store.list(provider.issuer, filter, { limit: limit + 1, cursor, now })
  const page = found.slice(0, limit)
  const nextCursor = found.length > limit ? page.at(-1)?.id : undefined
  return { items: page.map((token) => recordOf(token, now)), ...(nextCursor && { nextCursor }) }
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
    accessToken: use?.accessToken,
    state: stateOf(token, now),
  }
}
