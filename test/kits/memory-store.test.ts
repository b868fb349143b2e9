/** The store in memory keeps the contract of every store, and what only its own tests can know of it. */
import { expect } from 'chai'
import { createMemoryStore, subjectTokenStoreContract } from '../../packages/store-contract/src/index.ts'
import { NOW, tokensIn } from '../../packages/store-contract/src/store/tokens.ts'
import { earliestId } from '../../src/tokens/id.ts'
import { SESSION_METHODS } from '../../src/tokens/store.ts'

describe('the store in memory', () => {
  subjectTokenStoreContract({ describe, it, create: async () => ({ store: createMemoryStore() }) })

  it('has sessions', () => {
    expect(createMemoryStore().sessions).to.have.all.keys(...SESSION_METHODS)
  })

  it('says why it inserts nothing', async () => {
    const { insert } = tokensIn(createMemoryStore())
    const { id } = await insert()
    const failure = await insert({ id }).catch((error: unknown) => error)
    expect(failure).to.be.an('error').with.property('message', 'the id exists')
  })

  it('lists by id, in whatever order they came, the first of a second among those of that second', async () => {
    const store = createMemoryStore()
    const { insert, assertListed } = tokensIn(store)
    const [third, first, second] = [3, 1, 2].map((later) => earliestId(NOW + later)) as [
      string,
      string,
      string,
    ]
    for (const id of [third, first, second]) await insert({ id })
    await assertListed({}, [third, second, first])
    await assertListed({ createdAfter: NOW + 2 }, [third, second])
    await assertListed({ createdBefore: NOW + 2 }, [first])
    expect(await store.findStatusLists(1, NOW + 3)).to.deep.equal([0, 1, 2])
  })
})
