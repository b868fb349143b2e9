/** What is stored is returned as it was, and to its issuer only. */
import assert from 'node:assert/strict'
import { BY_API, chainOf, NOW, type Test, tokensIn } from './tokens.ts'

export function describeStorage(test: Test): void {
  test('returns a token as it was stored, by its hash and by its id', async ({ store }) => {
    const { issuer, insert } = tokensIn(store)
    const { tokenHash, ...token } = await insert({
      userId: 'ålice 👩‍💻 ',
      context: JSON.parse(
        '{"__proto__": {"a": [1, null, "ü\\u2028"]}, "n": 1.5, "t": true, "decomposed": "e\\u0301"}',
      ),
      clientId: 'spa',
      actorId: 'bob',
      resource: 'https://api.example.com/ü',
      scope: 'orders:read orders:write',
    })
    for (const found of [await store.findByHash(issuer, tokenHash), await store.get(issuer, token.id)]) {
      const { statusIndex, ...rest } = found ?? assert.fail('not found')
      assert.deepEqual(rest, token)
      assert.equal(JSON.stringify(rest.context), JSON.stringify(token.context))
      assert.ok(
        Number.isSafeInteger(statusIndex) && statusIndex >= 0,
        'a status index is a whole number from 0 on',
      )
    }
  })

  test('leaves out what a token does not have', async ({ store }) => {
    const { issuer, insert } = tokensIn(store)
    const { tokenHash, ...token } = await insert()
    const { statusIndex, ...found } = (await store.findByHash(issuer, tokenHash)) ?? assert.fail('not found')
    assert.deepEqual(found, token)
    assert.notEqual(statusIndex, undefined)
  })

  test('keeps names of 255 characters of four bytes', async ({ store }) => {
    const { issuer, insert, spend, listed } = tokensIn(store)
    const name = '👩'.repeat(255)
    const bound = { userId: name, actorId: name, clientId: name, createdBy: name }
    const { id, tokenHash } = await insert(bound)
    const acted = await spend({ actor: chainOf(['bob', name]) })
    assert.deepEqual(await listed({ actorId: [name] }), [acted.id, id])
    const found = await store.findByHash(issuer, tokenHash)
    assert.deepEqual(
      [found?.userId, found?.actorId, found?.clientId, found?.createdBy],
      [name, name, name, name],
    )
  })

  test('returns undefined for what does not exist', async ({ store }) => {
    const { issuer, newToken } = tokensIn(store)
    const { id, tokenHash } = newToken()
    assert.equal(await store.findByHash(issuer, tokenHash), undefined)
    assert.equal(await store.get(issuer, id), undefined)
    assert.equal(await store.findByStatusIndex(issuer, Number.MAX_SAFE_INTEGER), undefined)
  })

  test('keeps issuers apart', async ({ store }) => {
    const { newUse, insert, stored } = tokensIn(store)
    const { issuer: other, listed } = tokensIn(store)
    const { id, tokenHash } = await insert()
    const { statusIndex } = await stored(id)
    assert.equal(await store.findByHash(other, tokenHash), undefined)
    assert.equal(await store.get(other, id), undefined)
    assert.equal(await store.findByStatusIndex(other, statusIndex), undefined)
    assert.equal(await store.consume(other, tokenHash, newUse().at, newUse()), false)
    assert.deepEqual(await listed({}), [])
    assert.equal((await stored(id)).use, undefined)
  })

  test('stops and counts nothing of another issuer', async ({ store }) => {
    const { issuer, spend } = tokensIn(store)
    const { issuer: other, listed } = tokensIn(store)
    const { id } = await spend({ actor: chainOf(['bob', 'carol']) })
    assert.equal(await store.revoke(other, id, NOW, BY_API), undefined)
    assert.deepEqual(await listed({ actorId: ['carol'] }), [])
    for (const filter of [{ userId: 'alice' }, { createdBy: 'backend' }, { actorId: 'carol' }])
      for await (const batch of store.revokeWhere(other, filter, NOW, BY_API)) assert.deepEqual(batch, [])
    assert.equal(await store.recordReplay(other, id, { at: NOW, clientId: 'thief' }), false)
    for await (const { issued } of store.summarize(other, NOW - 10, NOW + 10)) assert.equal(issued, 0)
    for await (const live of store.countLive(other, NOW)) assert.equal(live, 0)
    const { revokedAt, replay } = (await store.get(issuer, id)) ?? assert.fail('not found')
    assert.deepEqual([revokedAt, replay], [undefined, undefined])
  })

  test('rejects a second token with the same hash or id, and quotes neither', async ({ store }) => {
    const { insert } = tokensIn(store)
    const first = await insert()
    for (const changes of [{ tokenHash: first.tokenHash }, { id: first.id }]) {
      const error: unknown = await insert(changes).then(
        () => assert.fail('it was stored'),
        (thrown: unknown) => thrown,
      )
      assert.ok(error instanceof Error)
      const text = JSON.stringify(error, Object.getOwnPropertyNames(error))
      assert.ok(!text.includes(first.tokenHash), 'an error must not contain a hash')
    }
  })

  test('does not change what it stored when the caller does', async ({ store }) => {
    const { newToken, stored } = tokensIn(store)
    const context = { ticketId: '1' }
    const token = newToken({ context })
    await store.insert(token)
    Reflect.deleteProperty(context, 'ticketId')
    const found = await stored(token.id)
    assert.deepEqual(found.context, { ticketId: '1' })
    Reflect.deleteProperty(found.context, 'ticketId')
    assert.deepEqual((await stored(token.id)).context, { ticketId: '1' })
  })

  test('compares names byte by byte', async ({ store }) => {
    const { insert, spend, listed } = tokensIn(store)
    const filtersBy = (name: string) =>
      [{ userId: [name] }, { clientId: name }, { createdBy: name }, { actorId: [name] }] as const
    const name = 'Zoë '
    const bound = await insert({ userId: name, clientId: name, createdBy: name, actorId: name })
    const acted = await spend({ actor: chainOf(['bob', name]) })
    for (const filter of filtersBy(name))
      assert.deepEqual(await listed(filter), 'actorId' in filter ? [acted.id, bound.id] : [bound.id])
    for (const filter of ['zoë ', 'Zoë', 'Zoe ', ' Zoë '].flatMap(filtersBy))
      assert.deepEqual(await listed(filter), [], JSON.stringify(filter))
  })

  test('is ready', async ({ store }) => {
    const { issuer, newToken } = tokensIn(store)
    await store.ready?.()
    assert.equal(await store.findByHash(issuer, newToken().tokenHash), undefined)
  })
}
