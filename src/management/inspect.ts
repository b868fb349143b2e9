import type { Seconds } from '../clock.ts'
import { epochTime } from '../clock.ts'
import type { JsonObject } from '../plain-json.ts'
import type { ShownAccessToken } from '../provider/access-token.ts'
import { isId } from '../subject-tokens/id.ts'
import {
  type Acknowledgement,
  type ActingParty,
  jtiOf,
  type Replay,
  type ShownRevocation,
  type SubjectToken,
  type SubjectTokenState,
  shownRevocation,
  stateOf,
} from '../subject-tokens/subject-token.ts'
import { type Lookup, withAccounts } from './account-ids.ts'
import { subjectTokenNotFound } from './errors.ts'
import type { ListRequest } from './list-request.ts'
import type { ManagementService } from './service.ts'

/** The record of one impersonation, as the API shows it (protocol.md §2.2). Times in epoch seconds; never a secret. */
export interface SubjectTokenRecord {
  readonly id: string
  readonly use?: 'session'
  readonly userId: string
  readonly actorId?: string
  readonly actor?: ActingParty
  readonly context: JsonObject
  readonly createdBy: string
  readonly clientId?: string
  readonly usedBy?: string
  readonly resource?: string | readonly string[]
  readonly scope?: string
  /** What the subject token allowed, where that is not what was granted. */
  readonly ceiling?: Ceiling
  readonly createdAt: Seconds
  readonly expiresAt: Seconds
  readonly consumedAt?: Seconds
  readonly revokedAt?: Seconds
  readonly revocation?: ShownRevocation
  readonly replay?: Replay
  /** Who has looked into its alarms, oldest first. */
  readonly acknowledged?: readonly Omit<Acknowledgement, 'coversReplay'>[]
  readonly accessToken?: ShownAccessToken
  readonly state: SubjectTokenState
}

type Ceiling = Pick<SubjectToken, 'resource' | 'scope'>

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
  if (!given) return { items: [] }
  const filter = await withAccounts(caller, given, options.customClaimsTimeout)
  const now = epochTime()
  const { tokens, next } = await store.list(provider.issuer, filter, { limit, cursor, now })
  return { items: tokens.map((token) => recordOf(token, now)), ...(next && { nextCursor: next }) }
}

export async function showSubjectToken(service: ManagementService, id: string): Promise<SubjectTokenRecord> {
  return recordOf(await findRecord(service, id), epochTime())
}

/** The whole record, with its acknowledgements. */
export async function findRecord(
  { provider, store }: Pick<ManagementService, 'provider' | 'store'>,
  id: string,
): Promise<SubjectToken> {
  const page = { limit: 1, now: epochTime() }
  const [token] = isId(id) ? (await store.list(provider.issuer, { id }, page)).tokens : []
  if (!token) throw subjectTokenNotFound()
  return token
}

/** Named members only: what leaves is decided here. Once used, resource and scope are what was granted. */
function recordOf(token: SubjectToken, now: Seconds): SubjectTokenRecord {
  const { use } = token
  return {
    id: token.id,
    use: token.purpose === 'session' ? token.purpose : undefined,
    userId: token.userId,
    actorId: token.actorId,
    actor: use?.actor,
    context: token.context,
    createdBy: token.createdBy,
    clientId: token.clientId,
    usedBy: use?.clientId,
    resource: use ? use.resource : token.resource,
    scope: use ? use.scope : token.scope,
    ceiling: ceilingOf(token),
    createdAt: token.createdAt,
    expiresAt: token.expiresAt,
    consumedAt: use?.at,
    revokedAt: token.revokedAt,
    revocation: shownRevocation(token),
    replay: token.replay,
    acknowledged: token.acknowledged?.map(({ at, by, note }) => ({ at, by, note })),
    accessToken: use && {
      format: use.accessToken.format,
      jti: jtiOf(token),
      expiresAt: use.accessToken.expiresAt,
    },
    state: stateOf(token, now),
  }
}

function ceilingOf({ use, resource, scope }: SubjectToken): Ceiling | undefined {
  if (!use) return undefined
  const ceiling = {
    ...(resource !== undefined && !areSame([resource].flat(), [use.resource]) && { resource }),
    ...(scope !== undefined && !areSame(scope.split(' '), use.scope?.split(' ') ?? []) && { scope }),
  }
  return Object.keys(ceiling).length > 0 ? ceiling : undefined
}

/** In any order. */
const areSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((name) => others.includes(name))
