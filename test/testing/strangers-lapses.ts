/** Further lapses of the authors of other stores, listed by the words of the contract alone, before its tests were read. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Seconds } from '../../src/clock.ts'
import type {
  KillFilter,
  Revoked,
  SubjectTokenFilter,
  SubjectTokenPage,
  SubjectTokenStore,
} from '../../src/subject-tokens/store.ts'
import {
  type ActClaim,
  isAlarming,
  isStoppable,
  type Revocation,
  type SubjectToken,
} from '../../src/subject-tokens/subject-token.ts'
import { type Lapse, MEETS } from './lapses.ts'

export const STRANGERS_LAPSES: Readonly<Record<string, Lapse>> = {
  // Redis: two sets for each user, and a spend that moves an id from one to the other.
  'a kill switch looks among the live, then among the unspent': {
    change: (store) => ({
      async *revokeWhere(issuer, filter, now, revocation) {
        const names = namesOf(filter)
        const live = await allOf(store, issuer, { ...names, live: true }, now)
        await nextTurn()
        const unspent = await allOf(store, issuer, { ...names, state: 'active' }, now)
        const before = await allOf(store, issuer, { ...names, state: 'revoked' }, now)
        const due = [...live, ...unspent, ...before.filter((token) => lives(token, now))]
        yield* stopEach(store, due, now, revocation)
      },
    }),
    found: [MEETS.userKill],
  },
  // `forEach` with an `async` function, or a write concern of 0.
  'a kill switch does not wait for its writes': {
    change: (store, memory) => ({
      async *revokeWhere(issuer, filter, now, revocation) {
        const due = (await dueOf(store, issuer, filter, now)).filter(
          (token) => isStoppable(token, now) || memory.unreported.has(token.id),
        )
        due.forEach(async ({ id }) => {
          await nextTurn()
          await store.revoke(issuer, id, now, revocation)
        })
        if (due.length > 0) yield due.map((token) => ({ token: { revocation, ...token }, unreported: true }))
      },
    }),
    found: [MEETS.userKill],
  },
  // DynamoDB: the links are an item of their own, under the id of the token.
  'a spend that loses replaces the links of the one that won': {
    change: (store) => {
      const links = new Map<string, readonly string[]>()
      const isOf = ({ id, actorId, use }: SubjectToken, names: readonly string[]) =>
        [actorId, ...(use ? (links.get(id) ?? []) : [])].some((name) => name && names.includes(name))
      return {
        async *revokeWhere(issuer, filter, now, revocation) {
          if (!('actorId' in filter)) yield* store.revokeWhere(issuer, filter, now, revocation)
          else {
            const all = await allOf(store, issuer, {}, now)
            const due = all.filter(
              (token) => isOf(token, [filter.actorId]) && (isStoppable(token, now) || lives(token, now)),
            )
            yield* stopEach(store, due, now, revocation)
          }
        },
        async consume(token, now, use) {
          links.set(token.id, linksOf(use.actor))
          await nextTurn()
          return store.consume(token, now, use)
        },
        async list(issuer, { actorId, ...filter }, page) {
          if (!actorId) return store.list(issuer, filter, page)
          const others = await store.list(issuer, filter, { ...page, limit: EVERY })
          return pageOf(
            others.tokens.filter((token) => isOf(token, actorId)),
            page.limit,
          )
        },
      }
    },
    found: [
      'has one winner among racers with chains of several actors, and is found by the links of the winner only',
    ],
  },
  'a report reads what is unreported, then takes it away': {
    change: (_, memory) => ({
      async report(issuer, ids) {
        const unreported = ids.filter(
          (id) => memory.tokens.get(id)?.issuer === issuer && memory.unreported.has(id),
        )
        await nextTurn()
        for (const id of unreported) memory.unreported.delete(id)
        return unreported
      },
    }),
    found: [MEETS.reports],
  },
  // `document.save()` of a mapper: what came since the read is gone.
  'an acknowledgement writes the whole record back': {
    change: (store, memory) => ({
      async acknowledge({ issuer, id }, acknowledgement) {
        const token = await store.find(issuer, id)
        if (!token) return
        const { acknowledged = [] } = token
        if (acknowledged.some(({ coversReplay }) => coversReplay || !acknowledgement.coversReplay)) return
        await nextTurn()
        memory.tokens.set(id, { ...token, acknowledged: [...acknowledged, acknowledgement] })
      },
    }),
    found: [MEETS.acknowledged, MEETS.acknowledgedAndStop, MEETS.acknowledgements],
  },
  // { $set: { acknowledged: [...] } } of what was read: what another said meanwhile is gone.
  'an acknowledgement reads who else has looked into it, then writes the list back': {
    change: (store, memory) => ({
      async acknowledge({ issuer, id }, acknowledgement) {
        const token = await store.find(issuer, id)
        if (!token) return
        const { acknowledged = [] } = token
        if (acknowledged.some(({ coversReplay }) => coversReplay || !acknowledgement.coversReplay)) return
        await nextTurn()
        const stored = memory.tokens.get(id)
        if (stored) memory.tokens.set(id, { ...stored, acknowledged: [...acknowledged, acknowledgement] })
      },
    }),
    found: [MEETS.acknowledgements],
  },
  'a stop reads that there is something to stop, then replaces the stop of another': {
    change: (store, memory) => ({
      async revoke(issuer, id, now, revocation) {
        const token = await store.find(issuer, id)
        if (!token) return undefined
        if (isStoppable(token, now)) {
          await nextTurn()
          const stored = memory.tokens.get(id) ?? token
          memory.tokens.set(id, { ...stored, revokedAt: now, revocation: structuredClone(revocation) })
          memory.unreported.add(id)
        }
        // Stopped by now, or nothing is left to stop: it writes nothing.
        return store.revoke(issuer, id, now, revocation)
      },
    }),
    found: [MEETS.stops, MEETS.replayAndStop],
  },
  // `skip` and `limit` over a query that no longer matches what the batch before stopped.
  'a kill switch skips as many as it has stopped': {
    change: (store, memory) => ({
      async *revokeWhere(issuer, filter, now, revocation) {
        const left = (await dueOf(store, issuer, filter, now)).filter(({ id }) => memory.unreported.has(id))
        if (left.length > 0) yield* stopEach(store, left, now, revocation)
        for (let skipped = 0; ; skipped += BATCH) {
          const due = (await dueOf(store, issuer, filter, now)).filter((token) => isStoppable(token, now))
          const batch = due.slice(skipped, skipped + BATCH)
          if (batch.length === 0) return
          yield* stopEach(store, batch, now, revocation)
        }
      },
    }),
    found: ['a kill switch of many leaves out none, each batch told before the next is requested'],
  },
  // One statement: SET replay = …, reported = 1.
  'a replay counts as the report of a stop that came before it': {
    change: (store, memory) => ({
      async recordReplay(token, replay) {
        const stopped = await store.recordReplay(token, replay)
        memory.unreported.delete(token.id)
        return stopped
      },
    }),
    found: [MEETS.replayAndStop],
  },
  // Redis: the sorted set of what was stopped is written by the stops alone.
  'what a replay stopped is not among the stopped': {
    change: (store, memory) => ({
      async findStopped(issuer, since) {
        const replayed = [...memory.tokens.values()].filter(
          ({ revocation }) => revocation?.cause === 'replay',
        )
        const indexes = new Set(replayed.map(({ statusIndex }) => statusIndex))
        const stopped = await store.findStopped(issuer, since)
        return stopped.filter(({ statusIndex }) => !indexes.has(statusIndex))
      },
    }),
    found: ['finds what was spent and then stopped, since a time'],
  },
  // DynamoDB: `Limit` counts what is read, before the filter. Only of filters that may read a bounded number of rows.
  'a page that is not full is the last one': {
    change: (store) => ({
      async list(issuer, filter, page) {
        const { createdAfter: _after, createdBefore: _before, ...members } = filter
        if (Object.keys(members).length < 2) return store.list(issuer, filter, page)
        const read = await store.list(issuer, {}, page)
        const matching = new Set((await allOf(store, issuer, filter, page.now)).map(({ id }) => id))
        const tokens = read.tokens.filter(({ id }) => matching.has(id))
        return { tokens, ...(tokens.length === page.limit && read.next && { next: read.next }) }
      },
    }),
    found: ['finds what is live, replayed, without an actor, or of a time, and what is not'],
  },
  // An index by the expiry of the subject token, as for the unspent.
  'a kill switch leaves out what was spent by a subject token that has expired since': {
    change: (store) => ({
      async *revokeWhere(issuer, filter, now, revocation) {
        const due = await dueOf(store, issuer, filter, now)
        yield* stopEach(
          store,
          due.filter(({ expiresAt }) => expiresAt > now),
          now,
          revocation,
        )
      },
    }),
    found: ['stops an access token that outlives its subject token'],
  },
  // MongoDB: { acknowledged: { $exists: false } }
  'a record that was acknowledged once is never unacknowledged again': {
    change: (store) => ({
      async list(issuer, { unacknowledged, ...filter }, page) {
        if (!unacknowledged) return store.list(issuer, filter, page)
        const others = await store.list(issuer, filter, { ...page, limit: EVERY })
        return pageOf(
          others.tokens.filter((token) => isAlarming(token) && !token.acknowledged),
          page.limit,
        )
      },
    }),
    found: ['finds what has something to look into that no one has, and shows who did'],
  },
  // A loader that sends equal keys of one turn once.
  'spends of one token at the same time share one write and its outcome': {
    change: (store) => {
      const running = new Map<string, Promise<boolean>>()
      return {
        consume(token, now, use) {
          const spend =
            running.get(token.id) ??
            nextTurn()
              .then(() => store.consume(token, now, use))
              .finally(() => running.delete(token.id))
          running.set(token.id, spend)
          return spend
        },
      }
    },
    found: [MEETS.spends],
  },
}

const BATCH = 100
const EVERY = Number.POSITIVE_INFINITY

const lives = ({ use }: SubjectToken, now: Seconds): boolean =>
  use !== undefined && use.accessToken.expiresAt > now

const linksOf = (actor: ActClaim | undefined): readonly string[] =>
  actor ? [actor.sub, ...linksOf(actor.act)] : []

function namesOf(filter: KillFilter): SubjectTokenFilter {
  if ('userId' in filter) return { userId: [filter.userId] }
  return 'actorId' in filter ? { actorId: [filter.actorId] } : filter
}

async function allOf(
  store: SubjectTokenStore,
  issuer: string,
  filter: SubjectTokenFilter,
  now: Seconds,
): Promise<readonly SubjectToken[]> {
  const { tokens } = await store.list(issuer, filter, { limit: EVERY, now })
  return tokens
}

/** What a kill switch looks at: what can be stopped, and what was stopped and has an access token that lives. */
async function dueOf(store: SubjectTokenStore, issuer: string, filter: KillFilter, now: Seconds) {
  const all = await allOf(store, issuer, namesOf(filter), now)
  return all.filter((token) => isStoppable(token, now) || lives(token, now))
}

/** Each by a stop of its own, which decides. */
async function* stopEach(
  store: SubjectTokenStore,
  tokens: readonly SubjectToken[],
  now: Seconds,
  revocation: Revocation,
): AsyncGenerator<readonly Revoked[]> {
  const stops = await Promise.all(tokens.map(({ issuer, id }) => store.revoke(issuer, id, now, revocation)))
  const unreported = stops.filter((stop) => stop !== undefined).filter((stop) => stop.unreported)
  if (unreported.length > 0) yield unreported
}

function pageOf(tokens: readonly SubjectToken[], limit: number): SubjectTokenPage {
  const page = tokens.slice(0, limit)
  const next = tokens.length > limit ? page.at(-1)?.id : undefined
  return { tokens: page, ...(next !== undefined && { next }) }
}
