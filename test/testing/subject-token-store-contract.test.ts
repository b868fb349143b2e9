/** The contract of a store: each planted fault is found. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import type { SessionStore, SubjectTokenFilter, SubjectTokenStore } from '../../src/index.ts'
import { earliestId } from '../../src/subject-tokens/id.ts'
import {
  LONGEST_LIFE,
  type NewSubjectToken,
  type SubjectToken,
} from '../../src/subject-tokens/subject-token.ts'
import { createMemoryStore, subjectTokenStoreContract, type TestRunner } from '../../src/testing/index.ts'
import { tokensIn } from '../../src/testing/store/tokens.ts'
import { describeFaults, failuresOf } from './collected.ts'
import { type Lapse, storeWith } from './lapses.ts'
import { SESSION_LAPSES } from './session-lapses.ts'

type Fault = Lapse['change']

const lower = (filter: SubjectTokenFilter): SubjectTokenFilter =>
  filter.userId ? { ...filter, userId: [filter.userId[0].toLowerCase().trim()] } : filter

/** Calls the method for the issuer of the first token, whichever is named. */
function ofAny(store: SubjectTokenStore, method: keyof SubjectTokenStore): Partial<SubjectTokenStore> {
  let first: string | undefined
  return {
    async insert(token) {
      first ??= token.issuer
      await store.insert(token)
    },
    [method]: (issuer: string, ...rest: unknown[]) =>
      Reflect.apply(Object(store[method]), store, [first ?? issuer, ...rest]),
  }
}

/** Shows as revoked, after a kill switch, what was over before: unspent tokens, or spent ones. */
function marksOver(store: SubjectTokenStore, spent: boolean): Partial<SubjectTokenStore> {
  let killedAt = 0
  return {
    async *revokeWhere(issuer, filter, now, revocation) {
      killedAt = now
      yield* store.revokeWhere(issuer, filter, now, revocation)
    },
    async find(issuer, id) {
      const token = await store.find(issuer, id)
      const isOver = token && (token.use?.accessToken ?? token).expiresAt <= killedAt
      return isOver && (token.use !== undefined) === spent ? { ...token, revokedAt: killedAt } : token
    },
  }
}

/** Shows tokens that a replay was reported of with these changes. */
function afterReplay(
  store: SubjectTokenStore,
  changes: (token: SubjectToken, at: number) => Partial<SubjectToken>,
): Partial<SubjectTokenStore> {
  const replayed = new Map<string, number>()
  return {
    async recordReplay(token, replay) {
      replayed.set(token.id, replay.at)
      return store.recordReplay(token, replay)
    },
    async find(issuer, id) {
      const token = await store.find(issuer, id)
      const at = replayed.get(id)
      return token && at !== undefined ? { ...token, ...changes(token, at) } : token
    },
  }
}

/** Shows tokens with other status indexes. */
function indexed(store: SubjectTokenStore, of: (index: number) => unknown): Partial<SubjectTokenStore> {
  const change = async (found: ReturnType<SubjectTokenStore['find']>) => {
    const token = await found
    return token && { ...token, statusIndex: of(token.statusIndex) as number }
  }
  return { find: (...given) => change(store.find(...given)) }
}

/** Tells `work` what else is under way. */
function inFlight() {
  const underWay: string[] = []
  return async <Result>(
    key: string,
    work: (others: readonly string[]) => Promise<Result>,
  ): Promise<Result> => {
    underWay.push(key)
    await turn()
    const others = underWay.toSpliced(underWay.indexOf(key), 1)
    try {
      return await work(others)
    } finally {
      void turn().then(() => underWay.splice(underWay.indexOf(key), 1))
    }
  }
}

