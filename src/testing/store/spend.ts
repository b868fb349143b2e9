/** The spend: once, whatever happens at the same time. */
import assert from 'node:assert/strict'
import { hashSecret, mintSecret } from '../../subject-tokens/secret.ts'
import type { SubjectTokenStore } from '../../subject-tokens/store.ts'
import type { NewSubjectToken, SubjectToken, SubjectTokenUse } from '../../subject-tokens/subject-token.ts'
import { BY_API, chainOf, NOW, type Test, tokensIn } from './tokens.ts'

const RACERS = 50

export function describeSpend(test: Test): void {
  test('spends a token once, and records who used it for what', async ({ store }) => {
    const { issuer, newUse, insert, stored } = tokensIn(store)
    const { id, tokenHash } = await insert()
    const use = newUse({
      actor: { sub: 'bob', clientId: 'spa', act: { sub: 'carol' } },
      scope: 'orders:read',
      accessToken: { format: 'jwt', jti: 'Zk3-_9', expiresAt: NOW + 60 },
    })
    assert.equal(await store.consume(issuer, tokenHash, NOW, use), true)
    assert.equal(await store.consume(issuer, tokenHash, NOW, newUse({ clientId: 'other' })), false)
    assert.deepEqual((await store.findByHash(issuer, tokenHash))?.use, use)
    assert.deepEqual((await stored(id)).use, use)
  })

  test('records the Grant of an opaque access token', async ({ store }) => {
    const { spend, stored } = tokensIn(store)
    const accessToken = { format: 'opaque', expiresAt: NOW + 60 } as const
    const { id } = await spend({ accessToken, grantId: 'a-grant' })
    const use = (await stored(id)).use
    assert.deepEqual([use?.accessToken, use?.grantId], [accessToken, 'a-grant'])
  })

  test('spends nothing that is unknown, revoked, or expired to the second', async ({ store }) => {
    const { issuer, newUse, insert } = tokensIn(store)
    assert.equal(await store.consume(issuer, hashSecret(mintSecret()), NOW, newUse()), false)
    const revoked = await insert()
    await store.revoke(issuer, revoked.id, NOW, BY_API)
    assert.equal(await store.consume(issuer, revoked.tokenHash, NOW, newUse()), false)
    const brief = await insert({ expiresAt: NOW + 10 })
    assert.equal(await store.consume(issuer, brief.tokenHash, NOW + 10, newUse()), false)
    assert.equal(await store.consume(issuer, brief.tokenHash, NOW + 9, newUse()), true)
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

  test('spends many different tokens at the same time, each once', async ({ store }) => {
    const { issuer, newUse, insert, stored } = tokensIn(store)
    const tokens = await Promise.all(Array.from({ length: 40 }, () => insert()))
    const spends = tokens.flatMap(({ tokenHash }, index) =>
      ['one', 'two'].map(async (twin) => ({
        index,
        won: await store.consume(issuer, tokenHash, NOW, newUse({ clientId: `${twin}-${index}` })),
      })),
    )
    const won = (await Promise.all(spends)).filter((spend) => spend.won).map(({ index }) => index)
    assert.deepEqual(won, [...tokens.keys()])
    for (const [index, { id }] of tokens.entries())
      assert.match(String((await stored(id)).use?.clientId), new RegExp(`^(one|two)-${index}$`))
  })
}

interface Tokens {
  readonly issuer: string
  insert(): Promise<NewSubjectToken>
  stored(id: string): Promise<SubjectToken>
  newUse(changes: Partial<SubjectTokenUse>): SubjectTokenUse
}

async function race(
  store: SubjectTokenStore,
  { issuer, insert, newUse, stored }: Tokens,
  useOf: (name: string) => Partial<SubjectTokenUse>,
): Promise<{ id: string; winner: string }> {
  const { id, tokenHash } = await insert()
  const names = Array.from({ length: RACERS }, (_, index) => `racer-${index}`)
  const won = await Promise.all(
    names.map((name) => store.consume(issuer, tokenHash, NOW, newUse(useOf(name)))),
  )
  const winners = names.filter((_, index) => won[index])
  assert.equal(winners.length, 1, `${winners.length} of ${RACERS} racers won`)
  const winner = String(winners[0])
  assert.equal((await stored(id)).use?.clientId, winner)
  return { id, winner }
}
