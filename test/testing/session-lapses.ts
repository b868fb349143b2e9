/** Lapses of the authors of stores that have sessions, listed by the words of the contract. */
import { setImmediate as turn } from 'node:timers/promises'
import type { SessionStore, SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import type { SubjectToken, SubjectTokenUse } from '../../src/subject-tokens/subject-token.ts'
import type { Memory } from '../../src/testing/memory-store.ts'
import type { Lapse } from './lapses.ts'

const TITLES = {
  recorded: 'records a session: when it ends, and what its application can be told',
  due: 'finds sessions by their marks, to the second, the oldest first, and no other use',
  stopped: 'finds at once what was stopped, in any way, until someone tries to end it',
  killed: 'finds at once what a kill switch stopped',
  claimed: 'moves a mark from exactly what it is, and of an open session of the issuer only',
  claims: 'has one winner among 50 claims',
  answered: 'keeps the first answer of an application, and when it came',
  settled: 'is due again as it was settled, and never once it was settled for good',
  ends: 'takes the end of a session for that of an access token',
  opened: 'session and stop at the same moment: it is to be ended, or was never opened',
  marked: 'a session that shows its use has its mark from then on',
  claimsMeet: 'claim and claim at the same moment: one of them is granted',
  claimAndSettlement: 'claim and settlement at the same moment: it stays settled',
  settlementAndStop: 'settlement and stop at the same moment: both are on the record',
} as const

/** The store with other sessions. */
const withSessions = (
  store: SubjectTokenStore,
  change: (sessions: SessionStore) => Partial<SessionStore>,
): Partial<SubjectTokenStore> => {
  const { sessions } = store
  return sessions ? { sessions: { ...sessions, ...change(sessions) } } : {}
}

/** Writes the use anew. */
function write({ tokens }: Memory, id: string, changes: Partial<SubjectTokenUse>): void {
  const token = tokens.get(id)
  if (token?.use) tokens.set(id, { ...token, use: { ...token.use, ...changes } })
}

/** A mark, or `undefined` where there is none of that issuer. */
const markOf = ({ tokens, marks }: Memory, issuer: string, id: string) =>
  tokens.get(id)?.issuer === issuer ? marks.get(id) : undefined

const stoppedBy = (
  store: SubjectTokenStore,
  { tokens }: Memory,
  isSeen: (token: SubjectToken) => boolean,
): Partial<SubjectTokenStore> =>
  withSessions(store, (sessions) => ({
    async findDue(issuer, now, limit) {
      const found = await sessions.findDue(issuer, now, limit)
      return found.filter(({ id, mark }) => {
        const token = tokens.get(id)
        return mark <= now || (token !== undefined && isSeen(token))
      })
    },
  }))

export const SESSION_LAPSES: Readonly<Record<string, Lapse>> = {
  'resources of a session that are always a list': {
    change: (store) => ({
      consume: (token, now, use) =>
        store.consume(token, now, { ...use, ...(use.session && { resource: [use.resource ?? []].flat() }) }),
    }),
    found: [TITLES.recorded],
  },
  // One UPDATE after the spend: a process that dies in between leaves a session that no one ends.
  'a mark that is written after the spend': {
    change: (store, { marks }) => ({
      async consume(token, now, use) {
        const won = await store.consume(token, now, use)
        const mark = marks.get(token.id)
        marks.delete(token.id)
        await turn()
        if (won && mark !== undefined) marks.set(token.id, mark)
        return won
      },
    }),
    found: [TITLES.marked],
  },
  'a mark that is written by losers, too': {
    change: (store, { marks }) => ({
      async consume(token, now, use) {
        if (use.session) marks.set(token.id, use.accessToken.expiresAt)
        return store.consume(token, now, use)
      },
      ...withSessions(store, (sessions) => ({
        async findDue(issuer, now, limit) {
          const found = await sessions.findDue(issuer, now, limit)
          const { tokens } = await store.list(issuer, { state: 'revoked' }, { limit: 1000, now })
          const unspent = tokens.filter(({ id, use }) => !use && marks.has(id))
          const shown = found.map(({ id }) => id)
          const more = unspent.filter(({ id }) => !shown.includes(id))
          return [
            ...found,
            ...more.map(({ id, userId, expiresAt }) => ({
              ...{ id, userId, clientId: '', mark: expiresAt, endsAt: expiresAt, usedAt: now },
              logout: 'pending' as const,
            })),
          ]
        },
      })),
    }),
    found: [TITLES.opened],
  },
  'marks of which the newest come first': {
    change: (store) =>
      withSessions(store, (sessions) => ({
        findDue: async (issuer, now, limit) =>
          (await sessions.findDue(issuer, now, 1000)).toReversed().slice(0, limit),
      })),
    found: [TITLES.due, TITLES.stopped],
  },
  'sessions of every issuer': {
    change: (store, { tokens, marks }) =>
      withSessions(store, (sessions) => ({
        async findDue(issuer, now, limit) {
          const others = new Set([...marks.keys()].map((id) => tokens.get(id)?.issuer ?? issuer))
          const found = await Promise.all([...others].map((other) => sessions.findDue(other, now, limit)))
          return found.flat()
        },
      })),
    found: [TITLES.due],
  },
  'stops that are not looked at before the end': {
    change: (store, memory) => stoppedBy(store, memory, () => false),
    found: [TITLES.stopped, TITLES.killed, TITLES.opened],
  },
  'stops that are shown until someone tries': {
    change: (store) =>
      withSessions(store, (sessions) => ({
        async findDue(issuer, now, limit) {
          const found = await sessions.findDue(issuer, now, limit)
          return found.map(({ revokedAt, ...due }) =>
            due.mark === due.endsAt && revokedAt !== undefined ? { ...due, revokedAt } : due,
          )
        },
      })),
    found: [TITLES.stopped],
  },
  'stops of a replay that are not seen': {
    change: (store, memory) => stoppedBy(store, memory, ({ revocation }) => revocation?.cause !== 'replay'),
    found: [TITLES.stopped],
  },
  'stops of a kill switch that are not seen': {
    change: (store, memory) => {
      const killed = new Set<string>()
      return {
        async *revokeWhere(issuer, filter, now, revocation) {
          for await (const batch of store.revokeWhere(issuer, filter, now, revocation)) {
            for (const { token } of batch) killed.add(token.id)
            yield batch
          }
        },
        ...stoppedBy(store, memory, ({ id }) => !killed.has(id)),
      }
    },
    found: [TITLES.killed, TITLES.opened],
  },
  // Told every five seconds, for an hour.
  'what was stopped is due again at every look': {
    change: (store, { tokens, marks }) =>
      withSessions(store, (sessions) => ({
        async findDue(issuer, now, limit) {
          const found = await sessions.findDue(issuer, now, limit)
          const all = await sessions.findDue(issuer, Number.MAX_SAFE_INTEGER, 1000)
          const more = all.filter(
            ({ id, revokedAt }) =>
              revokedAt !== undefined &&
              marks.has(id) &&
              tokens.has(id) &&
              !found.some((one) => one.id === id),
          )
          return [...found, ...more]
        },
      })),
    found: [TITLES.stopped],
  },
  'a stop that moves the end of the session': {
    change: (store, memory) => ({
      async revoke(issuer, id, now, revocation) {
        const revoked = await store.revoke(issuer, id, now, revocation)
        const use = memory.tokens.get(id)?.use
        if (use?.session) write(memory, id, { accessToken: { ...use.accessToken, expiresAt: now } })
        return revoked
      },
    }),
    found: [TITLES.stopped, TITLES.ends],
  },
  'a stop that takes the mark away': {
    change: (store, { marks }) => ({
      async revoke(issuer, id, now, revocation) {
        const revoked = await store.revoke(issuer, id, now, revocation)
        marks.delete(id)
        return revoked
      },
    }),
    found: [TITLES.stopped, TITLES.opened],
  },
  'a claim that reads, then writes': {
    change: (store, memory) =>
      withSessions(store, () => ({
        async claim(issuer, id, mark, next) {
          const found = markOf(memory, issuer, id)
          await turn()
          if (found !== mark) return false
          memory.marks.set(id, next)
          return true
        },
      })),
    found: [TITLES.claims, TITLES.claimsMeet, TITLES.claimAndSettlement],
  },
  // SET mark = GREATEST(mark, next)
  'a claim of any earlier mark': {
    change: (store, memory) =>
      withSessions(store, () => ({
        async claim(issuer, id, _mark, next) {
          const found = markOf(memory, issuer, id)
          if (found === undefined || found >= next) return false
          memory.marks.set(id, next)
          return true
        },
      })),
    found: [TITLES.claimed, TITLES.claims],
  },
  'a claim that knows no issuer': {
    change: (store, { tokens }) =>
      withSessions(store, (sessions) => ({
        claim: (issuer, id, mark, next) => sessions.claim(tokens.get(id)?.issuer ?? issuer, id, mark, next),
      })),
    found: [TITLES.claimed],
  },
  'a settlement that knows no issuer': {
    change: (store, { tokens }) =>
      withSessions(store, (sessions) => ({
        settle: (issuer, id, outcome) => sessions.settle(tokens.get(id)?.issuer ?? issuer, id, outcome),
      })),
    found: [TITLES.settled],
  },
  'a second answer that replaces the first': {
    change: (store, memory) =>
      withSessions(store, (sessions) => ({
        async settle(issuer, id, outcome) {
          await sessions.settle(issuer, id, outcome)
          const { logout, at } = outcome
          if (logout) write(memory, id, { session: { logout, logoutAt: at } })
        },
      })),
    found: [TITLES.answered],
  },
  'the time of the last attempt in place of that of the first answer': {
    change: (store, memory) =>
      withSessions(store, (sessions) => ({
        async settle(issuer, id, outcome) {
          await sessions.settle(issuer, id, outcome)
          const session = memory.tokens.get(id)?.use?.session
          if (session?.logoutAt !== undefined)
            write(memory, id, { session: { ...session, logoutAt: outcome.at } })
        },
      })),
    found: [TITLES.answered],
  },
  'a settlement that opens again what was settled': {
    change: (store, { marks }) =>
      withSessions(store, (sessions) => ({
        async settle(issuer, id, outcome) {
          await sessions.settle(issuer, id, outcome)
          if (outcome.mark !== null) marks.set(id, outcome.mark)
        },
      })),
    found: [TITLES.settled],
  },
  'a settlement that leaves the mark until its time is over': {
    change: (store, { marks }) =>
      withSessions(store, (sessions) => ({
        async settle(issuer, id, outcome) {
          const mark = marks.get(id)
          await sessions.settle(issuer, id, outcome)
          if (mark !== undefined) marks.set(id, Math.max(mark, outcome.mark ?? 0))
        },
      })),
    found: [TITLES.settled, TITLES.claimAndSettlement, TITLES.settlementAndStop],
  },
  // `document.save()` of a mapper.
  'a settlement that writes the whole record back': {
    change: (store, { tokens, marks }) =>
      withSessions(store, (sessions) => ({
        async settle(issuer, id, outcome) {
          const before = tokens.get(id)
          const isOpen = before?.issuer === issuer && marks.has(id)
          await turn()
          await sessions.settle(issuer, id, outcome)
          const after = tokens.get(id)
          if (isOpen && after?.use) tokens.set(id, { ...before, use: after.use })
        },
      })),
    found: [TITLES.settlementAndStop],
  },
  'a claim that writes the mark of a settled session back': {
    change: (store, memory) =>
      withSessions(store, (sessions) => ({
        async claim(issuer, id, mark, next) {
          const granted = await sessions.claim(issuer, id, mark, next)
          await turn()
          if (granted) memory.marks.set(id, next)
          return granted
        },
      })),
    found: [TITLES.claimAndSettlement],
  },
  'a list of what lives that looks for access tokens': {
    change: (store, { tokens }) => ({
      async list(issuer, filter, page) {
        const found = await store.list(issuer, filter, page)
        const isToken = ({ id }: SubjectToken) => tokens.get(id)?.use?.accessToken.format !== 'session'
        return filter.live ? { ...found, tokens: found.tokens.filter(isToken) } : found
      },
    }),
    found: [TITLES.ends],
  },
}
