/** Lapses in time: variants of the store in memory that pause where a store that is right does one thing. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Revoked, SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import {
  isStoppable,
  isUnacknowledged,
  LONGEST_LIFE,
  type SubjectToken,
  type SubjectTokenUse,
  stateOf,
} from '../../src/subject-tokens/subject-token.ts'
import { type Memory, memoryStoreOf } from '../../src/testing/memory-store.ts'

/** What is wrong in a store, and the titles of the tests of which each says so. */
export interface Lapse {
  change(store: SubjectTokenStore, memory: Memory): Partial<SubjectTokenStore>
  readonly found: readonly string[]
}

/** A store in memory that is wrong in this. */
export function storeWith({ change }: Lapse): SubjectTokenStore {
  const memory: Memory = { tokens: new Map(), unreported: new Set(), marks: new Map() }
  const store = memoryStoreOf(memory)
  return { ...store, ...change(store, memory) }
}

const write = (
  { tokens }: Memory,
  { id }: Pick<SubjectToken, 'id'>,
  changes: Partial<SubjectToken>,
): void => {
  const stored = tokens.get(id)
  if (stored) tokens.set(id, { ...stored, ...structuredClone(changes) })
}

/** Without its actors but the newest: the others are of another table. */
const linkOf = (use: SubjectTokenUse | undefined) => use?.actor?.sub

/** Finds by a further link of a chain only what `linked` says. */
function findsLinked(store: SubjectTokenStore, linked: (id: string) => boolean): Partial<SubjectTokenStore> {
  const isFound = (token: SubjectToken, names: readonly string[] | undefined) =>
    !names || linked(token.id) || names.some((name) => [token.actorId, linkOf(token.use)].includes(name))
  return {
    async list(issuer, filter, page) {
      const { tokens, ...rest } = await store.list(issuer, filter, page)
      return { ...rest, tokens: tokens.filter((token) => isFound(token, filter.actorId)) }
    },
  }
}

/** The titles of tests in which calls meet. */
export const MEETS = {
  spends: 'spend and spend at the same moment: one of them wins',
  revocation: 'spend and revocation at the same moment: one of two orders',
  userKill: 'spend and kill switch of a user at the same moment: one of two orders',
  shown: 'a token that shows its use is found by every link, and is live, from then on',
  seen: 'a spend that has answered is seen at once, by everyone',
  replays: 'replay and replay at the same moment: one is on the record, and it stopped the token',
  replayAndStop: 'replay and revocation at the same moment: one of them stops the token, and tells',
  stops: 'revocation and revocation at the same moment: one cause, and one report',
  reports: 'report and report at the same moment: each id is returned once',
  acknowledged: 'acknowledgement and replay at the same moment: both are on the record',
  acknowledgedAndStop: 'acknowledgement and stop at the same moment: both are on the record',
  acknowledgements: 'two acknowledgements at the same moment, one after a replay: that one is on the record',
  inserts: 'insertion and insertion of one id at the same moment: one is stored',
  issuers: 'two issuers at the same moment: each call sees its own',
} as const

