/** A stored token is returned as it was, and to its issuer only. */
import assert from 'node:assert/strict'
import { assertRejects, BY_API, chainOf, NOW, newUse, type Test, tokensIn, total } from './tokens.ts'

export function describeStorage(test: Test): void {
  test('returns a token as it was stored, with its hash, and without what it does not have', async ({
    store,
  }) => {
    const { issuer, newToken } = tokensIn(store)
    const one = 'https://api.example.com'
    const full = {
      purpose: 'session',
      userId: 'ålice 👩‍💻 ',
      context: JSON.parse(
        '{"__proto__": {"a": [1, null, "ü\\u2028"]}, "n": 1.5, "t": true, "decomposed": "e\\u0301"}',
      ),
      clientId: 'spa',
      actorId: 'bob',
      resource: 'https://api.example.com/ü',
      scope: 'orders:read orders:write',
      readOnly: true,
    } as const
    const resources = [one, [one], [one, 'urn:example:orders'], ['["a"]:b', one]]
    for (const members of [full, {}, ...resources.map((resource) => ({ resource }))]) {
      const token = newToken(members)
      await store.insert(token)
      const { statusIndex, ...found } = (await store.find(issuer, token.id)) ?? assert.fail('not found')
      assert.deepEqual(found, token)
      assert.equal(JSON.stringify(found.context), JSON.stringify(token.context))
      assert.ok(
        Number.isSafeInteger(statusIndex) && statusIndex >= 0,
        'a status index is a whole number from 0 on',
      )
    }
  })

  test('returns that a token is read-only by whatever it is found, once it was spent and stopped, too', async ({
    store,
  }) => {
    const { issuer, insert, stored } = tokensIn(store)
    const { id, statusIndex } = await insert({ readOnly: true })
    const assertReadOnly = async () => {
      const { tokens } = await store.list(issuer, { id }, { limit: 1, now: NOW })
      const found = [await stored(id), await store.findByStatusIndex(issuer, statusIndex), ...tokens]
      const told = found.map((token) => token?.readOnly)
      assert.deepEqual(told, [true, true, true], 'a read-only token was returned as one that may write')
    }
    await assertReadOnly()
    assert.equal(await store.consume(await stored(id), NOW, newUse()), true)
    await assertReadOnly()
    await store.revoke(issuer, id, NOW, BY_API)
    await assertReadOnly()
  })

  test('keeps names of 255 characters of four bytes', async ({ store }) => {
    const { insert, spend, stored, assertListed } = tokensIn(store)
    const name = '👩'.repeat(255)
    const bound = { userId: name, actorId: name, clientId: name, createdBy: name }
    const { id } = await insert(bound)
    const acted = await spend({ actor: chainOf(['bob', name]) })
    await assertListed({ actorId: [name] }, [acted.id, id])
    const found = await stored(id)
    assert.deepEqual([found.userId, found.actorId, found.clientId, found.createdBy], [name, name, name, name])
  })

  test('returns undefined for what does not exist', async ({ store }) => {
    const { issuer, newToken } = tokensIn(store)
    assert.equal(await store.find(issuer, newToken().id), undefined)
    assert.equal(await store.findByStatusIndex(issuer, Number.MAX_SAFE_INTEGER), undefined)
    assert.equal(await store.revoke(issuer, newToken().id, NOW, BY_API), undefined)
  })

  test('finds nothing of another issuer', async ({ store }) => {
    const { issuer, insert } = tokensIn(store)
    const { issuer: other, assertListed } = tokensIn(store)
    const { id, statusIndex } = await insert()
    assert.equal(await store.find(other, id), undefined)
    assert.equal(await store.findByStatusIndex(other, statusIndex), undefined)
    for (const filter of [{}, { id }, { userId: ['alice'] as const }]) await assertListed(filter, [])
    assert.equal((await store.find(issuer, id))?.id, id)
  })

  test('stops and counts nothing of another issuer', async ({ store }) => {
    const { issuer, spend, stored } = tokensIn(store)
    const { issuer: other, assertListed } = tokensIn(store)
    const { id } = await spend({ actor: chainOf(['bob', 'carol']) })
    assert.equal(await store.revoke(other, id, NOW, BY_API), undefined)
    await assertListed({ actorId: ['carol'] }, [])
    for (const filter of [{ userId: 'alice' }, { createdBy: 'backend' }, { actorId: 'carol' }])
      for await (const batch of store.revokeWhere(other, filter, NOW, BY_API)) assert.deepEqual(batch, [])
    for await (const { issued } of store.summarize(other, NOW - 10, NOW + 10)) assert.equal(issued, 0)
    assert.equal(await total(store.countLive(other, NOW)), 0)
    const { revokedAt } = await stored(id)
    assert.equal(revokedAt, undefined)
    await store.revoke(issuer, id, NOW, BY_API)
    assert.deepEqual(await store.report(other, [id]), [], 'a stop of another issuer was reported')
    assert.deepEqual(await store.findStopped(other, 0), [])
    assert.deepEqual(await store.report(issuer, [id]), [id], 'another issuer took the report')
  })

  test('rejects a second token with the same id, leaves the first, and quotes no hash', async ({ store }) => {
    const { insert, newToken, stored } = tokensIn(store)
    const first = await insert()
    const second = newToken({ id: first.id, userId: 'mallory' })
    await assertRejects(store.insert(second), [first.tokenHash, second.tokenHash])
    assert.deepEqual(await stored(first.id), first)
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
    const { insert, spend, assertListed } = tokensIn(store)
    const filtersBy = (name: string) =>
      [{ userId: [name] }, { clientId: name }, { createdBy: name }, { actorId: [name] }] as const
    const name = 'Zoë '
    const bound = await insert({ userId: name, clientId: name, createdBy: name, actorId: name })
    const acted = await spend({ actor: chainOf(['bob', name]) })
    for (const filter of filtersBy(name))
      await assertListed(filter, 'actorId' in filter ? [acted.id, bound.id] : [bound.id])
    for (const filter of ['zoë ', 'Zoë', 'Zoe ', ' Zoë '].flatMap(filtersBy)) await assertListed(filter, [])
  })

  test('is ready', async ({ store }) => {
    const { issuer, newToken } = tokensIn(store)
    await store.ready?.()
    assert.equal(await store.find(issuer, newToken().id), undefined)
  })
}
