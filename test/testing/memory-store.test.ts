/** The store in memory keeps the contract of every store, and what only its own tests can know of it. */
import { expect } from 'chai'
import { earliestId } from '../../src/subject-tokens/id.ts'
import { SESSION_METHODS, type SubjectTokenFilter } from '../../src/subject-tokens/store.ts'
import type { NewSubjectToken, SubjectTokenUse } from '../../src/subject-tokens/subject-token.ts'
import { createMemoryStore, subjectTokenStoreContract } from '../../src/testing/index.ts'
import { BY_API, NOW, tokensIn } from '../../src/testing/store/tokens.ts'

describe('the store in memory', () => {
  subjectTokenStoreContract({ describe, it, create: async () => ({ store: createMemoryStore() }) })

  const open = () => {
    const store = createMemoryStore()
    const { issuer, newUse, ...tokens } = tokensIn(store)
    return {
      store,
      issuer,
      newUse,
      async insert(changes: Partial<NewSubjectToken> = {}, use?: SubjectTokenUse) {
        const token = await tokens.insert(changes)
        if (use) expect(await store.consume(token, NOW, use)).to.equal(true)
        return token
      },
      listed: async (filter: SubjectTokenFilter = {}) =>
        (await store.list(issuer, filter, { limit: 10, now: NOW })).tokens.map(({ id }) => id),
    }
  }

  it('has sessions', () => {
    expect(createMemoryStore().sessions).to.have.all.keys(...SESSION_METHODS)
  })

  it('says why it inserts nothing', async () => {
    const { insert } = open()
    const { id } = await insert()
    const failure = await insert({ id }).catch((error: unknown) => error)
    expect(failure).to.be.an('error').with.property('message', 'the id exists')
  })

  it('lists by id, in whatever order they came, and ends with a full page', async () => {
    const { store, issuer, insert, listed } = open()
    const ids = [3, 1, 2].map((second) => earliestId(NOW + second))
    for (const id of ids) await insert({ id })
    const [third, first, second] = ids
    expect(await listed()).to.deep.equal([third, second, first])
    const page = await store.list(issuer, {}, { limit: 3, now: NOW })
    expect(page).to.have.all.keys('tokens')
    expect(await store.list(issuer, {}, { limit: 2, now: NOW })).to.have.property('next', second)
  })

  it('takes the first id of a second for one of that second', async () => {
    const { store, insert, listed } = open()
    const { id } = await insert({ id: earliestId(NOW) })
    expect(await listed({ createdAfter: NOW })).to.deep.equal([id])
    expect(await listed({ createdBefore: NOW })).to.deep.equal([])
    await insert({ id: earliestId(NOW + 1) })
    expect(await store.findStatusLists(1, NOW)).to.deep.equal([0, 1])
  })

  it('lists what was bound to one client and used by another, whichever is asked for', async () => {
    const { insert, listed, newUse } = open()
    const { id } = await insert({ clientId: 'bound' }, newUse({ clientId: 'used' }))
    for (const filter of [{}, { clientId: 'bound' }, { clientId: 'used' }])
      expect(await listed(filter)).to.deep.equal([id])
  })

  it('counts those without an actor', async () => {
    const { store, issuer, insert, newUse } = open()
    for (const actor of [undefined, { sub: 'bob' }, undefined]) await insert({}, newUse(actor && { actor }))
    const counts: unknown[] = []
    for await (const part of store.summarize(issuer, 0, NOW + 86_400)) counts.push(part)
    const [counted] = counts
    expect(counted).to.include({ issued: 3, exchanged: 3, withoutActor: 2 })
  })

  it('stops those of the whole name only, and yields nothing where there is nothing to stop', async () => {
    const { store, issuer, insert, listed } = open()
    await insert({ userId: 'alice' })
    const batches: unknown[] = []
    for await (const batch of store.revokeWhere(issuer, { userId: 'alice2' }, NOW, BY_API))
      batches.push(batch)
    expect(batches).to.deep.equal([])
    expect(await listed({ state: 'revoked' })).to.deep.equal([])
  })
})