export const LAPSES: Readonly<Record<string, Lapse>> = {
  'a spend that reads that nothing stopped it, then writes on "unspent" alone': {
    change: (_, memory) => ({
      async consume(token, now, use) {
        const found = memory.tokens.get(token.id)
        if (!found || stateOf(found, now) !== 'active') return false
        await turn()
        if (memory.tokens.get(token.id)?.use) return false
        write(memory, token, { use })
        return true
      },
    }),
    found: [MEETS.revocation, MEETS.userKill],
  },
  'a stop of one token that returns what it read before its mark': {
    change: (store) => ({
      async revoke(issuer, id, now, revocation) {
        const before = await store.find(issuer, id)
        if (!before) return undefined
        await turn()
        const { token, unreported } = (await store.revoke(issuer, id, now, revocation)) as Revoked
        return {
          token: { ...before, ...(token.revocation && { revocation: token.revocation }) },
          unreported,
        }
      },
    }),
    found: [MEETS.revocation],
  },
  'a kill switch that returns what it read before its mark': {
    change: (store, { tokens }) => ({
      async *revokeWhere(issuer, filter, now, revocation) {
        const before = new Map(tokens)
        await turn()
        for await (const batch of store.revokeWhere(issuer, filter, now, revocation))
          yield batch.map(({ token, unreported }) => {
            const { use: _, ...rest } = token
            const use = before.get(token.id)?.use
            return { token: { ...rest, ...(use && { use }) }, unreported }
          })
      },
    }),
    found: [MEETS.userKill],
  },
  'a replay that reads, then writes': {
    change: (_, memory) => ({
      async recordReplay(token, replay) {
        const found = memory.tokens.get(token.id)
        await turn()
        if (!found?.use || found.replay) return false
        const stops = isStoppable(found, replay.at)
        const stop = { revokedAt: replay.at, revocation: { cause: 'replay' } } as const
        write(memory, token, { replay, ...(stops && stop) })
        return stops
      },
    }),
    found: [MEETS.replays, MEETS.replayAndStop],
  },
  'links of a chain that are written after the spend': {
    change: (store) => {
      const linked = new Set<string>()
      return {
        ...findsLinked(store, (id) => linked.has(id)),
        async consume(token, now, use) {
          const won = await store.consume(token, now, use)
          await turn()
          if (won) linked.add(token.id)
          return won
        },
      }
    },
    found: [MEETS.shown],
  },
  'links of a chain that are written after the answer': {
    change: (store) => {
      const linked = new Set<string>()
      return {
        ...findsLinked(store, (id) => linked.has(id)),
        async consume(token, now, use) {
          const won = await store.consume(token, now, use)
          if (won) void turn().then(() => linked.add(token.id))
          return won
        },
      }
    },
    found: [MEETS.seen],
  },
  'an expiry of the access token that is written after the spend': {
    change: (store, memory) => ({
      async consume(token, now, use) {
        const accessToken = { ...use.accessToken, expiresAt: now }
        const won = await store.consume(token, now, { ...use, accessToken })
        await turn()
        if (won) write(memory, token, { use })
        return won
      },
    }),
    found: [MEETS.shown, MEETS.revocation],
  },
  'a spend that answers "no" where storage fails': {
    change: (store) => ({
      consume: (...given) => store.consume(...given).catch(() => false),
    }),
    found: ['consume rejects where storage fails, and quotes no hash'],
  },
  'a stop that counts as reported when it is marked': {
    change: (store, { unreported }) => ({
      async revoke(issuer, id, now, revocation) {
        const revoked = await store.revoke(issuer, id, now, revocation)
        await turn()
        unreported.delete(id)
        return revoked
      },
    }),
    found: ['returns what is stopped as unreported until it is reported'],
  },
  'a kill switch that reports what it is about to return': {
    change: (store, { unreported }) => ({
      async *revokeWhere(...given) {
        for await (const batch of store.revokeWhere(...given)) {
          for (const { token } of batch) unreported.delete(token.id)
          await turn()
          yield batch
        }
      },
    }),
    found: ['a kill switch that is left after its first batch loses nothing'],
  },
  'a spend that reads, then writes': {
    change: (_, memory) => ({
      async consume(token, now, use) {
        const found = memory.tokens.get(token.id)
        await turn()
        if (!found || stateOf(found, now) !== 'active') return false
        write(memory, token, { use })
        return true
      },
    }),
    found: [MEETS.spends, MEETS.revocation],
  },
  'a spend that looks at no expiry': {
    change: (store) => ({
      async consume(token, now, use) {
        await turn()
        return store.consume(token, Math.min(now, token.expiresAt - 1), use)
      },
    }),
    found: ['spends nothing that was revoked, or has expired, to the second'],
  },
  'status indexes that are counted': {
    change: (_, { tokens }) => ({
      async insert(token) {
        if (tokens.has(token.id)) throw new Error('the id exists')
        const statusIndex = tokens.size
        await turn()
        tokens.set(token.id, structuredClone({ ...token, statusIndex }))
      },
    }),
    found: ['gives every token a status index of its own, whatever its issuer, and finds it by that'],
  },
  'a stop that writes the whole document back': {
    change: (store, { tokens, unreported }) => ({
      async revoke(issuer, id, now, revocation) {
        const found = await store.find(issuer, id)
        if (!found || !isStoppable(found, now)) return store.revoke(issuer, id, now, revocation)
        await turn()
        tokens.set(id, { ...found, revokedAt: now, revocation })
        unreported.add(id)
        return store.revoke(issuer, id, now, revocation)
      },
    }),
    found: [MEETS.revocation, MEETS.replayAndStop],
  },
  'issuers that are mixed where their calls meet': {
    change: (store) => {
      let current = ''
      return {
        async find(issuer, id) {
          current = issuer
          await turn()
          return store.find(current, id)
        },
        async *revokeWhere(issuer, filter, now, revocation) {
          current = issuer
          await turn()
          yield* store.revokeWhere(current, filter, now, revocation)
        },
      }
    },
    found: [MEETS.issuers],
  },
}

