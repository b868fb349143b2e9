/** The store of a strict author: the contract must not ask for more than the plugin does. */
import type { SessionStore, SubjectTokenStore } from '../../src/index.ts'

const CAUSES = ['api', 'self', 'continued', 'console', 'host', 'signedOut', 'command']

/** A store that refuses what the plugin does not send, and returns in no order what needs none. */
export function strict(store: SubjectTokenStore): SubjectTokenStore {
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
