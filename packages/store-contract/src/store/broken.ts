/** A store whose storage fails says so: not found and broken are never the same. */

import assert from 'node:assert/strict'
import type {
  NewSubjectToken,
  SessionStore,
  SpentSubjectToken,
  SubjectTokenStore,
} from 'oidc-provider-impersonation'
import { all, assertRejects, BY_API, NOW, newUse, type Test, THIEF, tokensIn } from './tokens.ts'

type Method =
  | Exclude<keyof SubjectTokenStore, 'ready' | 'measures' | 'sessions'>
  | `sessions.${keyof SessionStore}`

/** A call of each method, with a token as it would have been found before; none of a store that lacks it. */
const CALLS: Readonly<
  Record<
    Method,
    (
      store: SubjectTokenStore,
      spent: SpentSubjectToken,
      token: NewSubjectToken,
    ) => Promise<unknown> | undefined
  >
> = {
  insert: (store, _spent, token) => store.insert(token),
  find: (store, { issuer, id }) => store.find(issuer, id),
  consume: (store, { use, ...token }) => store.consume(token, NOW, use),
  list: (store, { issuer }) => store.list(issuer, {}, { limit: 1, now: NOW }),
  summarize: (store, { issuer }) => drained(store.summarize(issuer, NOW - 1, NOW)),
  countLive: (store, { issuer }) => drained(store.countLive(issuer, NOW)),
  revoke: (store, { issuer, id }) => store.revoke(issuer, id, NOW, BY_API),
  revokeWhere: (store, { issuer, userId }) => all(store.revokeWhere(issuer, { userId }, NOW, BY_API)),
  report: (store, { issuer, id }) => store.report(issuer, [id]),
  recordReplay: (store, spent) => store.recordReplay(spent, THIEF),
  acknowledge: (store, spent) =>
    store.acknowledge(spent, { at: NOW, by: 'carol', note: 'asked', coversReplay: false }),
  findByStatusIndex: (store, { issuer, statusIndex }) => store.findByStatusIndex(issuer, statusIndex),
  findStopped: (store, { issuer }) => store.findStopped(issuer, NOW),
  findStatusLists: (store) => store.findStatusLists(1, NOW),
  'sessions.findDue': ({ sessions }, { issuer }) => sessions?.findDue(issuer, NOW, 10),
  'sessions.claim': ({ sessions }, { issuer, id }) => sessions?.claim(issuer, id, NOW, NOW + 10),
  'sessions.settle': ({ sessions }, { issuer, id }) =>
    sessions?.settle(issuer, id, { mark: null, logout: 'confirmed', at: NOW }),
}

export function describeBroken(test: Test): void {
  for (const [name, call] of Object.entries(CALLS))
    test(`${name} rejects where storage fails, and quotes no hash`, async ({ store }) => {
      const token = tokensIn(store).newToken()
      const { tokenHash, ...found } = token
      const called = call(store, { ...found, statusIndex: 0, use: newUse() }, token)
      if (called) await assertRejects(called, [tokenHash])
    })

  test('is not ready where storage fails', async ({ store }) => {
    await assert.rejects(async () => store.ready?.() ?? store.find('https://op.example.com', '0'.repeat(32)))
  })
}

async function drained(parts: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of parts);
}
