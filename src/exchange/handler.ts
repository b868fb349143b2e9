import type { ResolvedOptions } from '../options.ts'
import { draftAccessToken } from '../provider/access-token.ts'
import type { Settings } from '../provider/settings.ts'
import type { StatusLists } from '../provider/status-reference.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import { findActor } from './actor.ts'
import { collectClaims } from './claims.ts'
import { consume } from './consume.ts'
import { recordOutcome } from './outcome.ts'
import { assertExchangeAllowed } from './policy.ts'
import { type ExchangeContext, parseRequest } from './request.ts'
import { issueAccessToken } from './response.ts'
import { verifySender } from './sender.ts'
import { findSubject, identifySubject } from './subject.ts'
import { resolveTarget } from './target.ts'

/** What all exchanges of a provider share. */
interface ExchangeService {
  readonly store: SubjectTokenStore
  readonly options: ResolvedOptions
  readonly settings: Settings
  /** Absent where the deployment has none. */
  readonly statusLists: StatusLists | undefined
}

/**
 * The token exchange grant (RFC 8693), stage by stage. Before `consume` every stage may refuse and none writes;
 * after it none may refuse.
 */
export function exchangeHandler(service: ExchangeService): (ctx: ExchangeContext) => Promise<void> {
  const { store, options, settings } = service
  const { maxDelegationDepth, maxAccessTokenTTL } = options
  return (ctx) =>
    recordOutcome(ctx, { store, options }, async (reached) => {
      const { subjectToken, actorToken, scopes } = parseRequest(ctx, options)
      const sender = await verifySender(ctx)

      const subject = await findSubject(ctx, store, subjectToken)
      reached({ subject })
      const sub = await identifySubject(ctx, settings, subject)
      const actor = await findActor(ctx, service, { actorToken, sender, subject, maxDelegationDepth })
      reached({ actor })
      const target = await resolveTarget(ctx, { scopes, subject, actor, maxDelegationDepth })
      reached({ target })

      await assertExchangeAllowed(ctx, options, { subject, actor, target })
      const { userId } = subject.token
      const draft = draftAccessToken(ctx, { userId, target, sender, maxAccessTokenTTL })
      const claims = await collectClaims(ctx, service, { draft, sub, subject, actor })

      await consume(ctx, store, { sender, subject, actor, target, draft })
      ctx.body = await issueAccessToken(ctx, draft, claims)
      return { subject, actor, target, draft }
    })
}
