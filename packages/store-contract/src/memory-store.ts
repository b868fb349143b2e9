import type {
  DueSession,
  Revocation,
  Revoked,
  Seconds,
  StoredSubjectToken,
  SubjectToken,
  SubjectTokenStore,
} from 'oidc-provider-impersonation'
import {
  earliestId,
  isCreatedIn,
  isEnd,
  isLive,
  isStoppable,
  matches,
  namesOf,
  stateOf,
} from 'oidc-provider-impersonation/inside'

/**
 * A store of subject tokens in the memory of this process: the contract `SubjectTokenStore` in its simplest form, to read
 * and to test against. Not for production: it forgets everything at the end of the process, and shares nothing with others.
 *
 * @example
 * const impersonation = createImpersonation({ store: createMemoryStore() })
 */
export const createMemoryStore = (): SubjectTokenStore =>
  memoryStoreOf({ tokens: new Map(), unreported: new Set(), marks: new Map() })

/** The contents of a store in memory. */
interface Memory {
  readonly tokens: Map<string, StoredSubjectToken>
  /** The ids of stopped tokens whose stop no one has reported. */
  readonly unreported: Set<string>
  /** The marks of sessions that are open, by their ids. */
  readonly marks: Map<string, Seconds>
}

/** The store that keeps its tokens there. */
export function memoryStoreOf(memory: Memory): SubjectTokenStore {
  const { tokens, unreported, marks } = memory
  let issued = 0

  const get = (issuer: string, id: string) => {
    const token = tokens.get(id)
    return token?.issuer === issuer ? token : undefined
  }
  const ofIssuer = (issuer: string) => [...tokens.values()].filter((token) => token.issuer === issuer)
  const change = (token: SubjectToken, changes: Partial<SubjectToken>) => {
    const stored = tokens.get(token.id)
    if (stored) tokens.set(token.id, { ...stored, ...structuredClone(changes) })
  }
  /** The present contents, and nothing that was read before. */
  const revoked = ({ id }: SubjectToken): Revoked =>
    structuredClone({ token: tokens.get(id) as SubjectToken, unreported: unreported.has(id) })
  const stop = (token: SubjectToken, now: Seconds, revocation: Revocation) => {
    change(token, { revokedAt: now, revocation })
    unreported.add(token.id)
  }

  return {
    async insert(token) {
      if (tokens.has(token.id)) throw new Error('the id exists')
      tokens.set(token.id, structuredClone({ ...token, statusIndex: issued }))
      issued += 1
    },

    find: async (issuer, id) => structuredClone(get(issuer, id)),

    // Without an `await` between look and write, nothing can come in between.
    async consume({ issuer, id }, now, use) {
      const token = get(issuer, id)
      if (!token || stateOf(token, now) !== 'active') return false
      change(token, { use })
      if (use.session) marks.set(id, use.accessToken.expiresAt)
      return true
    },

    async list(issuer, filter, { limit, cursor, now }) {
      const found = ofIssuer(issuer)
        .filter((token) => matches(token, filter, now) && (cursor === undefined || token.id < cursor))
        .sort((one, other) => (one.id < other.id ? 1 : -1))
      const page = found.slice(0, limit)
      const next = found.length > limit ? page.at(-1)?.id : undefined
      return structuredClone({ tokens: page, ...(next !== undefined && { next }) })
    },

    async *summarize(issuer, from, until) {
      const found = ofIssuer(issuer).filter((token) => isCreatedIn(token, from, until))
      const count = (counts: (token: SubjectToken) => boolean) => found.filter(counts).length
      yield {
        issued: found.length,
        exchanged: count(({ use }) => use !== undefined),
        withoutActor: count(({ use }) => use !== undefined && !use.actor),
        revoked: count(({ revocation }) => revocation !== undefined && !isEnd(revocation)),
        ended: count(({ revocation }) => revocation !== undefined && isEnd(revocation)),
        replayed: count(({ replay }) => replay !== undefined),
      }
    },

    async *countLive(issuer, now) {
      yield ofIssuer(issuer).filter((token) => isLive(token, now)).length
    },

    async revoke(issuer, id, now, revocation) {
      const token = get(issuer, id)
      if (!token) return undefined
      if (isStoppable(token, now)) stop(token, now, revocation)
      return revoked(token)
    },

    async *revokeWhere(issuer, filter, now, revocation) {
      const batch: Revoked[] = []
      for (const token of ofIssuer(issuer).filter((one) => matches(one, namesOf(filter), now))) {
        const { id } = token
        if (isStoppable(token, now)) stop(token, now, revocation)
        else if (!unreported.has(id) || !lives(token, now)) continue
        batch.push(revoked(token))
      }
      if (batch.length > 0) yield batch
    },

    report: async (issuer, ids) => ids.filter((id) => get(issuer, id) && unreported.delete(id)),

    async recordReplay({ issuer, id }, replay) {
      const token = get(issuer, id)
      if (!token?.use || token.replay) return false
      const stops = isStoppable(token, replay.at)
      change(token, { replay, ...(stops && { revokedAt: replay.at, revocation: { cause: 'replay' } }) })
      return stops
    },

    async acknowledge({ issuer, id }, acknowledgement) {
      const token = get(issuer, id)
      if (!token) return
      const { acknowledged = [] } = token
      if (acknowledged.some(({ coversReplay }) => coversReplay || !acknowledgement.coversReplay)) return
      change(token, { acknowledged: [...acknowledged, acknowledgement] })
    },

    findByStatusIndex: async (issuer, statusIndex) =>
      structuredClone(ofIssuer(issuer).find((token) => token.statusIndex === statusIndex)),

    findStopped: async (issuer, since) =>
      ofIssuer(issuer).flatMap(({ statusIndex, use, revokedAt = 0 }) =>
        use && revokedAt >= since ? [{ statusIndex, expiresAt: use.accessToken.expiresAt }] : [],
      ),

    async findStatusLists(size, since) {
      const all = [...tokens.values()]
      const recent = all.filter(({ id }) => id >= earliestId(since)).map(({ statusIndex }) => statusIndex)
      const highest = Math.max(...all.map(({ statusIndex }) => statusIndex))
      const oldest = Math.min(highest, ...recent)
      const lists = all.filter(({ statusIndex }) => statusIndex >= oldest)
      return [...new Set(lists.map(({ statusIndex }) => Math.floor(statusIndex / size)))]
    },

    sessions: sessionsOf(memory),
  }
}

