/** A spend meets another spend, a revocation, a kill switch and a replay, at the same moment. */

import assert from 'node:assert/strict'
import type { KillFilter, Revoked, SubjectToken } from 'oidc-provider-impersonation'
import { type Call, during, isBefore, meet, timed } from './meet.ts'
import { assertOrder, BY_KILL, callsIn, type Spend } from './orders.ts'
import { NOW, type Test, total } from './tokens.ts'

export function describeSpendMeetings(test: Test): void {
  test('spend and spend at the same moment: one of them wins', async ({ store }) => {
    const { named, spend, stored, assertShown } = callsIn(store)
    const twice = await meet(named, spend({ clientId: 'one' }), spend({ clientId: 'other' }))
    for (const { subject, one, other } of twice) {
      assertOrder(await stored(subject.id), [one, other], [])
      assert.ok(one.answer.won || other.answer.won, 'no one spent an active token')
    }
    await assertShown()
  })

  test('spend and revocation at the same moment: one of two orders', async ({ store }) => {
    const { named, spend, revoke, stored, assertShown } = callsIn(store)
    for (const { subject, one, other } of await meet(named, spend(), revoke())) {
      assertOrder(await stored(subject.id), [one], [other])
      assert.equal((await spend()(subject)).won, false, 'a token was spent after its stop')
    }
    await assertShown()
  })

  const filters: Readonly<Record<string, (token: SubjectToken) => KillFilter>> = {
    'a user': ({ userId }) => ({ userId }),
    'a backend': ({ createdBy }) => ({ createdBy }),
    'an actor': ({ id }) => ({ actorId: `newest ${id}` }),
  }
  for (const [name, filterOf] of Object.entries(filters))
    test(`spend and kill switch of ${name} at the same moment: one of two orders`, async ({ store }) => {
      const { named, spend, kill, stored, assertShown } = callsIn(store)
      for (const { subject, one, other } of await meet(named, spend(), kill(filterOf))) {
        assert.notEqual(
          other.answer.returned.length,
          0,
          'a kill switch missed a token that was spent beside it',
        )
        assertOrder(await stored(subject.id), [one], [other])
      }
      await assertShown()
    })

  test('spend and kill switch of a link of its chain at the same moment: it is stopped or never found', async ({
    store,
  }) => {
    const { named, spend, kill, stored, assertShown } = callsIn(store)
    const byLink = kill(({ id }) => ({ actorId: `oldest ${id}` }))
    for (const { subject, one, other } of await meet(named, spend(), byLink)) {
      assert.equal(
        one.answer.won,
        true,
        'a kill switch of an actor stopped a token that did not name the actor',
      )
      if (isBefore(one, other))
        assert.notEqual(other.answer.returned.length, 0, 'a kill switch missed the link of a spent token')
      const found = await stored(subject.id)
      assertOrder(found, [one], [other])
      assert.equal(other.answer.returned.length > 0, found.revokedAt !== undefined, 'a stop was not returned')
    }
    await assertShown()
  })

  test('spend, revocation and kill switch at the same moment: one of two orders', async ({ store }) => {
    const { named, spend, revoke, kill, stored, assertShown } = callsIn(store)
    const byUser = kill(({ userId }) => ({ userId }))
    const both = (token: SubjectToken) =>
      Promise.all([timed(() => revoke()(token)), timed(() => byUser(token))])
    for (const { subject, one, other } of await meet(named, spend(), both)) {
      assertOrder(await stored(subject.id), [one], other.answer)
      const [, { answer: killed }] = other.answer
      if (one.answer.won)
        assert.notEqual(killed.returned.length, 0, 'a kill switch left out what lives and is not reported')
    }
    await assertShown()
  })

  test('a kill switch of many that are spent meanwhile returns each, as it is', async ({ store }) => {
    const { issuer, insert, useOf, stored } = callsIn(store)
    const tokens = await Promise.all(Array.from({ length: 45 }, () => insert({ userId: 'target' })))
    const spends = new Map<SubjectToken, Call<Spend>>()
    const spend = async (few: readonly SubjectToken[]) => {
      for (const token of few) {
        const use = useOf(token)
        spends.set(token, await timed(async () => ({ use, won: await store.consume(token, NOW, use) })))
      }
    }
    const early = tokens.filter((_, index) => index % 3 === 0)
    const late = new Set(tokens.filter((token) => !early.includes(token)))
    const killed = timed(async () => {
      const returned: Revoked[] = []
      for await (const batch of store.revokeWhere(issuer, { userId: 'target' }, NOW, BY_KILL)) {
        returned.push(...batch)
        for (const { token } of batch) for (const one of late) if (one.id === token.id) late.delete(one)
        const next = [...late].slice(0, 10)
        for (const token of next) late.delete(token)
        await spend(next)
      }
      return returned
    })
    const [{ answer, ...span }] = await Promise.all([killed, spend(early)])
    for (const token of tokens) {
      const returned = answer.filter((one) => one.token.id === token.id)
      assert.notEqual(returned.length, 0, 'a kill switch missed a token that was active when it began')
      const spent = spends.get(token)
      assertOrder(await stored(token.id), spent ? [spent] : [], [
        { ...span, answer: { why: BY_KILL, returned } },
      ])
    }
  })

  test('a token that shows its use is found by every link, and is live, from then on', async ({ store }) => {
    const { issuer, named, useOf, listed } = callsIn(store)
    for (const number of [1, 2, 3]) {
      const token = await named()
      const use = useOf(token)
      const look = async () => {
        const found = await store.find(issuer, token.id)
        if (!found?.use) return
        assert.deepEqual(found.use, use, 'a use was shown before all of it was there')
        await assertFound(token, number)
      }
      const assertFound = async ({ id, userId }: SubjectToken, live: number) => {
        for (const link of ['newest', 'middle', 'oldest'])
          assert.deepEqual(
            await listed({ actorId: [`${link} ${id}`] }),
            [id],
            `it is not found by its ${link} actor`,
          )
        assert.deepEqual(await listed({ live: true, userId: [userId] }), [id], 'it is not listed as live')
        assert.equal(await total(store.countLive(issuer, NOW)), live, 'it is not counted as live')
      }
      await during(() => store.consume(token, NOW, use), look)
    }
  })

  test('a spend that has answered is seen at once, by everyone', async ({ store }) => {
    const { issuer, named, useOf, listed } = callsIn(store)
    for (const live of [1, 2, 3]) {
      const token = await named()
      const { id, userId } = token
      const links = ['newest', 'middle', 'oldest'].map((link) => [`${link} ${id}`] as const)
      assert.equal(await store.consume(token, NOW, useOf(token)), true)
      const [found, counted, ...lists] = await Promise.all([
        store.find(issuer, id),
        total(store.countLive(issuer, NOW)),
        listed({ live: true, userId: [userId] }),
        listed({ state: 'consumed', userId: [userId] }),
        ...links.map((actorId) => listed({ actorId })),
      ])
      assert.deepEqual(found?.use, useOf(token))
      assert.equal(counted, live, 'it is not counted as live')
      for (const list of lists) assert.deepEqual(list, [id], 'it is not found by a link, or not as live')
    }
  })

  test('a stop that has answered is seen at once, by everyone', async ({ store }) => {
    const { issuer, named, spent, useOf, listed } = callsIn(store)
    for (const create of [named, spent]) {
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

  test('a spend that loses finds why at once, and its replay stops what the winner got', async ({
    store,
  }) => {
    const { named, spend, stored } = callsIn(store)
    const spendOrReplay = (clientId: string) => async (token: SubjectToken) => {
      const { won, use } = await spend({ clientId })(token)
      if (won) return { won, use, stopped: false }
      const found = await stored(token.id)
      assert.ok(found.use, 'a spend lost, and the record shows no reason')
      return {
        won,
        use,
        stopped: await store.recordReplay({ ...found, use: found.use }, { at: NOW, clientId }),
      }
    }
    for (const { subject, one, other } of await meet(named, spendOrReplay('one'), spendOrReplay('other'))) {
      const found = await stored(subject.id)
      assertOrder(found, [one, other], [])
      const loser = one.answer.won ? other : one
      assert.equal(loser.answer.stopped, true, 'the replay of a token that lives did not stop it')
      assert.deepEqual(found.replay, { at: NOW, clientId: loser.answer.use.clientId })
      assert.deepEqual([found.revokedAt, found.revocation], [NOW, { cause: 'replay' }])
    }
  })
}
