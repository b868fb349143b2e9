import type { Check } from '../refusals.ts'
import type { ActClaim } from '../subject-tokens/subject-token.ts'

interface ChainRules {
  readonly userId: string
  readonly maxDelegationDepth: number
  /** The refusal of the token that holds the chain. */
  readonly refused: (says: { readonly private: string; readonly check?: Check }) => Error
}

/** No person twice, not the user, and no more people than the deployment allows. */
export function assertChain(newest: ActClaim, { userId, maxDelegationDepth, refused }: ChainRules): void {
  const seen = new Set<string>()
  for (let link: ActClaim | undefined = newest; link; link = link.act) {
    if (link.sub === userId)
      throw refused({ check: 'actorIsNotSubject', private: 'the actor is the subject' })
    if (seen.has(link.sub)) throw refused({ private: 'an actor twice in the chain' })
    seen.add(link.sub)
    if (seen.size > maxDelegationDepth) {
      throw refused({ check: 'maxDelegationDepth', private: `more than ${maxDelegationDepth} in the chain` })
    }
  }
}
