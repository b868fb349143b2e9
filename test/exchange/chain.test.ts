/** Who may stand in a chain of actors (protocol.md §3.3; RFC 8693 §4.1), without a server. */
import { expect } from 'chai'
import { assertChain } from '../../src/exchange/actor.ts'
import { actorTokenRefused, checkOf, reasonOf } from '../../src/refusals.ts'
import type { ActClaim } from '../../src/subject-tokens/subject-token.ts'

/** Newest first, as they nest. */
function chainOf([sub = '', ...older]: readonly string[]): ActClaim {
  return older.length === 0 ? { sub } : { sub, act: chainOf(older) }
}

/** What refuses alice's chain: the check and the private reason; `undefined` if it may act. */
function refused(chain: readonly string[], maxDelegationDepth: number): [unknown, string] | undefined {
  try {
    assertChain(chainOf(chain), { userId: 'alice', maxDelegationDepth, refused: actorTokenRefused })
    return undefined
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return [checkOf(error), reasonOf(error)]
  }
}

const TOO_LONG = (depth: number) => ['maxDelegationDepth', `more than ${depth} in the chain`]
const SUBJECT = ['actorIsNotSubject', 'the actor is the subject']
const TWICE = ['actor_token', 'an actor twice in the chain']

describe('a chain of actors that acts as alice', () => {
  const cases: [chain: string, maxDelegationDepth: number, refused: unknown[] | undefined][] = [
    ['bob', 1, undefined],
    ['bob carol', 1, TOO_LONG(1)],
    ['bob carol', 2, undefined],
    ['bob carol dave', 2, TOO_LONG(2)],
    ['bob carol dave', 10, undefined],
    ['alice', 1, SUBJECT],
    ['bob alice', 2, SUBJECT],
    ['bob carol alice', 3, SUBJECT],
    ['bob bob', 2, TWICE],
    ['bob carol bob', 3, TWICE],
    ['bob carol carol', 3, TWICE],
    ['Alice', 1, undefined],
    ['bob Bob', 2, undefined],
  ]
  for (const [chain, depth, expected] of cases) {
    it(`${chain}, ${depth} allowed: ${expected?.[0] ?? 'may act'}`, () =>
      expect(refused(chain.split(' '), depth)).to.deep.equal(expected))
  }
})
