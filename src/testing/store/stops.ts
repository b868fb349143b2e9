/** Revoking: one, all of a name, and what a replay stops. */
import assert from 'node:assert/strict'
import type { KillFilter, Revoked, SubjectTokenStore } from '../../subject-tokens/store.ts'
import { LONGEST_LIFE, type Revocation } from '../../subject-tokens/subject-token.ts'
import { BY_API, chainOf, NOW, type Test, tokensIn } from './tokens.ts'

export function describeStops(test: Test): void {
  test('revokes once, says what is left to end, and keeps the first reason', async ({ store }) => {
    const { issuer, spend, stored } = tokensIn(store)
    const why: Revocation = { cause: 'console', by: 'carol@example.com', reason: 'The customer asked. 👩' }
    const { id } = await spend({ accessToken: { format: 'opaque', expiresAt: NOW + 60 }, grantId: 'a-grant' })
    const first = await store.revoke(issuer, id, NOW, why)
    assert.deepEqual([first?.marked, first?.token.id, first?.token.use?.grantId], [true, id, 'a-grant'])
    assert.equal((await store.revoke(issuer, id, NOW + 1, BY_API))?.marked, false)
    const { revokedAt, revocation } = await stored(id)
    assert.deepEqual([revokedAt, revocation], [NOW, why])
  })

  test('says so to one call only, when many revoke a token at the same time', async ({ store }) => {
    const { issuer, spend } = tokensIn(store)
    const { id } = await spend()
    const calls = Array.from({ length: 20 }, () => store.revoke(issuer, id, NOW, BY_API))
    const marked = (await Promise.all(calls)).flatMap((one) => (one?.marked ? [one] : []))
    assert.deepEqual(idsOf(marked), [id])
  })

  test('returns undefined for an id that does not exist', async ({ store }) => {
    const { issuer, newToken } = tokensIn(store)
    assert.equal(await store.revoke(issuer, newToken().id, NOW, BY_API), undefined)
  })

  test('leaves a token with nothing left to stop as it is', async ({ store }) => {
    const { issuer, insert, spend, stored } = tokensIn(store)
    const unspent = await insert({ expiresAt: NOW })
    const over = await spend({ accessToken: { format: 'jwt', expiresAt: NOW } })
    for (const { id } of [unspent, over]) {
      assert.equal((await store.revoke(issuer, id, NOW, BY_API))?.marked, false)
      assert.equal((await stored(id)).revokedAt, undefined)
    }
    assert.deepEqual(await killed(store, issuer, { userId: 'alice' }), [])
    const brief = { format: 'jwt', expiresAt: NOW + 1 } as const
    for (const { id } of [await insert({ expiresAt: NOW + 1 }), await spend({ accessToken: brief })])
      assert.equal((await store.revoke(issuer, id, NOW, BY_API))?.marked, true)
  })

  for (const by of ['userId', 'actorId', 'createdBy'] as const) {
    test(`revokes all of a ${by} that are active or whose access token lives, and no other`, async ({
      store,
    }) => {
      const { issuer, insert, spend, stored } = tokensIn(store)
      const named = { [by]: 'target' }
      const active = await insert({ ...named, expiresAt: NOW + 1 })
      const live = await spend({ accessToken: { format: 'jwt', expiresAt: NOW + 1 } }, named)
      const expired = await insert({ ...named, expiresAt: NOW })
      const over = await spend({ accessToken: { format: 'jwt', expiresAt: NOW } }, named)
      const others = [await insert({ [by]: 'other' }), await spend({}, { [by]: 'target ' })]
      const filter = { [by]: 'target' } as unknown as KillFilter
      assert.deepEqual(idsOf(await killed(store, issuer, filter)), [active.id, live.id].sort())
      assert.deepEqual(await killed(store, issuer, filter), [])
      for (const { id } of [expired, over, ...others]) assert.equal((await stored(id)).revokedAt, undefined)
      for (const { id } of [active, live]) {
        const { revokedAt, revocation } = await stored(id)
        assert.deepEqual([revokedAt, revocation], [NOW, WHY])
        assert.equal((await store.revoke(issuer, id, NOW, BY_API))?.marked, false)
      }
    })
  }

  test('revokes what any link of a chain of actors used', async ({ store }) => {
    const { issuer, spend } = tokensIn(store)
    for (const name of ['newest', 'middle', 'oldest']) {
      const { id } = await spend({ actor: chainOf(['newest', 'middle', 'oldest']) })
      assert.deepEqual(idsOf(await killed(store, issuer, { actorId: name })), [id])
    }
  })

  test('revokes an access token of the longest life that came of a subject token of the longest life', async ({
    store,
  }) => {
    const { issuer, newUse, insert } = tokensIn(store)
    const createdAt = NOW - 2 * LONGEST_LIFE
    const { id, tokenHash } = await insert({ createdAt, expiresAt: createdAt + LONGEST_LIFE })
    const at = createdAt + LONGEST_LIFE - 1
    const accessToken = { format: 'jwt', expiresAt: at + LONGEST_LIFE } as const
    assert.equal(await store.consume(issuer, tokenHash, at, newUse({ at, accessToken })), true)
    assert.deepEqual(idsOf(await killed(store, issuer, { userId: 'alice' }, NOW - 2)), [id])
  })

  test('returns what an earlier call marked and may not have ended', async ({ store }) => {
    const { issuer, spend } = tokensIn(store)
    const accessToken = { format: 'opaque', expiresAt: NOW + 60 } as const
    const { id } = await spend({ accessToken, grantId: 'a-grant' })
    await store.revoke(issuer, id, NOW, BY_API)
    const [again, ...others] = await killed(store, issuer, { userId: 'alice' })
    assert.deepEqual([again?.token.id, again?.marked, again?.token.use?.grantId], [id, false, 'a-grant'])
    assert.equal(others.length, 0)
  })

  test('revokes each of many once, when two kill switches run at the same time', async ({ store }) => {
    const { issuer, spend } = tokensIn(store)
    const tokens = await Promise.all(Array.from({ length: 60 }, () => spend()))
    const all = (await Promise.all([1, 2].map(() => killed(store, issuer, { userId: 'alice' })))).flat()
    const marked = all.filter((one) => one.marked)
    assert.deepEqual(idsOf(marked), tokens.map(({ id }) => id).sort())
  })

  test('either spends a token or revokes it unspent, when both happen at the same time', async ({
    store,
  }) => {
    const { issuer, newUse, insert, stored } = tokensIn(store)
    for (const _ of Array(20)) {
      const { id, tokenHash } = await insert()
      const [won] = await Promise.all([
        store.consume(issuer, tokenHash, NOW, newUse()),
        store.revoke(issuer, id, NOW, BY_API),
      ])
      const { use, revokedAt } = await stored(id)
      assert.deepEqual([use !== undefined, revokedAt], [won, NOW])
    }
  })

  test('records the first replay, which stops what lives', async ({ store }) => {
    const { issuer, spend, stored } = tokensIn(store)
    const { id } = await spend()
    const replay = { at: NOW + 3, clientId: 'thief' }
    assert.equal(await store.recordReplay(issuer, id, replay), true)
    assert.equal(await store.recordReplay(issuer, id, { at: NOW + 4, clientId: 'spa' }), false)
    const found = await stored(id)
    assert.deepEqual(
      [found.replay, found.revokedAt, found.revocation],
      [replay, NOW + 3, { cause: 'replay' }],
    )
  })

  test('records one replay, and stops once, when many are reported at the same time', async ({ store }) => {
    const { issuer, spend, stored } = tokensIn(store)
    const { id } = await spend()
    const replays = Array.from({ length: 8 }, (_, index) => ({ at: NOW + index, clientId: `thief-${index}` }))
    const stopped = await Promise.all(replays.map((replay) => store.recordReplay(issuer, id, replay)))
    assert.equal(stopped.filter(Boolean).length, 1)
    assert.deepEqual((await stored(id)).replay, replays[stopped.indexOf(true)])
  })

  test('records a replay alone where nothing is left to stop', async ({ store }) => {
    const { issuer, insert, spend, stored } = tokensIn(store)
    const replay = { at: NOW + 3, clientId: 'thief' }
    const revoked = await spend()
    await store.revoke(issuer, revoked.id, NOW, BY_API)
    const over = await spend({ accessToken: { format: 'jwt', expiresAt: NOW + 3 } })
    for (const { id } of [revoked, over]) {
      assert.equal(await store.recordReplay(issuer, id, replay), false)
      assert.deepEqual((await stored(id)).replay, replay)
    }
    assert.deepEqual((await stored(revoked.id)).revocation, BY_API)
    assert.equal((await stored(over.id)).revokedAt, undefined)
    const unspent = await insert()
    assert.equal(await store.recordReplay(issuer, unspent.id, replay), false)
    assert.equal((await stored(unspent.id)).replay, undefined)
  })
}

const WHY: Revocation = { ...BY_API, by: 'carol@example.com', reason: 'a leak' }

async function killed(
  store: SubjectTokenStore,
  issuer: string,
  filter: KillFilter,
  now = NOW,
): Promise<Revoked[]> {
  const all: Revoked[] = []
  for await (const batch of store.revokeWhere(issuer, filter, now, WHY)) all.push(...batch)
  return all
}

const idsOf = (revoked: readonly Revoked[]): string[] => revoked.map(({ token }) => token.id).sort()
