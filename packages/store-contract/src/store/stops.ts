/** Revoking: one, all of a name, what a replay stops, and who reports it. */

import assert from 'node:assert/strict'
import type { KillFilter, Revocation, Revoked, SubjectTokenStore } from 'oidc-provider-impersonation'
import { LONGEST_LIFE } from 'oidc-provider-impersonation/inside'
import { all, BY_API, chainOf, idsOf, NOW, newUse, type Test, tokensIn, total } from './tokens.ts'

export function describeStops(test: Test): void {
  test('revokes once, says what is left to end, and keeps the first reason', async ({ store }) => {
    const { issuer, spend, stored } = tokensIn(store)
    const why: Revocation = { cause: 'console', by: 'carol@example.com', reason: 'The customer asked. 👩' }
    const accessToken = { format: 'opaque', expiresAt: NOW + 60 } as const
    const { id } = await spend({ accessToken, grantId: 'a-grant', actor: { sub: 'bob' } })
    for (const [later, reason] of [why, BY_API].entries()) {
      const revoked = await store.revoke(issuer, id, NOW + later, reason)
      const { token, unreported } = revoked ?? assert.fail('a token that is there was not returned')
      assert.deepEqual([token.id, token.userId, token.revocation, unreported], [id, 'alice', why, true])
      assert.deepEqual(
        [token.use?.clientId, token.use?.accessToken, token.use?.grantId, token.use?.actor?.sub],
        ['spa', accessToken, 'a-grant', 'bob'],
      )
    }
    const { revokedAt, revocation } = await stored(id)
    assert.deepEqual([revokedAt, revocation], [NOW, why])
  })

  test('keeps every cause, and what is said with it', async ({ store }) => {
    const { issuer, insert, spend, stored } = tokensIn(store)
    const { id: other } = await insert()
    const reasons: readonly Revocation[] = [
      { cause: 'api', client: 'backend' },
      { cause: 'self', client: 'backend', by: 'bob' },
      { cause: 'continued', client: 'backend', continuedBy: other },
      { cause: 'console', by: 'carol', reason: '  a leak  ' },
      { cause: 'host', reason: 'ü'.repeat(1000) },
      { cause: 'signedOut', client: 'an-application' },
      { cause: 'command', by: 'operator' },
    ]
    for (const reason of reasons)
      for (const { id } of [await insert(), await spend()]) {
        assert.deepEqual((await store.revoke(issuer, id, NOW, reason))?.token.revocation, reason)
        assert.deepEqual((await stored(id)).revocation, reason)
      }
  })

  test('leaves a token with nothing left to stop as it is', async ({ store }) => {
    const { issuer, insert, spend, stored } = tokensIn(store)
    const unspent = await insert({ expiresAt: NOW })
    const over = await spend({ accessToken: { format: 'jwt', expiresAt: NOW } })
    for (const { id } of [unspent, over]) {
      const revoked = await store.revoke(issuer, id, NOW, BY_API)
      assert.deepEqual([revoked?.token.id, revoked?.unreported], [id, false])
      assert.equal((await stored(id)).revokedAt, undefined)
    }
    assert.deepEqual(await killed(store, issuer, { userId: 'alice' }), [])
    const brief = { format: 'jwt', expiresAt: NOW + 1 } as const
    for (const { id } of [await insert({ expiresAt: NOW + 1 }), await spend({ accessToken: brief })])
      assert.equal((await store.revoke(issuer, id, NOW, BY_API))?.unreported, true)
  })

  for (const by of ['userId', 'actorId', 'createdBy'] as const) {
    test(`revokes all of a ${by} that are active or whose access token lives, and no other`, async ({
      store,
    }) => {
      const { issuer, insert, spend, stored } = tokensIn(store)
      const named = { [by]: 'target' }
      const active = await insert({ ...named, expiresAt: NOW + 1 })
      const live = await spend({ accessToken: { format: 'jwt', expiresAt: NOW + 1 } }, named)
      const kept = await spend({ accessToken: { format: 'jwt', expiresAt: NOW + 1, kept: true } }, named)
      const expired = await insert({ ...named, expiresAt: NOW })
      const over = await spend({ accessToken: { format: 'jwt', expiresAt: NOW } }, named)
      const others = [await insert({ [by]: 'other' }), await spend({}, { [by]: 'target ' })]
      const filter = { [by]: 'target' } as unknown as KillFilter
      const stopped = await killed(store, issuer, filter)
      assert.deepEqual(idsOf(stopped), [active.id, live.id, kept.id].sort())
      for (const { token, unreported } of stopped) {
        const { use, revokedAt, revocation } = await stored(token.id)
        assert.deepEqual([revokedAt, revocation, unreported], [NOW, WHY, true])
        assert.deepEqual([token.use?.accessToken, token.revocation], [use?.accessToken, WHY])
      }
      for (const { id } of [expired, over, ...others]) assert.equal((await stored(id)).revokedAt, undefined)
    })
  }

  test('revokes what any link of a chain of actors used', async ({ store }) => {
    const { issuer, spend } = tokensIn(store)
    for (const name of ['newest', 'middle', 'oldest']) {
      const { id } = await spend({ actor: chainOf(['newest', 'middle', 'oldest']) })
      assert.deepEqual(idsOf(await killed(store, issuer, { actorId: name })), [id])
      await store.report(issuer, [id])
    }
  })

  test('stops an access token that outlives its subject token', async ({ store }) => {
    const { issuer, spend, stored } = tokensIn(store)
    const brief = () => spend({}, { expiresAt: NOW + 1 })
    const [revoked, switched, replayed] = [await brief(), await brief(), await brief()]
    const at = NOW + 10
    await store.revoke(issuer, revoked.id, at, BY_API)
    await store.recordReplay(replayed, { at, clientId: 'thief' })
    await store.report(issuer, [revoked.id])
    const stopped = idsOf(await killed(store, issuer, { userId: 'alice' }, at))
    assert.deepEqual(stopped, [switched.id], 'a kill switch stops what no one has stopped, and only that')
    for (const { id } of [revoked, switched, replayed])
      assert.equal((await stored(id)).revokedAt, at, 'what lives was not stopped')
  })

  test('revokes an access token of the longest life that came of a subject token of the longest life', async ({
    store,
  }) => {
    const createdAt = NOW - 2 * LONGEST_LIFE
    const at = createdAt + LONGEST_LIFE - 1
    const accessToken = { format: 'jwt', expiresAt: at + LONGEST_LIFE } as const
    const actor = { sub: 'bob' }
    for (const filter of [{ userId: 'alice' }, { actorId: 'bob' }, { createdBy: 'backend' }]) {
      const { issuer, insert, assertListed } = tokensIn(store)
      const token = await insert({ createdAt, expiresAt: createdAt + LONGEST_LIFE })
      assert.equal(await store.consume(token, at, newUse({ at, actor, accessToken })), true)
      await assertListed({ live: true }, [token.id], NOW - 2)
      assert.equal(await total(store.countLive(issuer, NOW - 2)), 1, 'it is not counted as live')
      assert.deepEqual(idsOf(await killed(store, issuer, filter, NOW - 2)), [token.id])
    }
  })

  test('a kill switch returns what was stopped and not reported, while its access token lives', async ({
    store,
  }) => {
    const { issuer, insert, spend, stored } = tokensIn(store)
    const accessToken = { format: 'opaque', expiresAt: NOW + 60 } as const
    const { id } = await spend({ accessToken, grantId: 'a-grant' })
    const jwt = await spend()
    const unspent = await insert()
    for (const one of [id, jwt.id, unspent.id]) await store.revoke(issuer, one, NOW, BY_API)
    const again = await killed(store, issuer, { userId: 'alice' })
    assert.deepEqual(idsOf(again), [id, jwt.id].sort())
    const found = again.find(({ token }) => token.id === id)
    assert.deepEqual(
      [found?.unreported, found?.token.use?.grantId, found?.token.revocation],
      [true, 'a-grant', BY_API],
    )
    assert.deepEqual(idsOf(await killed(store, issuer, { userId: 'alice' }, NOW + 60)), [jwt.id])
    assert.deepEqual(await store.report(issuer, [id]), [id])
    assert.deepEqual(idsOf(await killed(store, issuer, { userId: 'alice' })), [jwt.id])
    assert.deepEqual((await stored(id)).revocation, BY_API)
  })

  test('a kill switch of many leaves out none, each batch told before the next is requested', async ({
    store,
  }) => {
    const { issuer, newToken } = tokensIn(store)
    const tokens = Array.from({ length: MANY }, () => newToken())
    const spent = tokens.filter((_, index) => index % 2 === 0)
    const stoppedBefore = spent.slice(-3)
    await inGroups(tokens, (token) => store.insert(token))
    await inGroups(spent, (token) => store.consume(token, NOW, newUse()))
    await inGroups(stoppedBefore, ({ id }) => store.revoke(issuer, id, NOW, BY_API))
    const told: string[] = []
    for await (const batch of store.revokeWhere(issuer, { userId: 'alice' }, NOW, WHY))
      told.push(...(await store.report(issuer, idsOf(batch))))
    const missed = tokens.filter(({ id }) => !told.includes(id))
    assert.equal(missed.length, 0, `a kill switch left out ${missed.length} of ${MANY}`)
    assert.equal(told.length, MANY, 'a stop was told twice')
    let marked = 0
    for await (const { revoked } of store.summarize(issuer, NOW, NOW + 1)) marked += revoked
    assert.equal(marked, MANY, 'a kill switch returned what it had not stopped')
    assert.deepEqual(await killed(store, issuer, { userId: 'alice' }), [])
  })

  test('returns what is stopped as unreported until it is reported', async ({ store }) => {
    const { issuer, insert, spend, newToken } = tokensIn(store)
    const [spent, unspent, other] = [await spend(), await insert(), await spend()]
    const ids = [spent.id, unspent.id]
    const unreported = (id: string) => store.revoke(issuer, id, NOW, BY_API).then((one) => one?.unreported)
    assert.deepEqual(await store.report(issuer, ids), [], 'nothing was stopped')
    for (const id of [...ids, ...ids])
      assert.equal(await unreported(id), true, 'a stop that no report has returned is unreported')
    assert.deepEqual(await store.report(issuer, []), [])
    const asked = [spent.id, newToken().id, other.id, unspent.id]
    assert.deepEqual((await store.report(issuer, asked)).toSorted(), ids.toSorted())
    assert.deepEqual(await store.report(issuer, asked), [], 'an id is returned once')
    for (const id of ids)
      assert.equal(await unreported(id), false, 'a stop that a report has returned is unreported')
    assert.equal(await unreported(other.id), true)
  })

  test('records the first replay, which stops what lives, and counts as reported', async ({ store }) => {
    const { issuer, spend, stored } = tokensIn(store)
    for (const replay of [
      { at: NOW + 3, clientId: 'thief' },
      { at: NOW + 3, by: 'mallory' },
    ]) {
      const token = await spend()
      assert.equal(await store.recordReplay(token, replay), true)
      assert.equal(await store.recordReplay(token, { at: NOW + 4, clientId: 'spa' }), false)
      const found = await stored(token.id)
      assert.deepEqual(found, { ...token, replay, revokedAt: NOW + 3, revocation: { cause: 'replay' } })
      const told = 'the stop of a replay counts as reported'
      assert.equal((await store.revoke(issuer, token.id, NOW + 5, BY_API))?.unreported, false, told)
      assert.deepEqual(await killed(store, issuer, { userId: 'alice' }), [], told)
      assert.deepEqual(await store.report(issuer, [token.id]), [], told)
      assert.deepEqual(await stored(token.id), found)
    }
  })

  test('records a replay alone where nothing is left to stop', async ({ store }) => {
    const { issuer, spend, stored } = tokensIn(store)
    const replay = { at: NOW + 3, clientId: 'thief' }
    const revoked = await spend()
    await store.revoke(issuer, revoked.id, NOW, BY_API)
    const kept = await spend({ accessToken: { format: 'jwt', expiresAt: NOW + 60, kept: true } })
    await store.revoke(issuer, kept.id, NOW, BY_API)
    const over = await spend({ accessToken: { format: 'jwt', expiresAt: NOW + 3 } })
    // As they were found before their stops.
    for (const token of [revoked, kept, over]) {
      assert.equal(await store.recordReplay(token, replay), false)
      assert.deepEqual((await stored(token.id)).replay, replay)
    }
    for (const { id } of [revoked, kept]) {
      const { revokedAt, revocation } = await stored(id)
      assert.deepEqual([revokedAt, revocation], [NOW, BY_API], 'a replay replaced the stop before it')
    }
    assert.equal((await stored(over.id)).revokedAt, undefined)
    assert.deepEqual(await store.report(issuer, [over.id, revoked.id]), [revoked.id])
  })
}

const WHY: Revocation = { ...BY_API, by: 'carol@example.com', reason: 'a leak' }

const killed = (
  store: SubjectTokenStore,
  issuer: string,
  filter: KillFilter,
  now = NOW,
): Promise<Revoked[]> => all(store.revokeWhere(issuer, filter, now, WHY))

/** More than a store is likely to stop in one batch. */
const MANY = 1001
/** Calls at the same time: a pool holds back some, but not a thousand for long. */
const GROUP = 50

async function inGroups<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < items.length; from += GROUP)
    await Promise.all(items.slice(from, from + GROUP).map(work))
}
