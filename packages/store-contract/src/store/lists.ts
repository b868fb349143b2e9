/** Lists: newest first, page by page, by every name. */

import assert from 'node:assert/strict'
import type { Acknowledgement, SubjectToken, SubjectTokenFilter } from 'oidc-provider-impersonation'
import { earliestId } from 'oidc-provider-impersonation/inside'
import { BY_API, chainOf, idsIn, NOW, newUse, type Test, tokensIn, total } from './tokens.ts'

export function describeLists(test: Test): void {
  test('lists the newest first, page by page', async ({ store }) => {
    const { issuer, insert } = tokensIn(store)
    const ids: string[] = []
    for (const _ of Array(7)) ids.unshift((await insert()).id)
    const first = await store.list(issuer, {}, { limit: 3, now: NOW })
    assert.deepEqual(idsIn(first.tokens), ids.slice(0, 3))
    assert.equal(first.next, ids[2], 'a cursor is the last id that was read')
    const second = await store.list(issuer, {}, { limit: 3, now: NOW, cursor: String(ids[2]) })
    assert.deepEqual(idsIn(second.tokens), ids.slice(3, 6), 'a page begins after its cursor')
    const last = await store.list(issuer, {}, { limit: 3, now: NOW, cursor: String(ids[5]) })
    assert.deepEqual([idsIn(last.tokens), last.next], [ids.slice(6), undefined])
    assert.equal((await store.list(issuer, {}, { limit: 7, now: NOW })).next, undefined)
  })

  test('goes on from a cursor that does not exist any more', async ({ store }) => {
    const { issuer, insert } = tokensIn(store)
    const { id } = await insert({ createdAt: NOW - 10 })
    await insert()
    const page = await store.list(issuer, {}, { limit: 10, now: NOW, cursor: earliestId(NOW) })
    assert.deepEqual(idsIn(page.tokens), [id])
  })

  test('finds a token by user, by client, by backend, and by every actor', async ({ store }) => {
    const { newToken, insert, assertListed } = tokensIn(store)
    await insert()
    const bound = await insert({ userId: 'u', createdBy: 'b', clientId: 'c', actorId: 'a' })
    // Its actor is the constraint, too, and is found once.
    const used = await insert({ userId: 'u', createdBy: 'b', actorId: 'oldest' })
    const actor = chainOf(['newest', 'middle', 'oldest'])
    await store.consume(used, NOW, newUse({ clientId: 'd', actor }))
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
      [{ id: used.id }, [used.id]],
      [{ id: used.id, userId: ['u'], state: 'consumed' }, [used.id]],
      [{ id: used.id, userId: ['other'] }, []],
      [{ id: newToken().id }, []],
    ]
    for (const [filter, ids] of cases) await assertListed(filter, ids)
  })

  test('finds what is live, replayed, without an actor, read-only, or of a time, and what is not', async ({
    store,
  }) => {
    const { issuer, insert, spend, assertListed } = tokensIn(store)
    const old = await insert({ createdAt: NOW - 100, readOnly: true })
    const live = await spend({ actor: { sub: 'bob' } }, { createdAt: NOW - 50, readOnly: true })
    const over = await spend({ accessToken: { format: 'jwt', expiresAt: NOW } }, { createdAt: NOW - 40 })
    const replayed = await spend({}, { createdAt: NOW - 30 })
    await store.recordReplay(replayed, { at: NOW, clientId: 'thief' })
    const stopped = await insert({ createdAt: NOW - 200, userId: 'stopped' })
    await store.revoke(issuer, stopped.id, NOW, BY_API)
    const cases: readonly [SubjectTokenFilter, readonly { readonly id: string }[]][] = [
      [{ live: true }, [live]],
      [{ live: false }, [replayed, over, old, stopped]],
      [{ replayed: true }, [replayed]],
      [{ replayed: false }, [over, live, old, stopped]],
      [{ withoutActor: true }, [replayed, over]],
      [{ withoutActor: false }, [live, old, stopped]],
      [{ readOnly: true }, [live, old]],
      [{ readOnly: false }, [replayed, over, stopped]],
      [{ readOnly: true, live: true, userId: ['alice'] }, [live]],
      [{ createdAfter: NOW - 50 }, [replayed, over, live]],
      [{ createdBefore: NOW - 50 }, [old, stopped]],
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
    for (const [filter, found] of cases) await assertListed(filter, idsIn(found))
    for (const filter of [{ live: true }, { live: true, userId: ['alice'] }] as const) {
      await assertListed(filter, [live.id], NOW + 599)
      await assertListed(filter, [], NOW + 600)
    }
  })

  test('counts what was created in a time, and what is live', async ({ store }) => {
    const { issuer, insert, spend } = tokensIn(store)
    await insert({ createdAt: NOW - 101 })
    await insert({ createdAt: NOW - 100 })
    await spend({ actor: { sub: 'bob' } }, { createdAt: NOW - 60 })
    const replayed = await spend({}, { createdAt: NOW - 51 })
    await store.recordReplay(replayed, { at: NOW, clientId: 'thief' })
    const accessToken = { format: 'jwt', expiresAt: NOW } as const
    const over = await spend({ accessToken, actor: { sub: 'bob' } }, { createdAt: NOW - 80 })
    await store.recordReplay(over, { at: NOW, clientId: 'thief' })
    for (const cause of ['self', 'continued', 'signedOut', 'api', 'console', 'host', 'command'] as const)
      await store.revoke(issuer, (await insert({ createdAt: NOW - 70 })).id, NOW, { cause })
    await spend({}, { createdAt: NOW - 50 })
    const counts = { issued: 0, exchanged: 0, withoutActor: 0, revoked: 0, ended: 0, replayed: 0 }
    for await (const slice of store.summarize(issuer, NOW - 100, NOW - 50)) {
      for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += slice[name]
    }
    const expected = { issued: 11, exchanged: 3, withoutActor: 1, revoked: 5, ended: 3, replayed: 2 }
    for (const name of Object.keys(expected) as (keyof typeof expected)[])
      assert.equal(counts[name], expected[name], `the summary counts others as ${name}`)
    assert.equal(await total(store.countLive(issuer, NOW + 599)), 2)
    assert.equal(await total(store.countLive(issuer, NOW + 600)), 0)
  })

  test('takes what nothing could end for live until it expires, stopped or not', async ({ store }) => {
    const { issuer, spend, listed, assertListed } = tokensIn(store)
    const accessToken = { format: 'jwt', expiresAt: NOW + 60, kept: true } as const
    const [kept, ended] = [await spend({ accessToken }), await spend()]
    const assertLive = async (now: number, ids: readonly string[]) => {
      const rule = 'a kept token is live until it expires, any other until it is stopped'
      assert.deepEqual(await listed({ live: true }, now), ids, rule)
      assert.equal(await total(store.countLive(issuer, now)), ids.length, rule)
    }
    await assertLive(NOW, [ended.id, kept.id])
    for (const { id } of [kept, ended]) await store.revoke(issuer, id, NOW, BY_API)
    await assertLive(NOW + 59, [kept.id])
    await assertListed({ live: false }, [ended.id])
    await assertLive(NOW + 60, [])
    await assertListed({ state: 'revoked' }, [ended.id, kept.id])
  })

  test('finds a token by the ticket in its context, and by no part of it', async ({ store }) => {
    const { insert, spend, assertListed } = tokensIn(store)
    const longest = '👩'.repeat(255)
    const named = async (ticketId: unknown) =>
      (await insert({ context: { ticketId } as SubjectToken['context'] })).id
    const [first, longer, spaced] = [await named('T-1'), await named('T-12'), await named(' T-1')]
    const { id: again } = await spend({}, { context: { ticketId: 'T-1', reason: 'T-2' } })
    const [long, number] = [await named(longest), await named('7')]
    for (const other of [7, ['T-1'], { ticketId: 'T-1' }, null, '', `${longest}👩`]) await named(other)
    const cases: readonly [string, readonly string[]][] = [
      ['T-1', [again, first]],
      ['T-12', [longer]],
      [' T-1', [spaced]],
      [longest, [long]],
      ['7', [number]],
    ]
    for (const [ticketId, ids] of cases) await assertListed({ ticketId }, ids)
    for (const ticketId of ['T', 't-1', 'T-1 ', 'T-2', '%', 'T-_', '["T-1"]'])
      await assertListed({ ticketId }, [])
    await assertListed({ ticketId: 'T-1', state: 'active' }, [first])
  })

  test('finds what has something to look into that no one has, and shows who did', async ({ store }) => {
    const { insert, spend, stored, acknowledgementsOf, assertListed } = tokensIn(store)
    const actor = { sub: 'bob' }
    await insert()
    const calm = await spend({ actor })
    const [without, replayed, both] = [await spend(), await spend({ actor }), await spend()]
    const assertUnacknowledged = (...ids: string[]) => assertListed({ unacknowledged: true }, ids)
    const note = (number: number, coversReplay: boolean): Acknowledgement => ({
      at: NOW + number,
      by: 'carol',
      note: `looked into it: ${number} 👩`,
      coversReplay,
    })
    await store.recordReplay(replayed, { at: NOW, clientId: 'thief' })
    await assertUnacknowledged(both.id, replayed.id, without.id)
    for (const token of [without, both]) await store.acknowledge(await stored(token.id), note(1, false))
    await assertUnacknowledged(replayed.id)
    await store.acknowledge(await stored(both.id), note(2, false))
    assert.deepEqual(await acknowledgementsOf(both.id), [note(1, false)])
    // The rest follows the text of a filter that did not match it.
    await store.recordReplay(both, { at: NOW + 3, clientId: 'thief' })
    await assertUnacknowledged(both.id, replayed.id)
    for (const token of [both, replayed]) await store.acknowledge(await stored(token.id), note(4, true))
    await assertUnacknowledged()
    for (const covers of [true, false]) await store.acknowledge(await stored(both.id), note(5, covers))
    assert.deepEqual(await acknowledgementsOf(both.id), [note(1, false), note(4, true)])
    assert.deepEqual(await acknowledgementsOf(replayed.id), [note(4, true)])
    assert.deepEqual(await acknowledgementsOf(without.id), [note(1, false)])
    assert.equal(await acknowledgementsOf(calm.id), undefined)
  })

  test('tells the states apart, at the time of the call', async ({ store }) => {
    const { issuer, insert, spend, assertListed } = tokensIn(store)
    const revoked = await spend()
    await store.revoke(issuer, revoked.id, NOW, BY_API)
    const consumed = await spend({}, { expiresAt: NOW + 5 })
    const active = await insert({ expiresAt: NOW + 5 })
    const unspent = await insert({ expiresAt: NOW + 5 })
    await store.revoke(issuer, unspent.id, NOW, BY_API)
    for (const now of [NOW, NOW + 5]) await assertListed({ state: 'revoked' }, [unspent.id, revoked.id], now)
    await assertListed({ state: 'revoked', userId: ['alice'] }, [unspent.id, revoked.id])
    await assertListed({ state: 'consumed' }, [consumed.id], NOW + 5)
    await assertListed({ state: 'active' }, [active.id], NOW + 4)
    await assertListed({ state: 'active' }, [], NOW + 5)
    await assertListed({ state: 'expired' }, [active.id], NOW + 5)
  })
}
