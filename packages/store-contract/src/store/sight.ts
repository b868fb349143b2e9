/** Other readers' view while a call runs, and as soon as it has answered. */

import assert from 'node:assert/strict'
import type { Revoked, SubjectToken } from 'oidc-provider-impersonation'
import { during, meet } from './meet.ts'
import { toldOf } from './orders.ts'
import { ofSessions, sessionUse } from './sessions.ts'
import {
  all,
  BY_API,
  BY_KILL,
  ENDS_AT,
  idsOf,
  LATER,
  NOW,
  type Test,
  type Tokens,
  tokensIn,
  total,
  useOf,
} from './tokens.ts'

export function describeSight(test: Test): void {
  test('a kill switch of many that are spent meanwhile returns each, as it is', async ({ store }) => {
    const { issuer, insert, stored } = tokensIn(store)
    const tokens = await Promise.all(Array.from({ length: 45 }, () => insert({ userId: 'target' })))
    const won = new Map<string, boolean>()
    const spend = async (few: readonly SubjectToken[]) => {
      for (const token of few) won.set(token.id, await store.consume(token, NOW, useOf(token)))
    }
    const early = tokens.filter((_, index) => index % 3 === 0)
    const late = new Map(tokens.filter((token) => !early.includes(token)).map((token) => [token.id, token]))
    const killed = async () => {
      const returned: Revoked[] = []
      for await (const batch of store.revokeWhere(issuer, { userId: 'target' }, NOW, BY_KILL)) {
        returned.push(...batch)
        for (const { token } of batch) late.delete(token.id)
        const next = [...late.values()].slice(0, 10)
        for (const { id } of next) late.delete(id)
        await spend(next)
      }
      return returned
    }
    const [returned] = await Promise.all([killed(), spend(early)])
    for (const { id } of tokens) {
      const found = await stored(id)
      const told = returned.filter(({ token }) => token.id === id).map(toldOf)
      assert.notEqual(told.length, 0, 'a kill switch missed a token that was active when it began')
      for (const one of told)
        assert.deepEqual(one, toldOf({ token: found, unreported: true }), 'a stop is not as the record is')
      assert.deepEqual(found.use, won.get(id) ? useOf(found) : undefined, 'a use is not that of the spend')
      assert.deepEqual(found.revocation, BY_KILL, 'the record was stopped for a reason that no one gave')
    }
  })

  /** Asserts that everyone sees a use, and that so many tokens live. */
  const assertSeen = async ({ store, issuer, listed }: Tokens, token: SubjectToken, live: number) => {
    const { id, userId } = token
    const links = ['newest', 'middle', 'oldest'].map((link) => [`${link} ${id}`] as const)
    const [found, counted, ...lists] = await Promise.all([
      store.find(issuer, id),
      total(store.countLive(issuer, NOW)),
      listed({ live: true, userId: [userId] }),
      listed({ state: 'consumed', userId: [userId] }),
      ...links.map((actorId) => listed({ actorId })),
    ])
    assert.deepEqual(found?.use, useOf(token), 'a use was shown before all of it was there')
    assert.equal(counted, live, 'it is not counted as live')
    for (const list of lists) assert.deepEqual(list, [id], 'it is not found by a link, or not as live')
  }

  test('a token that shows its use is found by every link, and is live, from then on', async ({ store }) => {
    const tokens = tokensIn(store)
    for (const live of [1, 2, 3]) {
      const token = await tokens.named()
      const look = async () => {
        const found = await store.find(token.issuer, token.id)
        if (found?.use) await assertSeen(tokens, token, live)
      }
      await during(() => store.consume(token, NOW, useOf(token)), look)
    }
  })

  test('a spend that has answered is seen at once, by everyone', async ({ store }) => {
    const tokens = tokensIn(store)
    for (const live of [1, 2, 3]) {
      const token = await tokens.named()
      assert.equal(await store.consume(token, NOW, useOf(token)), true)
      await assertSeen(tokens, token, live)
    }
  })

  test('a stop that has answered is seen at once, by everyone', async ({ store }) => {
    const { issuer, named, acted, listed } = tokensIn(store)
    for (const create of [named, acted]) {
      const token = await create()
      const { id, userId, statusIndex } = token
      const revoked = await store.revoke(issuer, id, NOW, BY_KILL)
      const [won, found, live, listsLive, lists, stopped] = await Promise.all([
        // As it was found before the stop.
        store.consume(token, NOW, useOf(token)),
        store.find(issuer, id),
        total(store.countLive(issuer, NOW)),
        listed({ live: true }),
        listed({ state: 'revoked', userId: [userId] }),
        store.findStopped(issuer, NOW),
      ])
      assert.equal(won, false, 'a token was spent after a stop had returned')
      assert.deepEqual(found, { ...token, revokedAt: NOW, revocation: BY_KILL })
      assert.deepEqual(revoked?.token.revocation, BY_KILL)
      assert.deepEqual([live, listsLive, lists], [0, [], [id]])
      const oldest = `oldest ${id}`
      assert.deepEqual(
        await listed({ actorId: [oldest] }),
        token.use ? [id] : [],
        'links of a spend that lost',
      )
      assert.deepEqual(await listed({ actorId: [oldest], userId: [userId] }), token.use ? [id] : [])
      assert.deepEqual(stopped, token.use ? [{ statusIndex, expiresAt: NOW + 300 }] : [])
    }
  })

  test('two issuers at the same moment: each call sees its own', async ({ store }) => {
    const [one, other] = [tokensIn(store), tokensIn(store)]
    const [mine, theirs] = [await one.acted(), await other.acted()]
    const idOf = (found: { readonly id: string } | undefined) => (found ? [found.id] : [])
    const calls: readonly ((issuer: string) => Promise<readonly string[]>)[] = [
      async (issuer) => idOf(await store.find(issuer, mine.id)),
      async (issuer) => idOf(await store.findByStatusIndex(issuer, mine.statusIndex)),
      (issuer) => tokensIn(store, issuer).listed({ actorId: [`oldest ${mine.id}`] }),
      async (issuer) => idsOf(await all(store.revokeWhere(issuer, { userId: mine.userId }, NOW, BY_KILL))),
      async (issuer) => idOf((await store.revoke(issuer, mine.id, NOW, BY_API))?.token),
      (issuer) => store.report(issuer, [mine.id]),
    ]
    for (const call of calls) {
      const results = await meet(
        async () => undefined,
        () => call(one.issuer),
        () => call(other.issuer),
      )
      for (const result of results)
        assert.deepEqual(result.other.answer, [], 'a call of another issuer returned a token')
      assert.deepEqual(
        [...new Set(results.flatMap((result) => result.one.answer))],
        [mine.id],
        'a call beside one of another issuer returned no token',
      )
    }
    assert.equal((await other.stored(theirs.id)).revokedAt, undefined)
    const counts = await Promise.all([one, other].map(({ issuer }) => total(store.countLive(issuer, NOW))))
    assert.deepEqual(counts, [0, 1])
  })

  test('a kill switch that is left after its first batch loses nothing', async ({ store }) => {
    const { issuer, insert, stored } = tokensIn(store)
    const spentOne = async () => {
      const token = await insert({ userId: 'target' })
      assert.equal(await store.consume(token, NOW, useOf(token)), true)
      return token
    }
    const tokens = await Promise.all(Array.from({ length: 45 }, spentOne))
    for await (const _ of store.revokeWhere(issuer, { userId: 'target' }, NOW, BY_KILL)) break
    const returned = await all(store.revokeWhere(issuer, { userId: 'target' }, NOW, BY_KILL))
    const ids = new Set(idsOf(returned))
    for (const { id } of tokens) {
      assert.ok(ids.has(id), 'what a kill switch stopped and no one reported is lost')
      assert.deepEqual((await stored(id)).revocation, BY_KILL)
    }
    for (const { token, unreported } of returned)
      assert.deepEqual([unreported, token.use?.grantId], [true, `grant ${token.id}`])
  })

  ofSessions(test)('a session that shows its use has its mark from then on', async (store, sessions) => {
    const { issuer, insert } = tokensIn(store)
    for (const _ of Array(3)) {
      const token = await insert({ purpose: 'session', clientId: 'shop', actorId: 'bob' })
      const look = async () => {
        const found = await store.find(issuer, token.id)
        if (found?.use) await assertMarked()
      }
      const assertMarked = async () => {
        const due = (await sessions.findDue(issuer, LATER, 10)).find(({ id }) => id === token.id)
        assert.equal(due?.mark, ENDS_AT, 'a session has been opened without its mark')
      }
      await during(() => store.consume(token, NOW, sessionUse()), look)
      await assertMarked()
    }
  })
}
