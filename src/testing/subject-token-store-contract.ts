/** The contract `SubjectTokenStore`, as tests that anyone can run. */

import { describeLists } from './store/lists.ts'
import { describeSpend } from './store/spend.ts'
import { describeStatus } from './store/status.ts'
import { describeStops } from './store/stops.ts'
import { describeStorage } from './store/storage.ts'
import type { StoreSubject } from './store/tokens.ts'
import { type TestRunner, using } from './suite.ts'

/** How `subjectTokenStoreContract` declares its tests, and what it runs them against. */
export interface SubjectTokenStoreContractOptions extends TestRunner {
  /** Called before each test. The storage may hold tokens of other issuers, but none of the tests' own. */
  create(): Promise<StoreSubject>
}

/**
 * Declares tests of a store of subject tokens: every promise of `SubjectTokenStore`, races included.
 *
 * @example
 * import { describe, it } from 'node:test'
 * import { subjectTokenStoreContract } from 'oidc-provider-impersonation/testing'
 *
 * subjectTokenStoreContract({ describe, it, create: async () => ({ store: createMyStore() }) })
 */
export function subjectTokenStoreContract({ describe, it, create }: SubjectTokenStoreContractOptions): void {
  describe('a store of subject tokens', () => {
    for (const declare of [describeStorage, describeSpend, describeLists, describeStops, describeStatus])
      declare((title, body) => it(title, () => using(create, body)))
  })
}
