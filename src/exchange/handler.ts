import { draftAccessToken } from '../provider/access-token.ts'
import { collectClaims } from './claims.ts'
import { byForm } from './kinds/by-form.ts'
import type { Kind } from './kinds/kind.ts'
import { recordOutcome } from './outcome.ts'
import { type ExchangeContext, parseRequest } from './request.ts'
import { issueAccessToken } from './response.ts'
import { verifySender } from './sender.ts'
import type { ExchangeService } from './service.ts'
import { identifySubject, type Subject } from './subject.ts'
import { resolveTarget } from './target.ts'

type Exchange = (ctx: ExchangeContext) => Promise<void>

/** The token exchange grant (RFC 8693). What the subject token is decides which kind of exchange it is. */
export function exchangeHandler(service: ExchangeService): Exchange {
  const exchangeFor = byForm(service.options.onBehalfOf, (kind) => exchangeOf(service, kind))
  return (ctx) => exchangeFor(ctx.oidc.params.subject_token)(ctx)
}

/**
 * An exchange, stage by stage. Before `commit` every stage may refuse and none writes; after it none may refuse.
 */
function exchangeOf<Found extends Subject>(service: ExchangeService, kind: Kind<Found>): Exchange {
  const { store, options, settings } = service
  const { maxAccessTokenTTL } = options
  return (ctx) =>
    recordOutcome(ctx, { service, kind }, async (reached) => {
      const request = parseRequest(ctx)
      kind.assertAdmitted(ctx, options, request)
      const sender = await verifySender(ctx)

      const subject = await kind.findSubject(ctx, service, { ...request, sender })
      reached({ subject })
      const sub = await identifySubject(ctx, settings, subject)
      const actor = await kind.findActor(ctx, service, { ...request, sender, subject })
      reached({ actor })
      const limits = kind.limitsOf(ctx, options, { subject, actor })
      const target = await resolveTarget(ctx, request.scopes, limits)
      reached({ target })

      await kind.assertAllowed(ctx, options, { subject, actor, target })
      const { userId, notAfter } = subject
      const draft = draftAccessToken(ctx, { userId, target, sender, maxAccessTokenTTL, notAfter })
      const grant = kind.grantOf(subject)
      const claims = await collectClaims(ctx, service, { draft, sub, subject, grant, actor })

      await kind.commit(ctx, store, { sender, subject, actor, target, draft })
      ctx.body = await issueAccessToken(ctx, draft, claims)
      return { subject, actor, target, draft }
    })
}