/** What a hurried author gets wrong. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'a spend that reads, then writes': (store) => {
    const spent = new Set<string>()
    return {
      async consume(token, now, use) {
        const found = await store.find(token.issuer, token.id)
        const unspent = found !== undefined && !spent.has(token.id) && found.revokedAt === undefined
        await turn()
        if (!unspent || found.expiresAt <= now) return false
        spent.add(token.id)
        await store.consume(token, now, use)
        return true
      },
    }
  },
  'a spend that more than one wins of fifty at once': (store) => {
    const beside = inFlight()
    return {
      consume: (token, now, use) =>
        beside(
          token.id,
          async (others) =>
            (await store.consume(token, now, use)) ||
            others.filter((other) => other === token.id).length > 40,
        ),
    }
  },
  'a spend that fails beside that of another token': (store) => {
    const beside = inFlight()
    return {
      consume: (token, now, use) =>
        beside(token.id, async (others) =>
          others.some((other) => other !== token.id) ? false : store.consume(token, now, use),
        ),
    }
  },
  'a revocation that is lost beside a spend': (store) => {
    const beside = inFlight()
    return {
      consume: (...given) => beside('spend', () => store.consume(...given)),
      revoke: (issuer, id, now, revocation) =>
        beside('revoke', async (others) => {
          if (!others.includes('spend')) return store.revoke(issuer, id, now, revocation)
          const token = await store.find(issuer, id)
          return token && { token, unreported: true }
        }),
    }
  },
  'a spend that no one wins': () => ({ consume: async () => false }),
  'a spend of what has expired': (store) => ({
    consume: (token, now, use) => store.consume(token, now - 60, use),
  }),
  'a spend that allows a tolerance of a second': (store) => ({
    consume: (token, now, use) => store.consume(token, now - 1, use),
  }),
  'a spend of what was revoked': (store) => ({
    revoke: async (issuer, id) => {
      const token = await store.find(issuer, id)
      return token && { token, unreported: true }
    },
  }),
  'a use without its actor': (store) => ({
    consume: (token, now, { actor: _, ...use }) => store.consume(token, now, use),
  }),
  'a use with its newest actor only': (store) => ({
    consume: (token, now, use) =>
      store.consume(token, now, use.actor ? { ...use, actor: { sub: use.actor.sub } } : use),
  }),
  'actors of the loser of a race': (store) => {
    const tried = new Map<string, string>()
    return {
      async consume(token, now, use) {
        for (let link = use.actor?.act; link; link = link.act) tried.set(link.sub, token.id)
        return store.consume(token, now, use)
      },
      async list(issuer, filter, page) {
        const found = await store.list(issuer, filter, page)
        const id = filter.actorId && tried.get(filter.actorId[0])
        const token = id === undefined ? undefined : await store.find(issuer, id)
        return token && !found.tokens.some((one) => one.id === id) ? { tokens: [token] } : found
      },
    }
  },
  'issuers that are not compared': (store) => {
    const issuers = new Map<string, string>()
    return {
      async insert(token) {
        await store.insert(token)
        issuers.set(token.id, token.issuer)
      },
      find: (issuer, id) => store.find(issuers.get(id) ?? issuer, id),
    }
  },
  'a revocation in any issuer': (store) => ofAny(store, 'revoke'),
  'a kill switch in any issuer': (store) => ofAny(store, 'revokeWhere'),
  'a summary of every issuer': (store) => ofAny(store, 'summarize'),
  'a count of every issuer': (store) => ofAny(store, 'countLive'),
  'a kill switch that loses who pulled it': (store) => ({
    revokeWhere: (issuer, filter, now, { cause }) => store.revokeWhere(issuer, filter, now, { cause }),
  }),
  'context in another normal form': (store) => ({
    insert: (token) =>
      store.insert({ ...token, context: JSON.parse(JSON.stringify(token.context).normalize()) }),
  }),
  'a second token with the same id': (store) => ({
    insert: (token) => store.insert(token).catch(() => {}),
  }),
  'an error that quotes a hash': (store) => ({
    insert: (token) =>
      store.insert(token).catch(() => {
        throw new Error(`duplicate key value: ${token.tokenHash}`)
      }),
  }),
  'names without regard to case': (store) => ({
    insert: (token) => store.insert({ ...token, userId: token.userId.toLowerCase().trim() }),
    list: (issuer, filter, page) => store.list(issuer, lower(filter), page),
  }),
  'names cut off': (store) => ({
    insert: (token) => store.insert({ ...token, userId: token.userId.slice(0, 255) }),
  }),
  'a context in another order': (store) => ({
    insert: (token) =>
      store.insert({ ...token, context: Object.fromEntries(Object.entries(token.context).reverse()) }),
  }),
  'status indexes with a fraction': (store) => indexed(store, (index) => index + 0.5),
  'status indexes below zero': (store) => indexed(store, (index) => -1 - index),
  'no status indexes': (store) => indexed(store, () => undefined),
  'no names but in ASCII': (store) => ({
    list: async (issuer, filter, page) =>
      /[^ -~]/.test(String(filter.userId)) ? { tokens: [] } : store.list(issuer, filter, page),
  }),
  'the objects of the caller kept': (store) => {
    const contexts = new Map<string, object>()
    return {
      async insert(token) {
        contexts.set(token.id, token.context)
        await store.insert(token)
      },
      async find(issuer, id) {
        const token = await store.find(issuer, id)
        return token && { ...token, context: structuredClone(contexts.get(id)) as never }
      },
    }
  },
  'its own objects handed out': (store) => {
    const kept = new Map<string, Awaited<ReturnType<SubjectTokenStore['find']>>>()
    return {
      async find(issuer, id) {
        if (!kept.has(id)) kept.set(id, await store.find(issuer, id))
        return kept.get(id)?.issuer === issuer ? kept.get(id) : undefined
      },
    }
  },
  'the oldest first': (store) => ({
    async list(issuer, filter, page) {
      const { tokens, next } = await store.list(issuer, filter, page)
      return { tokens: tokens.toReversed(), ...(next !== undefined && { next }) }
    },
  }),
  'a cursor that must exist': (store) => ({
    list: async (issuer, filter, { cursor, ...page }) =>
      cursor !== undefined && !(await store.find(issuer, cursor))
        ? { tokens: [] }
        : store.list(issuer, filter, { ...page, ...(cursor !== undefined && { cursor }) }),
  }),
  'pages that do not end': (store) => ({
    async list(issuer, filter, page) {
      const found = await store.list(issuer, filter, page)
      return { ...found, next: found.tokens.at(-1)?.id ?? '0' }
    },
  }),
  'the state of the last second': (store) => ({
    list: (issuer, filter, page) => store.list(issuer, filter, { ...page, now: page.now - 1 }),
  }),
  'an actor who is found as the constraint and as a link': (store) => ({
    async list(issuer, filter, page) {
      const { tokens, next } = await store.list(issuer, filter, page)
      const twice = tokens.flatMap((token) => (token.use && token.actorId ? [token, token] : [token]))
      return { tokens: filter.actorId ? twice : tokens, ...(next !== undefined && { next }) }
    },
  }),
  'a kill switch that knows the tokens of one life': (store) => ({
    async *revokeWhere(issuer, filter, now, revocation) {
      for await (const batch of store.revokeWhere(issuer, filter, now, revocation))
        yield batch.filter(({ token }) => token.id >= earliestId(now - LONGEST_LIFE))
    },
  }),
  'a kill switch of a backend that knows the tokens of one life': (store) => ({
    async *revokeWhere(issuer, filter, now, revocation) {
      for await (const batch of store.revokeWhere(issuer, filter, now, revocation))
        yield batch.filter(({ token }) => 'userId' in filter || token.id >= earliestId(now - LONGEST_LIFE))
    },
  }),
  'a replay that reads, then writes': (store) => ({
    async recordReplay(token, replay) {
      const found = await store.find(token.issuer, token.id)
      await turn()
      await store.recordReplay(token, replay)
      const stops = found?.replay === undefined && found?.revokedAt === undefined
      return stops && (found?.use?.accessToken.expiresAt ?? 0) > replay.at
    },
  }),
  'a revocation that replaces the first reason': (store) => {
    const reasons = new Map<string, object>()
    return {
      async revoke(issuer, id, now, revocation) {
        reasons.set(id, revocation)
        return store.revoke(issuer, id, now, revocation)
      },
      async find(issuer, id) {
        const token = await store.find(issuer, id)
        return token && { ...token, ...(reasons.has(id) && { revocation: reasons.get(id) as never }) }
      },
    }
  },
  'a revocation that tells everything as unreported': (store) => ({
    async revoke(...given) {
      const revoked = await store.revoke(...given)
      return revoked && { ...revoked, unreported: true }
    },
  }),
  'a revocation of what is over': (store) => ({
    revoke: (issuer, id, now, revocation) => store.revoke(issuer, id, now - 1000, revocation),
  }),
  'a kill switch that ends unspent tokens only': (store) => ({
    async *revokeWhere(issuer, filter, now, revocation) {
      for await (const batch of store.revokeWhere(issuer, filter, now, revocation))
        yield batch.filter(({ token }) => !token.use)
    },
  }),
  'a kill switch that forgets what was half done': (store) => ({
    async *revokeWhere(issuer, filter, now, revocation) {
      for await (const batch of store.revokeWhere(issuer, filter, now, revocation))
        yield batch.filter(({ token }) => token.revocation?.by === revocation.by)
    },
  }),
  'a kill switch without a reason': (store) => ({
    revokeWhere: (issuer, filter, now) => store.revokeWhere(issuer, filter, now, { cause: 'command' }),
  }),
  'a replay that stops nothing': () => ({ recordReplay: async () => false }),
  'a replay that replaces the reason of a stop': (store) =>
    afterReplay(store, (token) => (token.revokedAt ? { revocation: { cause: 'replay' } } : {})),
  'a replay that stops what is over': (store) =>
    afterReplay(store, ({ use }, at) => (use && use.accessToken.expiresAt <= at ? { revokedAt: at } : {})),
  'a replay that stops every time': (store) => ({
    async recordReplay(token, replay) {
      await store.recordReplay(token, replay)
      return true
    },
  }),
  'one status index for all': (store) => ({
    find: async (issuer, id) => {
      const token = await store.find(issuer, id)
      return token && { ...token, statusIndex: 0 }
    },
  }),
  'a status index of another issuer': (store) => {
    const issuers: string[] = []
    return {
      async insert(token) {
        await store.insert(token)
        issuers.push(token.issuer)
      },
      findByStatusIndex: (_issuer, index) => store.findByStatusIndex(issuers[index] ?? '', index),
    }
  },
  'stops since the beginning of time': (store) => ({ findStopped: (issuer) => store.findStopped(issuer, 0) }),
  'unspent tokens among the stopped': (store) => {
    const unspent: { statusIndex: number; expiresAt: number }[] = []
    return {
      async revoke(issuer, id, now, revocation) {
        const revoked = await store.revoke(issuer, id, now, revocation)
        const token = await store.find(issuer, id)
        if (token && !token.use) unspent.push({ statusIndex: token.statusIndex, expiresAt: token.expiresAt })
        return revoked
      },
      findStopped: async (issuer, since) => [...(await store.findStopped(issuer, since)), ...unspent],
    }
  },
  'a live list that knows no expiry': (store) => ({
    list: (issuer, filter, page) => store.list(issuer, filter, filter.live ? { ...page, now: 0 } : page),
  }),
  'a time that includes its end': (store) => ({
    list: (issuer, filter, page) =>
      store.list(
        issuer,
        filter.createdBefore === undefined ? filter : { ...filter, createdBefore: filter.createdBefore + 1 },
        page,
      ),
  }),
  'a summary of all time': (store) => ({ summarize: (issuer) => store.summarize(issuer, 0, 4_000_000_000) }),
  'a count that knows no expiry': (store) => ({ countLive: (issuer) => store.countLive(issuer, 0) }),
  'tokens with every member there may be': (store) => ({
    insert: (token) => store.insert({ scope: 'none', ...token }),
  }),
  'a token for every id': (store) => ({
    find: async (...given) => (await store.find(...given)) ?? ({} as never),
  }),
  'a token for every status index': (store) => ({
    findByStatusIndex: async (...given) => (await store.findByStatusIndex(...given)) ?? ({} as never),
  }),
  'a revocation of what does not exist': (store) => ({
    revoke: async (...given) => (await store.revoke(...given)) ?? { token: {} as never, unreported: false },
  }),
  'no token by its id': () => ({ find: async () => undefined }),
  'no token by its status index': () => ({ findByStatusIndex: async () => undefined }),
  'revocations that return nothing': (store) => ({
    async revoke(...given) {
      await store.revoke(...given)
      return undefined
    },
  }),
  'no use of what was spent': (store) => ({
    async find(...given) {
      const { use: _, ...token } = (await store.find(...given)) ?? {}
      return 'id' in token ? (token as never) : undefined
    },
  }),
  'a second revocation that returns nothing': (store) => {
    const revoked = new Set<string>()
    return {
      async revoke(issuer, id, now, revocation) {
        if (revoked.has(id)) return undefined
        revoked.add(id)
        return store.revoke(issuer, id, now, revocation)
      },
    }
  },
  'what was half done without its use': (store) => ({
    async *revokeWhere(...given) {
      for await (const batch of store.revokeWhere(...given))
        yield batch.map(({ token: { use: _, ...token }, unreported }) => ({ token, unreported }))
    },
  }),
  'the client of the last caller': (store) => {
    const clients = new Map<string, string>()
    return {
      async consume(token, now, use) {
        clients.set(token.id, use.clientId)
        return store.consume(token, now, use)
      },
      async find(issuer, id) {
        const token = await store.find(issuer, id)
        return token?.use
          ? { ...token, use: { ...token.use, clientId: clients.get(id) ?? token.use.clientId } }
          : token
      },
    }
  },
  'a page that goes on from its first token': (store) => ({
    async list(issuer, filter, page) {
      const { tokens, next } = await store.list(issuer, filter, page)
      return { tokens, ...(next !== undefined && { next: tokens[0]?.id ?? next }) }
    },
  }),
  'a span that includes its end': (store) => ({
    list: (issuer, { createdAfter, createdBefore, ...filter }, page) =>
      store.list(
        issuer,
        {
          ...filter,
          ...(createdAfter !== undefined && { createdAfter }),
          ...(createdBefore !== undefined && {
            createdBefore: createdBefore + (createdAfter === undefined ? 0 : 1),
          }),
        },
        page,
      ),
  }),
  'a summary that begins a second early': (store) => ({
    summarize: (issuer, from, until) => store.summarize(issuer, from - 1, until),
  }),
  'a summary that includes its end': (store) => ({
    summarize: (issuer, from, until) => store.summarize(issuer, from, until + 1),
  }),
  'expired over consumed': (store) => ({
    async list(issuer, filter, page) {
      const { tokens, ...rest } = await store.list(issuer, filter, page)
      const kept = tokens.filter(({ expiresAt }) => filter.state !== 'consumed' || expiresAt > page.now)
      return { tokens: kept, ...rest }
    },
  }),
  'no kill switch': () => ({ async *revokeWhere() {} }),
  'a kill switch for all': (store) => ({
    async *revokeWhere(issuer, _filter, now, revocation) {
      for (const userId of ['alice', 'target', 'other'])
        yield* store.revokeWhere(issuer, { userId }, now, revocation)
    },
  }),
  ...Object.fromEntries(
    ['other', 'target '].map((name): [string, Fault] => [
      `a kill switch that does not tell that it stopped "${name}"`,
      (store) => ({
        async *revokeWhere(issuer, filter, now, revocation) {
          yield* store.revokeWhere(issuer, filter, now, revocation)
          const [key = ''] = Object.keys(filter)
          for await (const _ of store.revokeWhere(issuer, { [key]: name } as never, now, revocation));
        },
      }),
    ]),
  ),
  'a kill switch that marks what was never spent in time': (store) => marksOver(store, false),
  'a kill switch that marks what was over': (store) => marksOver(store, true),
  'a store that is not ready': () => ({ ready: () => Promise.reject(new Error('no table')) }),
  'status indexes that go down': (store) => ({
    async find(issuer, id) {
      const token = await store.find(issuer, id)
      return token && { ...token, statusIndex: 1_000_000 - token.statusIndex }
    },
    findByStatusIndex: (issuer, index) => store.findByStatusIndex(issuer, 1_000_000 - index),
  }),
  'no list': () => ({ list: async () => ({ tokens: [] }) }),
  'every token on every list': (store) => ({ list: (issuer, _filter, page) => store.list(issuer, {}, page) }),
  'no status lists': () => ({ findStatusLists: async () => [] }),
  'every status list there has been': (store) => ({
    findStatusLists: (size) => store.findStatusLists(size, 0),
  }),
  'status lists in no order': (store) => ({
    findStatusLists: async (...given) => (await store.findStatusLists(...given)).toReversed(),
  }),
  'status lists twice': (store) => ({
    async findStatusLists(...given) {
      const lists = await store.findStatusLists(...given)
      return lists.flatMap((list) => [list, list])
    },
  }),
  'the first status list for the future': (store) => ({
    findStatusLists: async (size, since) =>
      since > Date.now() / 1000 ? [0] : store.findStatusLists(size, since),
  }),
  'two status lists for the future': (store) => ({
    findStatusLists: async (size, since) =>
      since > Date.now() / 1000 ? [1_000_000, 1_000_001] : store.findStatusLists(size, since),
  }),
  'status lists of the last minutes only': (store) => ({
    findStatusLists: (size, since) => store.findStatusLists(size, Math.max(since, Date.now() / 1000 - 500)),
  }),
  'stops after a time, not from it on': (store) => ({
    findStopped: (issuer, since) => store.findStopped(issuer, since + 1),
  }),
  'nothing that was stopped': () => ({ findStopped: async () => [] }),
  'stopped tokens with the life of the subject token': (store) => ({
    findStopped: async (issuer, since) =>
      (await store.findStopped(issuer, since)).map((one) => ({ ...one, expiresAt: one.expiresAt + 1 })),
  }),
  'a name of a column in an error': (store) => ({
    insert: (token) => store.insert(token).catch(() => Promise.reject('duplicate')),
  }),
  'no status list without recent tokens': (store) => ({
    findStatusLists: async (size, since) =>
      since > Date.now() / 1000 ? [] : store.findStatusLists(size, since),
  }),
  'status lists of the first issuer alone': (store) => {
    const tokens: NewSubjectToken[] = []
    return {
      async insert(token) {
        await store.insert(token)
        if (token.issuer === (tokens[0] ?? token).issuer) tokens.push(token)
      },
      async findStatusLists(size, since) {
        const own = await Promise.all(tokens.map(({ issuer, id }) => store.find(issuer, id)))
        const lists = own.map((token) => Math.floor(Number(token?.statusIndex) / size))
        return (await store.findStatusLists(size, since)).filter((list) => lists.includes(list))
      },
    }
  },
}

const CAUSES = ['api', 'self', 'continued', 'console', 'host', 'signedOut', 'command']

/** A store that refuses what the plugin does not send, and returns in no order what needs none. */
function strict(store: SubjectTokenStore): SubjectTokenStore {
  let latest = 0
  const check = (fits: boolean, what: string) => {
    if (!fits) throw new Error(`not sent: ${what}`)
  }
  const texts = (value: unknown, what: string): void => {
    if (typeof value === 'string') check(value !== '' && [...value].length <= 255, what)
    else for (const [name, member] of Object.entries(Object(value))) texts(member, `${what} ${name}`)
  }
  /** No call is from before the newest token. */
  const time = (now: number) => check(Number.isInteger(now) && now >= latest, `time ${now}`)
  return {
    ...store,
    async insert(token) {
      const { context: _, ...rest } = token
      texts(rest, 'token')
      check(/^[0-9a-f]{32}$/.test(token.id), 'id')
      check(token.createdAt <= Date.now() / 1000 && token.expiresAt >= token.createdAt, 'times of a token')
      latest = Math.max(latest, token.createdAt)
      await store.insert(token)
    },
    async consume(token, now, use) {
      time(now)
      texts(use, 'use')
      const { actor, accessToken } = use
      const { purpose, clientId, actorId } = token
      const formats = purpose === 'session' ? ['session'] : ['jwt', 'opaque']
      check(
        formats.includes(accessToken.format) && (purpose === 'session') === Boolean(use.session),
        'format',
      )
      const isBound = clientId === use.clientId && actorId === actor?.sub
      check(purpose === 'exchange' || isBound, 'client and actor of a session')
      check(accessToken.expiresAt >= use.at && use.at >= latest, 'times of a use')
      check(actor === undefined || typeof actor.sub === 'string', 'actor')
      return store.consume(token, now, use)
    },
    async list(issuer, filter, page) {
      time(page.now)
      texts({ filter, page }, 'list')
      check(page.cursor === undefined || /^[0-9a-f]{32}$/.test(page.cursor), 'cursor')
      // Where all are read, page by page.
      return store.list(issuer, filter, page.limit === 2 ? { ...page, limit: 1 } : page)
    },
    async revoke(issuer, id, now, revocation) {
      time(now)
      const { reason = ' ', ...rest } = revocation
      texts(rest, 'revocation')
      check([...reason].length <= 1000, 'reason')
      check(CAUSES.includes(revocation.cause), 'cause')
      return store.revoke(issuer, id, now, revocation)
    },
    async *revokeWhere(issuer, filter, now, revocation) {
      time(now)
      texts({ filter, revocation }, 'kill switch')
      check(Object.keys(filter).length === 1 && revocation.cause === 'api', 'kill switch')
      yield []
      for await (const batch of store.revokeWhere(issuer, filter, now, revocation)) yield batch.toReversed()
    },
    async recordReplay(token, replay) {
      time(replay.at)
      texts(replay, 'replay')
      return store.recordReplay(token, replay)
    },
    ...(store.sessions && { sessions: strictSessions(store.sessions, check) }),
    // In any order.
    findStopped: async (...given) => (await store.findStopped(...given)).toReversed(),
    async *summarize(issuer, from, until) {
      check(from < until, 'from')
      yield* store.summarize(issuer, from, until)
    },
  }
}

