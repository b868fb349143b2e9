import { findAccount, type GrantContext } from '../provider/grants.ts'
import { subjectTokenRefused } from '../refusals.ts'
import type { ActClaim } from '../subject-tokens/subject-token.ts'
import type { Actor } from './actor.ts'
import { assertChain } from './chain.ts'
import type { ReceivedToken } from './received-token.ts'

interface Rules {
  readonly maxDelegationDepth: number
  readonly hops: number
}

/** The people who act through the APIs. All of them exist, and neither they nor the APIs are more than allowed. */
export async function findPeople(
  ctx: GrantContext,
  { userId, people, apis }: ReceivedToken,
  { maxDelegationDepth, hops }: Rules,
): Promise<Actor | undefined> {
  if (new Set(apis).size < apis.length) throw subjectTokenRefused({ private: 'an API twice in the chain' })
  if (apis.length > hops)
    throw subjectTokenRefused({ check: 'hops', private: `more than ${hops} APIs in the chain` })
  if (!people) return undefined
  assertChain(people, { userId, maxDelegationDepth, refused: subjectTokenRefused })
  for (let link: ActClaim | undefined = people; link; link = link.act) {
    const account = await findAccount(ctx, link.sub)
    if (account?.accountId !== link.sub)
      throw subjectTokenRefused({ private: 'the account of an actor is gone or disabled' })
  }
  return people
}
