/** The store in memory keeps the contract of every store. */
import { createMemoryStore, subjectTokenStoreContract } from '../../src/testing/index.ts'

describe('the store in memory', () => {
  subjectTokenStoreContract({ describe, it, create: async () => ({ store: createMemoryStore() }) })
})
