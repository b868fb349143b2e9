/** Lists: newest first, page by page, by every name. */
import assert from 'node:assert/strict'
import { earliestId } from '../../subject-tokens/id.ts'
import type { SubjectTokenFilter } from '../../subject-tokens/store.ts'
import { BY_API, chainOf, NOW, type Test, tokensIn } from './tokens.ts'

export function describeLists(test: Test): void {
  test('lists the newest first, page by page', async ({ store }) => {
    const { issuer, insert } = tokensIn(store)
    const ids: string[] = []
    for (const _ of Array(7)) ids.unshift((await insert()).id)
    const first = await store.list(issuer, {}, { limit: 3, now: NOW })
    assert.deepEqual(
      first.tokens.map(({ id }) => id),
      ids.slice(0, 3),
    )
    assert.equal(first.next, ids[2])
    const second = await store.list(issuer, {}, { limit: 3, now: NOW, cursor: String(ids[2]) })
    assert.deepEqual(
      second.tokens.map(({ id }) => id),
      ids.slice(3, 6),
    )
    const last = await store.list(issuer, {}, { limit: 3, now: NOW, cursor: String(ids[5]) })
    assert.deepEqual([last.tokens.map(({ id }) => id), last.next], [ids.slice(6), undefined])
    assert.equal((await store.list(issuer, {}, { limit: 7, now: NOW })).next, undefined)
  })

  test('goes on from a cursor that does not exist any more', async ({ store }) => {
    const { issuer, insert } = tokensIn(store)
    const { id } = await insert({ createdAt: NOW - 10 })
    await insert()
    const page = await store.list(issuer, {}, { limit: 10, now: NOW, cursor: earliestId(NOW) })
    assert.deepEqual(
      page.tokens.map((token) => token.id),
      [id],
    )
  })

  test('finds a token by user, by client, by backend, and by every actor', async ({ store }) => {
    const { issuer, newUse, insert, listed } = tokensIn(store)
    await insert()
    const bound = await insert({ userId: 'u', createdBy: 'b', clientId: 'c', actorId: 'a' })
    // Its actor is the constraint, too, and is found once.
    const used = await insert({ userId: 'u', createdBy: 'b', actorId: 'oldest' })
    const actor = chainOf(['newest', 'middle', 'oldest'])
    await store.consume(issuer, used.tokenHash, NOW, newUse({ clientId: 'd', actor }))
    const cases: readonly [SubjectTokenFilter, readonly string[]][] = [
      [{ userId: ['u'] }, [used.id, bound.id]],
      [{ userId: ['none', 'u'] }, [used.id, bound.id]],
      [{ createdBy: 'b' }, [used.id, bound.id]],
      [{ clientId: 'c' }, [bound.id]],
      [{ clientId: 'd' }, [used.id]],
      [{ actorId: ['a'] }, [bound.id]],
      [{ actorId: ['newest'] }, [used.id]],
      [{ actorId: ['middle'] }, [used.id]],
      [{ actorId: ['oldest', 'a'] }, [used.id, bound.id]],
      [{ userId: ['u'], clientId: 'd' }, [used.id]],
      [{ userId: ['other'], clientId: 'd' }, []],
      [{ userId: ['u'], state: 'active' }, [bound.id]],
      [{ userId: ['u'], createdBy: 'b' }, [used.id, bound.id]],
      [{ actorId: ['newest'], createdBy: 'backend' }, []],
      [{ actorId: ['a', 'oldest'], userId: ['u'] }, [used.id, bound.id]],
      [{ actorId: ['oldest'], userId: ['other'] }, []],
      [{ actorId: ['oldest', 'a'], userId: ['u'], clientId: 'd', state: 'consumed' }, [used.id]],
      [{ actorId: ['spa'] }, []],
    ]
    for (const [filter, ids] of cases) assert.deepEqual(await listed(filter), ids, JSON.stringify(filter))
  })

  test('finds what is live, replayed, without an actor, or of a time, and what is not', async ({ store }) => {
    const { issuer, insert, spend, listed } = tokensIn(store)
    const old = await insert({ createdAt: NOW - 100 })
    const live = await spend({ actor: { sub: 'bob' } }, { createdAt: NOW - 50 })
    const over = await spend({ accessToken: { format: 'jwt', expiresAt: NOW } }, { createdAt: NOW - 40 })
    const replayed = await spend({}, { createdAt: NOW - 30 })
    await store.recordReplay(issuer, replayed.id, { at: NOW, clientId: 'thief' })
    const cases: readonly [SubjectTokenFilter, readonly { readonly id: string }[]][] = [
      [{ live: true }, [live]],
      [{ live: false }, [replayed, over, old]],
      [{ replayed: true }, [replayed]],
      [{ replayed: false }, [over, live, old]],
      [{ withoutActor: true }, [replayed, over]],
      [{ withoutActor: false }, [live, old]],
      [{ createdAfter: NOW - 50 }, [replayed, over, live]],
      [{ createdBefore: NOW - 50 }, [old]],
      [{ createdAfter: NOW - 50, createdBefore: NOW - 30 }, [over, live]],
      [{ createdAfter: NOW - 45, withoutActor: true, userId: ['alice'] }, [replayed, over]],
      [{ live: true, createdBefore: NOW - 60 }, []],
      [{ live: true, createdAfter: NOW - 50 }, [live]],
      [{ live: true, replayed: false, userId: ['alice'] }, [live]],
      [{ live: true, userId: ['bob'] }, []],
      [{ live: true, withoutActor: true, clientId: 'spa' }, []],
      [{ replayed: true, withoutActor: true }, [replayed]],
      [{ replayed: true, createdBefore: NOW - 30 }, []],
      [{ withoutActor: true, createdAfter: NOW - 45, createdBefore: NOW - 30 }, [over]],
      [{ state: 'consumed', createdAfter: NOW - 50, createdBefore: NOW - 40 }, [live]],
    ]
    for (const [filter, found] of cases)
      assert.deepEqual(
        await listed(filter),
        found.map(({ id }) => id),
        JSON.stringify(filter),
      )
    for (const filter of [{ live: true }, { live: true, userId: ['alice'] }] as const) {
      assert.deepEqual(await listed(filter, NOW + 599), [live.id])
      assert.deepEqual(await listed(filter, NOW + 600), [])
    }
  })

  test('counts what was created in a time, and what is live', async ({ store }) => {
    const { issuer, insert, spend } = tokensIn(store)
    await insert({ createdAt: NOW - 101 })
    await insert({ createdAt: NOW - 100 })
    await spend({ actor: { sub: 'bob' } }, { createdAt: NOW - 60 })
    const { id } = await spend({}, { createdAt: NOW - 51 })
    await store.recordReplay(issuer, id, { at: NOW, clientId: 'thief' })
    await spend({}, { createdAt: NOW - 50 })
    const total = { issued: 0, exchanged: 0, withoutActor: 0, revoked: 0, replayed: 0 }
    for await (const slice of store.summarize(issuer, NOW - 100, NOW - 50)) {
      for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += slice[name]
    }
    assert.deepEqual(total, { issued: 3, exchanged: 2, withoutActor: 1, revoked: 1, replayed: 1 })
    const countLive = async (now: number) => {
      let live = 0
      for await (const slice of store.countLive(issuer, now)) live += slice
      return live
    }
    assert.deepEqual([await countLive(NOW + 599), await countLive(NOW + 600)], [2, 0])
  })

  test('tells the states apart, at the time of the call', async ({ store }) => {
    const { issuer, insert, spend, listed } = tokensIn(store)
    const revoked = await spend()
    await store.revoke(issuer, revoked.id, NOW, BY_API)
    const consumed = await spend({}, { expiresAt: NOW + 5 })
    const active = await insert({ expiresAt: NOW + 5 })
    assert.deepEqual(await listed({ state: 'revoked' }), [revoked.id])
    assert.deepEqual(await listed({ state: 'consumed' }, NOW + 5), [consumed.id])
    assert.deepEqual(await listed({ state: 'active' }, NOW + 4), [active.id])
    assert.deepEqual(await listed({ state: 'active' }, NOW + 5), [])
    assert.deepEqual(await listed({ state: 'expired' }, NOW + 5), [active.id])
  })
}
