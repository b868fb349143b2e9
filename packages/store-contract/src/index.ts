/** Suites for those who bring a store or an adapter of their own. For tests only. */
export { type AdapterContractOptions, type AdapterSubject, adapterContract } from './adapter-contract.ts'
export { createMemoryStore } from './memory-store.ts'
export type { StoreSubject } from './store/tokens.ts'
export {
  type SubjectTokenStoreContractOptions,
  subjectTokenStoreContract,
} from './subject-token-store-contract.ts'
export type { TestRunner } from './suite.ts'