function strictSessions(sessions: SessionStore, check: (fits: boolean, what: string) => void): SessionStore {
  const isTime = (time: unknown) => Number.isSafeInteger(time) && Number(time) > 0
  return {
    findDue: async (issuer, now, limit) => {
      check(isTime(now) && Number.isInteger(limit) && limit >= 1, 'findDue')
      return sessions.findDue(issuer, now, limit)
    },
    claim: async (issuer, id, mark, next) => {
      check(/^[0-9a-f]{32}$/.test(id) && isTime(mark) && isTime(next) && next !== mark, 'claim')
      return sessions.claim(issuer, id, mark, next)
    },
    settle: async (issuer, id, { mark, logout, at }) => {
      check(isTime(at) && (mark === null || isTime(mark)), 'settle')
      await sessions.settle(issuer, id, { mark, ...(logout && { logout }), at })
    },
  }
}

describe('the contract of a store of subject tokens', () => {
  const contractOf = (createStore: () => SubjectTokenStore) => (runner: TestRunner) =>
    subjectTokenStoreContract({ ...runner, create: async () => ({ store: createStore() }) })

  it('is kept by one that takes nothing but what the plugin sends', async () => {
    expect(await failuresOf(contractOf(() => strict(createMemoryStore())))).to.deep.equal([])
  })

  it('makes ids that sort in their order, however many it has made', () => {
    const { newToken } = tokensIn(createMemoryStore())
    const ids = Array.from({ length: 70_000 }, () => newToken().id)
    expect(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? ''))).to.equal(true)
  })

  it('closes what it was given, also where a test fails', async () => {
    const open = new Set<object>()
    const failures = await failuresOf((runner) =>
      subjectTokenStoreContract({
        ...runner,
        create: async () => {
          const subject = {
            store: { ...createMemoryStore(), insert: () => Promise.reject(new Error('full')) },
            close: () => void open.delete(subject),
          }
          open.add(subject)
          return subject
        },
      }),
    )
    expect(failures).not.to.have.length(0)
    expect(open.size).to.equal(0)
  })

  const sessionFaults = Object.entries(SESSION_LAPSES).map(([name, { change }]) => [name, change] as const)
  describeFaults({ ...FAULTS, ...Object.fromEntries(sessionFaults) }, (change) =>
    contractOf(() => storeWith({ change, found: [] })),
  )

  it('asks nothing of sessions of a store that has none', async () => {
    const without = () => {
      const { sessions: _, ...store } = createMemoryStore()
      return store
    }
    expect(await failuresOf(contractOf(without))).to.deep.equal([])
  })
})
