import { type ActorToken, type ActorTokenReader, findActorToken } from '../provider/actor-token.ts'
import { certificateThumbprint } from '../provider/certificate.ts'
import type { GrantContext, SenderConstraint } from '../provider/grants.ts'
import { findAccount } from '../provider/grants.ts'
import type { Settings } from '../provider/settings.ts'
import { actorTokenRefused, subjectTokenRefused } from '../refusals.ts'
import type { ActClaim } from '../subject-tokens/subject-token.ts'
import type { Subject } from './subject.ts'

/** Who is acting (RFC 8693 §4.1). Account ids, never pairwise. */
export interface Actor extends ActClaim {
  /** The client and the audiences of the actor token. */
  readonly clientId: string
  readonly audiences: readonly string[]
}

interface ActorSources extends ActorTokenReader {
  readonly settings: Pick<Settings, 'verifyAccessToken' | 'getCertificate'>
}

interface ActorRequest {
  /** `undefined`: none was sent. */
  readonly actorToken?: string
  readonly sender: SenderConstraint
  readonly subject: Subject
  readonly maxDelegationDepth: number
}

/** Verifies the actor token, and that its account may act as this user. `undefined` if none was sent. */
export async function findActor(
  ctx: GrantContext,
  sources: ActorSources,
  { actorToken, sender, subject, maxDelegationDepth }: ActorRequest,
): Promise<Actor | undefined> {
  const { actorId } = subject.token
  if (!actorToken) {
    if (actorId !== undefined) throw subjectTokenRefused({ private: 'bound to an actor, and none was sent' })
    return undefined
  }
  const token = await findActorToken(ctx, sources, actorToken)
  if (!token.scopes.has('openid')) throw actorTokenRefused({ private: 'without scope openid' })
  assertProven(token, sender, () => sources.settings.getCertificate?.(ctx))
  const account = await findAccount(ctx, token.accountId, token.model)
  if (account?.accountId !== token.accountId)
    throw actorTokenRefused({ private: 'its account is gone or disabled' })

  const { accountId: sub, act, clientId, audiences } = token
  const actor = { sub, act, clientId, audiences }
  assertChain(actor, subject.token.userId, maxDelegationDepth)
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

/** No actor twice, not the user, and no more actors than the deployment allows. */
export function assertChain(actor: ActClaim, userId: string, maxDelegationDepth: number): void {
  const seen = new Set<string>()
  for (let link: ActClaim | undefined = actor; link; link = link.act) {
    if (link.sub === userId)
      throw actorTokenRefused({ check: 'actorIsNotSubject', private: 'the actor is the subject' })
    if (seen.has(link.sub)) throw actorTokenRefused({ private: 'an actor twice in the chain' })
    seen.add(link.sub)
    if (seen.size > maxDelegationDepth) {
      throw actorTokenRefused({
        check: 'maxDelegationDepth',
        private: `more than ${maxDelegationDepth} in the chain`,
      })
    }
  }
}
