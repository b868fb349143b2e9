/** The contract `SubjectTokenStore`, as tests that anyone can run. */

import { describeBroken, describeBrokenSessions } from './store/broken.ts'
import { describeLists } from './store/lists.ts'
import { describeRecordMeetings } from './store/records-meet.ts'
import { describeSessions } from './store/sessions.ts'
import { describeSessionMeetings } from './store/sessions-meet.ts'
import { describeSpend } from './store/spend.ts'
import { describeSpendMeetings } from './store/spend-meets.ts'
import { describeStatus } from './store/status.ts'
import { describeStops } from './store/stops.ts'
import { describeStopMeetings } from './store/stops-meet.ts'
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
 * them: the tests of sessions pass for a store without. What happens to one token at the same
 * moment (a spend and a stop, a stop and a replay, two reports, …) is judged by the order that the calls were answered in:
 * each two calls meet many times, each of them first and both in the same turn, and what they answered must agree with one
 * of the orders that the contract allows, and with what is found afterwards. A failure says which rule is broken.
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
    declare([describeSpendMeetings, describeStopMeetings, describeRecordMeetings], create)
    declare([describeSessions, describeSessionMeetings], create)
    if (createBroken) declare([describeBroken, describeBrokenSessions], createBroken)
  })
}

type Describe = (test: Test) => void