/** What else an author gets wrong, listed by the words of the contract alone, before the kit judged orders. */
export const FURTHER_LAPSES: Readonly<Record<string, Lapse>> = {
  'an acknowledgement that covers by its time': {
    change: (store) => {
      const covers = (token: SubjectToken) =>
        (token.acknowledged ?? []).some(({ at }) => !token.replay || at >= token.replay.at)
      const isOpen = (token: SubjectToken) => {
        const { acknowledged: _, ...rest } = token
        return isUnacknowledged(rest) && !covers(token)
      }
      return {
        async list(issuer, { unacknowledged, ...filter }, page) {
          const found = await store.list(issuer, filter, page)
          return unacknowledged ? { ...found, tokens: found.tokens.filter(isOpen) } : found
        },
      }
    },
    found: [MEETS.acknowledged],
  },
  'a replay that overwrites the cause of a stop that came meanwhile': {
    change: (store, memory) => ({
      async recordReplay(token, replay) {
        const stops = isStoppable(token, replay.at)
        await turn()
        await store.recordReplay(token, replay)
        if (stops) write(memory, token, { revokedAt: replay.at, revocation: { cause: 'replay' } })
        return stops
      },
    }),
    found: [MEETS.replayAndStop],
  },
  'a count of what lives that leaves out what nothing could end': {
    change: (_, { tokens }) => ({
      async *countLive(issuer, now) {
        const all = [...tokens.values()].filter((token) => token.issuer === issuer)
        yield all.filter(({ use, revokedAt }) => (use?.accessToken.expiresAt ?? 0) > now && !revokedAt).length
      },
    }),
    found: ['takes what nothing could end for live until it expires, stopped or not'],
  },
  'a ticket that is found by its beginning': {
    change: (store, memory) => findsTicket(store, memory, (ticket, text) => ticket.startsWith(text)),
    found: ['finds a token by the ticket in its context, and by no part of it'],
  },
  'a ticket that is found without its spaces': {
    change: (store, memory) => findsTicket(store, memory, (ticket, text) => ticket.trim() === text.trim()),
    found: ['finds a token by the ticket in its context, and by no part of it'],
  },
  'a list by id that knows no issuer': {
    change: (store, { tokens }) => ({
      list: (issuer, filter, page) => store.list(tokens.get(filter.id ?? '')?.issuer ?? issuer, filter, page),
    }),
    found: ['finds nothing of another issuer'],
  },
  'a cursor that is on the next page too': {
    change: (store) => ({
      list: (issuer, filter, { cursor, ...page }) =>
        store.list(issuer, filter, { ...page, ...(cursor !== undefined && { cursor: `${cursor}0` }) }),
    }),
    found: ['lists the newest first, page by page'],
  },
  'a summary that counts what was ended as revoked too': {
    change: (store) => ({
      async *summarize(...given) {
        for await (const counts of store.summarize(...given))
          yield { ...counts, revoked: counts.revoked + counts.ended }
      },
    }),
    found: ['counts what was created in a time, and what is live'],
  },
  'a report that knows no issuer': {
    change: (_, { unreported }) => ({
      report: async (_issuer, ids) => ids.filter((id) => unreported.delete(id)),
    }),
    found: ['stops and counts nothing of another issuer'],
  },
  'a time before which its own second is': {
    change: (store) => ({
      list: (issuer, { createdBefore, ...filter }, page) =>
        store.list(
          issuer,
          { ...filter, ...(createdBefore !== undefined && { createdBefore: createdBefore + 1 }) },
          page,
        ),
    }),
    found: ['finds what is live, replayed, without an actor, or of a time, and what is not'],
  },
  'links that are written before the spend, and believed': {
    change: (store, { tokens }) => {
      const linked: (readonly [name: string, id: string])[] = []
      return {
        async consume(token, now, use) {
          for (let link = use.actor?.act; link; link = link.act) linked.push([link.sub, token.id])
          await turn()
          return store.consume(token, now, use)
        },
        async list(issuer, filter, page) {
          const found = await store.list(issuer, filter, page)
          const ids = linked.filter(([name]) => filter.actorId?.includes(name)).map(([, id]) => id)
          const more = [...new Set(ids)].flatMap((id) => tokens.get(id) ?? [])
          const spent = more.filter(({ id, use }) => use && !found.tokens.some((one) => one.id === id))
          return { ...found, tokens: [...found.tokens, ...spent] }
        },
      }
    },
    found: [
      'has one winner among racers with chains of several actors, and is found by the links of the winner only',
    ],
  },
  'a spend that looks for a use, and for no stop': {
    change: (_, memory) => ({
      async consume(token, now, use) {
        if (token.expiresAt <= now || memory.tokens.get(token.id)?.use) return false
        write(memory, token, { use })
        return true
      },
    }),
    found: ['a stop that has answered is seen at once, by everyone', MEETS.revocation],
  },
  'a replay whose stop is to be reported': {
    change: (store, { unreported }) => ({
      async recordReplay(token, replay) {
        const stopped = await store.recordReplay(token, replay)
        if (stopped) unreported.add(token.id)
        return stopped
      },
    }),
    found: ['records the first replay, which stops what lives, and counts as reported'],
  },
  'an insertion that looks for its id, then writes': {
    change: (store, { tokens }) => ({
      async insert(token) {
        if (tokens.has(token.id)) throw new Error('the id exists')
        await turn()
        tokens.delete(token.id)
        await store.insert(token)
      },
    }),
    found: [MEETS.inserts],
  },
  'a stop that looks at the life of the subject token alone': {
    change: (store) => ({
      async revoke(issuer, id, now, revocation) {
        const found = await store.find(issuer, id)
        return found && found.expiresAt <= now
          ? { token: found, unreported: false }
          : store.revoke(issuer, id, now, revocation)
      },
    }),
    found: ['stops an access token that outlives its subject token'],
  },
  'status lists that show what was replayed and not stopped': {
    change: (store, { tokens }) => ({
      async findStopped(issuer, since) {
        const replayed = [...tokens.values()].filter((one) => one.issuer === issuer && !one.revokedAt)
        const more = replayed.flatMap(({ statusIndex, use, replay }) =>
          use && replay && replay.at >= since ? [{ statusIndex, expiresAt: use.accessToken.expiresAt }] : [],
        )
        return [...(await store.findStopped(issuer, since)), ...more]
      },
    }),
    found: ['finds what was spent and then stopped, since a time'],
  },
  'what was stopped unspent, listed as without an actor': {
    change: (store, { tokens }) => ({
      async list(issuer, filter, page) {
        if (!filter.withoutActor) return store.list(issuer, filter, page)
        const { withoutActor: _, ...rest } = filter
        const found = await store.list(issuer, rest, { ...page, limit: tokens.size })
        return { tokens: found.tokens.filter(({ use, revokedAt }) => (use ? !use.actor : revokedAt)) }
      },
    }),
    found: ['finds what is live, replayed, without an actor, or of a time, and what is not'],
  },
  'a list of what lives that looks back one life': {
    change: (store) => ({
      list: (issuer, filter, page) =>
        store.list(
          issuer,
          filter.live
            ? { ...filter, createdAfter: Math.max(filter.createdAfter ?? 0, page.now - LONGEST_LIFE) }
            : filter,
          page,
        ),
    }),
    found: ['revokes an access token of the longest life that came of a subject token of the longest life'],
  },
  'what was stopped, listed as replayed': {
    change: (store, { tokens }) => ({
      async list(issuer, filter, page) {
        if (!filter.replayed) return store.list(issuer, filter, page)
        const { replayed: _, ...rest } = filter
        const found = await store.list(issuer, rest, { ...page, limit: tokens.size })
        return { tokens: found.tokens.filter(({ replay, revokedAt }) => replay || revokedAt) }
      },
    }),
    found: ['finds what is live, replayed, without an actor, or of a time, and what is not'],
  },
  'a summary that counts what was replayed and not stopped as revoked': {
    change: (store, { tokens }) => ({
      async *summarize(issuer, from, until) {
        const ended = [...tokens.values()].filter(
          (one) => one.issuer === issuer && one.replay && !one.revokedAt,
        )
        for await (const counts of store.summarize(issuer, from, until))
          yield { ...counts, revoked: counts.revoked + ended.length }
      },
    }),
    found: ['counts what was created in a time, and what is live'],
  },
  'a client that is found by the use alone': {
    change: (store) => ({
      async list(issuer, filter, page) {
        const found = await store.list(issuer, filter, page)
        const { clientId } = filter
        const fits = (one: SubjectToken) => !clientId || (one.use?.clientId ?? one.clientId) === clientId
        return { ...found, tokens: found.tokens.filter(fits) }
      },
    }),
    found: ['records a use that is as the constraint said, and one that is not'],
  },
}

/** Finds tickets by a rule of its own. */
function findsTicket(
  store: SubjectTokenStore,
  { tokens }: Memory,
  fits: (ticket: string, text: string) => boolean,
): Partial<SubjectTokenStore> {
  return {
    async list(issuer, { ticketId, ...filter }, page) {
      if (ticketId === undefined) return store.list(issuer, filter, page)
      const found = await store.list(issuer, filter, { ...page, limit: tokens.size })
      const isFound = ({ context }: SubjectToken) =>
        typeof context.ticketId === 'string' && fits(context.ticketId, ticketId)
      return { tokens: found.tokens.filter(isFound) }
    },
  }
}