function sessionsOf({ tokens, marks }: Memory): NonNullable<SubjectTokenStore['sessions']> {
  /** The mark of a session that is open. */
  const markOf = (issuer: string, id: string) =>
    tokens.get(id)?.issuer === issuer ? marks.get(id) : undefined
  return {
    async findDue(issuer, now, limit) {
      const open = [...marks].flatMap(([id, mark]) => {
        const token = tokens.get(id)
        return token?.issuer === issuer ? dueOf(token, mark) : []
      })
      return open
        .filter(({ mark, endsAt, revokedAt }) => mark <= now || (revokedAt !== undefined && mark === endsAt))
        .sort((one, other) => one.mark - other.mark)
        .slice(0, limit)
    },

    async claim(issuer, id, mark, next) {
      if (markOf(issuer, id) !== mark) return false
      marks.set(id, next)
      return true
    },

    async settle(issuer, id, { mark, logout, at }) {
      const token = tokens.get(id)
      if (!token?.use?.session || markOf(issuer, id) === undefined) return
      if (mark === null) marks.delete(id)
      else marks.set(id, mark)
      if (logout === undefined || token.use.session.logout !== 'pending') return
      tokens.set(id, { ...token, use: { ...token.use, session: { logout, logoutAt: at } } })
    },
  }
}

function dueOf({ id, userId, actorId, readOnly, use, revokedAt }: SubjectToken, mark: Seconds): DueSession[] {
  if (!use?.session) return []
  const { at: usedAt, clientId, accessToken, session, actor } = use
  const acts = actor?.sub ?? actorId
  return [
    {
      ...{ id, userId, clientId, mark, usedAt, endsAt: accessToken.expiresAt, logout: session.logout },
      ...(acts !== undefined && { actorId: acts }),
      ...(revokedAt !== undefined && { revokedAt }),
      ...(readOnly && { readOnly }),
    },
  ]
}

/** Whether its access token has not expired, stopped or not. */
const lives = ({ use }: SubjectToken, now: Seconds): boolean =>
  use !== undefined && use.accessToken.expiresAt > now
