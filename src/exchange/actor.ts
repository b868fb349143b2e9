import { timedLookup } from '../metrics/metrics.ts'
import { type ActorToken, certificateThumbprint, findActorToken } from '../provider/actor-token.ts'
import type { GrantContext, SenderConstraint } from '../provider/grants.ts'
import { findAccount } from '../provider/grants.ts'
import type { Service } from '../provider/settings.ts'
import { actorTokenRefused, type Check, subjectTokenRefused } from '../refusals.ts'
import { subsOf } from '../subject-tokens/act.ts'
import type { ActClaim, ActingParty } from '../subject-tokens/subject-token.ts'
import type { Permission } from './subject.ts'

/** The person who acts (RFC 8693 §4.1), with those who acted before. Account ids, never pairwise. */
export interface Actor extends ActingParty {
  /** Every audience of the actor token, where this request sent one. */
  readonly audiences?: readonly string[]
}

interface ActorRequest {
  /** `undefined`: none was sent. */
  readonly actorToken?: string
  readonly sender: SenderConstraint
  readonly subject: Permission
  readonly maxDelegationDepth: number
}

/** Verifies the actor token, and that its account may act as this user. `undefined` if none was sent. */
export async function findActor(
  ctx: GrantContext,
  service: Service,
  { actorToken, sender, subject, maxDelegationDepth }: ActorRequest,
): Promise<Actor | undefined> {
  const { userId, record } = subject
  const { actorId } = record
  if (!actorToken) {
    if (actorId !== undefined) throw subjectTokenRefused({ private: 'bound to an actor, and none was sent' })
    return undefined
  }
  const token = await findActorToken(ctx, service, actorToken)
  if (!token.scopes.has('openid')) throw actorTokenRefused({ private: 'without scope openid' })
  assertProven(token, sender, () => service.settings.getCertificate?.(ctx))
  const account = await timedLookup(() => findAccount(ctx, token.accountId, token.model))
  if (account?.accountId !== token.accountId)
    throw actorTokenRefused({ private: 'its account is gone or disabled' })

  const { accountId: sub, act, clientId, audiences } = token
  const actor = { sub, act, clientId, audiences }
  assertChain(actor, { userId, maxDelegationDepth, refused: actorTokenRefused })
  if (actorId !== undefined && actorId !== actor.sub)
    throw subjectTokenRefused({ private: 'bound to another actor' })
  return actor
}

/** A token bound to a key is useless without it: the request must prove possession of the same key (RFC 7800 §3). */
function assertProven(
  { confirmation: { jkt, thumbprint } }: ActorToken,
  sender: SenderConstraint,
  certificate: () => Parameters<typeof certificateThumbprint>[0],
): void {
  if (jkt !== undefined && jkt !== sender.dPoP?.thumbprint) {
    throw actorTokenRefused({ private: 'bound to a DPoP key that was not proven' })
  }
  if (thumbprint !== undefined && thumbprint !== certificateThumbprint(certificate())) {
    throw actorTokenRefused({ private: 'bound to a client certificate that was not presented' })
  }
}

interface ChainRules {
  readonly userId: string
  readonly maxDelegationDepth: number
  /** The refusal of the token that holds the chain. */
  readonly refused: (says: { readonly private: string; readonly check?: Check }) => Error
}

/** No person twice, not the user, and no more people than the deployment allows. */
export function assertChain(newest: ActClaim, { userId, maxDelegationDepth, refused }: ChainRules): void {
  const seen = new Set<string>()
  for (const sub of subsOf(newest)) {
    if (sub === userId) throw refused({ check: 'actorIsNotSubject', private: 'the actor is the subject' })
    if (seen.has(sub)) throw refused({ private: 'an actor twice in the chain' })
    seen.add(sub)
    if (seen.size > maxDelegationDepth) {
      throw refused({ check: 'maxDelegationDepth', private: `more than ${maxDelegationDepth} in the chain` })
    }
  }
}
