/** The reads that status lists are made of. */
import assert from 'node:assert/strict'
import { BY_API, NOW, type Test, tokensIn } from './tokens.ts'

export function describeStatus(test: Test): void {
  test('gives every token a status index of its own, whatever its issuer, and finds it by that', async ({
    store,
  }) => {
    const { issuer, insert, spend } = tokensIn(store)
    const foreign = await tokensIn(store).insert()
    const tokens = await Promise.all(Array.from({ length: 40 }, (_, at) => (at % 2 ? insert() : spend())))
    const indexes = new Set(tokens.map(({ statusIndex }) => statusIndex))
    assert.equal(indexes.size, tokens.length, 'two tokens have one status index')
    for (const { id, statusIndex } of tokens) {
      assert.equal((await store.findByStatusIndex(issuer, statusIndex))?.id, id)
      assert.notEqual(statusIndex, foreign.statusIndex)
    }
  })

  test('gives later tokens a higher status index', async ({ store }) => {
    const { insert } = tokensIn(store)
    let last = -1
    for (const _ of Array(5)) {
      const { statusIndex } = await insert()
      assert.ok(statusIndex > last, 'each must be higher than the one before')
      last = statusIndex
    }
  })

  test('finds what was spent and then stopped, since a time', async ({ store }) => {
    const { issuer, insert, spend } = tokensIn(store)
    const [early, replayed, unspent] = [await spend(), await spend(), await insert()]
    const late = await spend({}, { userId: 'late' })
    await spend()
    await store.revoke(issuer, early.id, NOW, BY_API)
    for await (const batch of store.revokeWhere(issuer, { userId: 'late' }, NOW + 5, BY_API))
      assert.ok(batch.length <= 1)
    await store.recordReplay(replayed, { at: NOW + 5, clientId: 'thief' })
    await store.revoke(issuer, unspent.id, NOW + 5, BY_API)
    const over = await spend({ accessToken: { format: 'jwt', expiresAt: NOW + 5 } })
    assert.equal(await store.recordReplay(over, { at: NOW + 5, clientId: 'thief' }), false)
    const stopped = async (since: number) =>
      (await store.findStopped(issuer, since)).toSorted((one, other) => one.statusIndex - other.statusIndex)
    const shown = [early, replayed, late].map(({ statusIndex }) => ({ statusIndex, expiresAt: NOW + 600 }))
    const rule = 'what was spent, and stopped at that time or later, is shown, and nothing else'
    assert.deepEqual(await stopped(NOW), shown, rule)
    assert.deepEqual(await stopped(NOW + 1), shown.slice(1), rule)
    assert.deepEqual(await stopped(NOW + 6), [], rule)
    assert.deepEqual(await store.findStopped(tokensIn(store).issuer, 0), [])
  })

  test('tells which lists have tokens, of every issuer, and that of the highest index', async ({ store }) => {
    const size = 4
    const [{ insert }, other] = [tokensIn(store), tokensIn(store)]
    const old = await insert({ createdAt: NOW - 1000 })
    // The tokens that follow are on other lists.
    for (const _ of Array(size)) await insert({ createdAt: NOW - 1000 })
    const lists = new Set<number>()
    let last = -1
    for (const _ of Array(10)) {
      last = Math.floor((await insert()).statusIndex / size)
      lists.add(last)
    }
    // Two whole lists, and the highest index, are of the other issuer.
    for (const _ of Array(3 * size)) {
      last = Math.floor((await other.insert()).statusIndex / size)
      lists.add(last)
    }
    const recent = await store.findStatusLists(size, NOW - 100)
    for (const list of lists) assert.ok(recent.includes(list), `list ${list} is missing`)
    assert.deepEqual(
      recent,
      [...new Set(recent)].toSorted((one, other) => one - other),
    )
    const oldest = Math.floor(old.statusIndex / size)
    assert.ok((await store.findStatusLists(size, NOW - 2000)).includes(oldest))
    const future = await store.findStatusLists(size, NOW + 1000)
    assert.ok(future.length === 1 && Number(future[0]) >= last, 'that of the highest index')
  })
}
