import type { ResolvedOptions } from '../options.ts'
import type { Settings } from '../provider/settings.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import { findActor } from './actor.ts'
import { collectClaims } from './claims.ts'
import { consume } from './consume.ts'
import { recordOutcome } from './outcome.ts'
import { assertAllowed } from './policy.ts'
import { type ExchangeContext, parseRequest } from './request.ts'
import { draftFor, issueAccessToken } from './response.ts'
import { verifySender } from './sender.ts'
import { findSubject, identifySubject } from './subject.ts'
import { resolveTarget } from './target.ts'

/** What every exchange of a provider works with. */
export interface ExchangeService {
  readonly store: SubjectTokenStore
  readonly options: ResolvedOptions
  readonly settings: Settings
}

/**
 * The token exchange grant (RFC 8693), stage by stage. Left of `consume` everything may refuse and nothing is
 * written; right of it nothing may refuse.
 */
export function exchangeHandler(service: ExchangeService): (ctx: ExchangeContext) => Promise<void> {
  const { store, options, settings } = service
  return (ctx) =>
    recordOutcome(ctx, async (progress) => {
      const request = parseRequest(ctx, options)
      const sender = await verifySender(ctx)

      const subject = await findSubject(ctx, store, request.subjectToken)
      progress.subject = subject
      const sub = await identifySubject(ctx, settings, subject)
      const actor = await findActor(ctx, service, { actorToken: request.actorToken, sender, subject })
      progress.actor = actor
      const target = await resolveTarget(ctx, options, { scopes: request.scopes, subject, actor })
      progress.target = target

      await assertAllowed(ctx, options, { subject, actor, target })
      const draft = draftFor(ctx, options, { subject, target, sender })
      progress.draft = draft
      const claims = await collectClaims(ctx, service, { draft, sub, subject, actor })

      await consume(ctx, store, { sender, subject, actor, target, draft })
      ctx.body = await issueAccessToken(ctx, draft, claims)
    })
}
