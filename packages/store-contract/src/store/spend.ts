/** The spend: once, whatever happens at the same time. */

import assert from 'node:assert/strict'
import type { SubjectTokenStore, SubjectTokenUse } from 'oidc-provider-impersonation'
import { BY_API, chainOf, NOW, newUse, type Test, type Tokens, tokensIn } from './tokens.ts'

const RACERS = 50

export function describeSpend(test: Test): void {
  test('spends a token once, and records who used it for what', async ({ store }) => {
    const { insert, stored } = tokensIn(store)
    const token = await insert()
    const use = newUse({
      actor: { sub: 'bob', clientId: 'spa', act: { sub: 'carol' } },
      scope: 'orders:read',
      accessToken: { format: 'jwt', expiresAt: NOW + 60 },
    })
    assert.equal(await store.consume(token, NOW, use), true)
    assert.equal(await store.consume(token, NOW, newUse({ clientId: 'other' })), false)
    assert.deepEqual(await stored(token.id), { ...token, use })
  })

  test('records a use as it was given, as the constraint said or not', async ({ store }) => {
    const { insert, spent, assertListed } = tokensIn(store)
    const actor = { sub: 'bob' }
    const uses = [
      newUse({ actor }),
      newUse({ actor, clientId: 'other' }),
      newUse(),
      newUse({ accessToken: { format: 'jwt', expiresAt: NOW + 60, kept: true } }),
      newUse({ accessToken: { format: 'opaque', expiresAt: NOW + 60 }, grantId: 'a-grant' }),
    ]
    for (const bound of [{}, { clientId: 'spa' }, { actorId: 'bob' }, { clientId: 'spa', actorId: 'bob' }])
      for (const use of uses) {
        const token = await insert(bound)
        assert.equal(await store.consume(token, NOW, use), true)
        const { use: found, ...rest } = await spent(token.id)
        assert.deepEqual([found, rest], [use, token])
        for (const clientId of new Set([use.clientId, token.clientId]))
          if (clientId !== undefined) await assertListed({ id: token.id, clientId }, [token.id])
        for (const name of new Set([use.actor?.sub, token.actorId]))
          if (name !== undefined) await assertListed({ id: token.id, actorId: [name] }, [token.id])
      }
  })

  test('spends nothing that was revoked, or has expired, to the second', async ({ store }) => {
    const { issuer, insert, stored } = tokensIn(store)
    const revoked = await insert()
    await store.revoke(issuer, revoked.id, NOW, BY_API)
    for (const token of [revoked, await stored(revoked.id)])
      assert.equal(await store.consume(token, NOW, newUse()), false, 'a revoked token was spent')
    const brief = await insert({ expiresAt: NOW + 10 })
    assert.equal(await store.consume(brief, NOW + 10, newUse()), false, 'an expired token was spent')
    assert.equal(await store.consume(brief, NOW + 9, newUse()), true)
    assert.equal((await stored(revoked.id)).use, undefined)
  })

  test(`has one winner among ${RACERS} racers, whose use is the one recorded`, async ({ store }) => {
    const tokens = tokensIn(store)
    for (const _ of Array(5)) await race(store, tokens, (name) => ({ clientId: name }))
  })

  test('has one winner among racers with chains of several actors, and is found by the links of the winner only', async ({
    store,
  }) => {
    const tokens = tokensIn(store)
    for (const _ of Array(3)) {
      const { id, winner } = await race(store, tokens, (name) => ({
        clientId: name,
        actor: chainOf([`${name}-newest`, `${name}-middle`, `${name}-oldest`]),
      }))
      for (const link of ['newest', 'middle', 'oldest'])
        assert.ok(
          (await tokens.listed({ actorId: [`${winner}-${link}`] })).includes(id),
          `${link} of the winner`,
        )
      for (const index of [0, 10, 20, 30, 40, 49]) {
        const loser = `racer-${index}`
        if (loser === winner) continue
        for (const link of ['newest', 'oldest']) {
          const actorId = [`${loser}-${link}`] as const
          for (const filter of [{ actorId }, { actorId, userId: ['alice'] as const }])
            assert.ok(!(await tokens.listed(filter)).includes(id), `${link} of a loser`)
        }
      }
    }
  })

  test('finds and stops all that a further link has used, behind those that lost a race with the same chain', async ({
    store,
  }) => {
    const tokens = tokensIn(store)
    const { issuer, spend, assertListed } = tokens
    const actor = chainOf(['agent', 'lead', 'boss'])
    const ids: string[] = []
    for (const _ of Array(5)) ids.unshift((await spend({ actor })).id)
    // More losers than a kill switch looks at in one go.
    for (const _ of Array(24))
      ids.unshift((await race(store, tokens, (clientId) => ({ clientId, actor }))).id)
    await assertListed({ actorId: ['boss'] }, ids)
    const stopped: string[] = []
    for await (const batch of store.revokeWhere(issuer, { actorId: 'boss' }, NOW, BY_API))
      stopped.push(...batch.map(({ token }) => token.id))
    assert.deepEqual(stopped.toSorted(), ids.toSorted(), 'a kill switch must stop all of them')
  })

  test('spends many different tokens at the same time, each once', async ({ store }) => {
    const { insert, stored } = tokensIn(store)
    const tokens = await Promise.all(Array.from({ length: 40 }, () => insert()))
    const spends = tokens.flatMap((token, index) =>
      ['one', 'two'].map(async (twin) => ({
        index,
        won: await store.consume(token, NOW, newUse({ clientId: `${twin}-${index}` })),
      })),
    )
    const won = (await Promise.all(spends)).filter((spend) => spend.won).map(({ index }) => index)
    assert.deepEqual(won, [...tokens.keys()], 'of two spends of each token, one wins, whatever else is spent')
    for (const [index, { id }] of tokens.entries())
      assert.match(String((await stored(id)).use?.clientId), new RegExp(`^(one|two)-${index}$`))
  })
}

async function race(
  store: SubjectTokenStore,
  { insert, stored }: Tokens,
  useOf: (name: string) => Partial<SubjectTokenUse>,
): Promise<{ id: string; winner: string }> {
  const token = await insert()
  const names = Array.from({ length: RACERS }, (_, index) => `racer-${index}`)
  const won = await Promise.all(names.map((name) => store.consume(token, NOW, newUse(useOf(name)))))
  const winners = names.filter((_, index) => won[index])
  assert.equal(winners.length, 1, `${winners.length} of ${RACERS} racers won`)
  const winner = String(winners[0])
  assert.equal((await stored(token.id)).use?.clientId, winner)
  return { id: token.id, winner }
}
