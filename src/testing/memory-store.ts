import type { Seconds } from '../clock.ts'
import { earliestId } from '../subject-tokens/id.ts'
import type { TokenHash } from '../subject-tokens/secret.ts'
import type { KillFilter, Revoked, SubjectTokenFilter, SubjectTokenStore } from '../subject-tokens/store.ts'
import { type ActClaim, type SubjectToken, stateOf } from '../subject-tokens/subject-token.ts'

/**
 * A store of subject tokens in the memory of this process: the contract `SubjectTokenStore` in its simplest form, to read
 * and to test against. Not for production: it forgets everything at the end of the process, and shares nothing with others.
 *
 * @example
 * const impersonation = createImpersonation({ store: createMemoryStore() })
 */
export function createMemoryStore(): SubjectTokenStore {
  const tokens = new Map<string | undefined, SubjectToken>()
  const idByHash = new Map<TokenHash, string>()
  let issued = 0

  const get = (issuer: string, id: string | undefined) => {
    const token = tokens.get(id)
    return token?.issuer === issuer ? token : undefined
  }
  const ofIssuer = (issuer: string) => [...tokens.values()].filter((token) => token.issuer === issuer)
  const change = (token: SubjectToken, changes: Partial<SubjectToken>) => {
    const changed = { ...token, ...changes }
    tokens.set(token.id, changed)
    return changed
  }

  return {
    async insert({ tokenHash, ...token }) {
      if (tokens.has(token.id) || idByHash.has(tokenHash)) throw new Error('the id or the hash exists')
      tokens.set(token.id, structuredClone({ ...token, statusIndex: issued }))
      idByHash.set(tokenHash, token.id)
      issued += 1
    },

    findByHash: async (issuer, hash) => structuredClone(get(issuer, idByHash.get(hash))),
    get: async (issuer, id) => structuredClone(get(issuer, id)),

    // Without an `await` between look and write, nothing can come in between.
    async consume(issuer, hash, now, use) {
      const token = get(issuer, idByHash.get(hash))
      if (!token || stateOf(token, now) !== 'active') return false
      change(token, { use: structuredClone(use) })
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
        revoked: count(({ revokedAt }) => revokedAt !== undefined),
        replayed: count(({ replay }) => replay !== undefined),
      }
    },

    async *countLive(issuer, now) {
      yield ofIssuer(issuer).filter((token) => isBeingUsed(token, now)).length
    },

    async revoke(issuer, id, now, revocation) {
      const token = get(issuer, id)
      if (!token) return undefined
      const marked = isStoppable(token, now)
      return structuredClone({
        token: marked ? change(token, { revokedAt: now, revocation }) : token,
        marked,
      })
    },

    async *revokeWhere(issuer, filter, now, revocation) {
      const batch: Revoked[] = []
      for (const token of ofIssuer(issuer).filter((one) => matches(one, namesOf(filter), now))) {
        if (isStoppable(token, now)) {
          batch.push({ token: change(token, { revokedAt: now, revocation }), marked: true })
        } else if (token.use?.grantId !== undefined && isLive(token, now)) {
          batch.push({ token, marked: false })
        }
      }
      if (batch.length > 0) yield structuredClone(batch)
    },

    async recordReplay(issuer, id, replay) {
      const token = get(issuer, id)
      if (!token?.use || token.replay) return false
      const stops = isStoppable(token, replay.at)
      change(token, { replay, ...(stops && { revokedAt: replay.at, revocation: { cause: 'replay' } }) })
      return stops
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
  }
}

const isLive = ({ use }: SubjectToken, now: Seconds): boolean =>
  use !== undefined && use.accessToken.expiresAt > now

/** Whether there is something to stop. */
const isStoppable = (token: SubjectToken, now: Seconds): boolean =>
  token.revokedAt === undefined && (stateOf(token, now) === 'active' || isLive(token, now))

function matches(token: SubjectToken, filter: SubjectTokenFilter, now: Seconds): boolean {
  const { userId, actorId, clientId, createdBy, state, live, replayed, withoutActor } = filter
  const { createdAfter, createdBefore } = filter
  const actors = [token.actorId, ...linksOf(token.use?.actor)]
  const clients = [token.clientId, token.use?.clientId]
  return (
    (!userId || userId.includes(token.userId)) &&
    (!actorId || actorId.some((name) => actors.includes(name))) &&
    (clientId === undefined || clients.includes(clientId)) &&
    (createdBy === undefined || token.createdBy === createdBy) &&
    (state === undefined || stateOf(token, now) === state) &&
    (live === undefined || isBeingUsed(token, now) === live) &&
    (replayed === undefined || (token.replay !== undefined) === replayed) &&
    (withoutActor === undefined || (token.use !== undefined && !token.use.actor) === withoutActor) &&
    isCreatedIn(token, createdAfter, createdBefore)
  )
}

const isBeingUsed = (token: SubjectToken, now: Seconds): boolean =>
  isLive(token, now) && token.revokedAt === undefined

/** By the time in its id. */
const isCreatedIn = ({ id }: SubjectToken, from: Seconds | undefined, until: Seconds | undefined): boolean =>
  (from === undefined || id >= earliestId(from)) && (until === undefined || id < earliestId(until))

const linksOf = (actor: ActClaim | undefined): string[] => (actor ? [actor.sub, ...linksOf(actor.act)] : [])

function namesOf(filter: KillFilter): SubjectTokenFilter {
  if ('userId' in filter) return { userId: [filter.userId] }
  return 'actorId' in filter ? { actorId: [filter.actorId] } : filter
}
