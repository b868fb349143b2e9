/** The contract `SubjectTokenStore`, as tests that anyone can run. */

import { describeBroken } from './store/broken.ts'
import { describeLists } from './store/lists.ts'
import { describeMeetings } from './store/meetings.ts'
import { describeSessions } from './store/sessions.ts'
import { describeSight } from './store/sight.ts'
import { describeSpend } from './store/spend.ts'
import { describeStatus } from './store/status.ts'
import { describeStops } from './store/stops.ts'
import { describeStorage } from './store/storage.ts'
import type { StoreSubject, Test } from './store/tokens.ts'
import { type TestRunner, using } from './suite.ts'

/** How `subjectTokenStoreContract` declares its tests, and what it runs them against. */
export interface SubjectTokenStoreContractOptions extends TestRunner {
  /** Called before each test. The storage may hold tokens of other issuers, but none of the tests' own. */
  create(): Promise<StoreSubject>
  /**
   * Creates a store whose storage does not respond: its connections are closed, say. Without it, nothing tests that the
   * store rejects when storage fails.
   */
  createBroken?(): Promise<StoreSubject>
}

/**
 * Declares tests of a store of subject tokens: every promise of `SubjectTokenStore`, and of its `sessions` where it has
 * them: the tests of sessions pass for a store without. What happens to one token at the same moment (a spend and a stop, a
 * stop and a replay, two reports, …) is judged by the order that the calls had: each two calls meet many times, each of them
 * first and both in the same turn. What they answer, and what is found afterwards, must be what a store in memory answers
 * and shows when it makes the same calls one after the other. A failure shows both.
 *
 * The tests share nothing but the storage: each has an issuer of its own. Run them against several pools or processes of
 * one database, in turn, as `create` returns them.
 *
 * @example
 * import { describe, it } from 'node:test'
 * import { subjectTokenStoreContract } from 'oidc-provider-impersonation-store-contract'
 *
 * subjectTokenStoreContract({
 *   describe,
 *   it,
 *   create: async () => ({ store: createMyStore() }),
 *   createBroken: async () => ({ store: createMyStore({ host: 'nowhere.invalid' }) }),
 * })
 */
export function subjectTokenStoreContract(options: SubjectTokenStoreContractOptions): void {
  const { describe, it, create, createBroken } = options
  const declare = (described: readonly Describe[], createSubject: () => Promise<StoreSubject>) => {
    for (const tests of described) tests((title, body) => it(title, () => using(createSubject, body)))
  }
  describe('a store of subject tokens', () => {
    declare([describeStorage, describeSpend, describeLists, describeStops, describeStatus], create)
    declare([describeMeetings, describeSight, describeSessions], create)
    if (createBroken) declare([describeBroken], createBroken)
  })
}

type Describe = (test: Test) => void
