import { TOKEN_EXCHANGE } from '../constants.ts'
import { emit } from '../events.ts'
import type { ResolvedOptions } from '../options.ts'
import { draftAccessToken } from '../provider/access-token.ts'
import { assertSecretInHeader } from '../provider/client-authentication.ts'
import { registeredAudiences, registeredResources } from '../provider/client-metadata.ts'
import type { GrantContext } from '../provider/grants.ts'
import { emitRefusal } from '../provider/notices.ts'
import type { Service } from '../provider/settings.ts'
import { invalidParameter, subjectTokenRefused, targetRefused } from '../refusals.ts'
import { type Actor, findActor } from './actor.ts'
import { collectClaims } from './claims.ts'
import { consume } from './consume.ts'
import { type ExchangeEvents, recordOutcome } from './outcome.ts'
import { findPermission, type Permission } from './permission.ts'
import { assertExchangeAllowed } from './policy.ts'
import { type ExchangeContext, type ExchangeRequest, parseRequest } from './request.ts'
import { issueAccessToken } from './response.ts'
import { verifySender } from './sender.ts'
import { identifySubject, reaches } from './subject.ts'
import { type Limits, resolveTarget } from './target.ts'

/**
 * Exchanges a subject token of the management API (protocol.md §3), stage by stage. Before `consume` every stage may
 * refuse and none writes; after it none may refuse.
 */
export function exchangeSubjectToken(ctx: ExchangeContext, service: Service): Promise<void> {
  const { store, options, settings } = service
  const { maxDelegationDepth } = options
  return recordOutcome(ctx, service, EVENTS, async (reached) => {
    assertSecretInHeader(ctx)
    const request = parseRequest(ctx)
    assertAdmitted(ctx, options, request)
    const sender = await verifySender(ctx)

    const subject = await findPermission(ctx, store, request.subjectToken)
    reached({ subject })
    const sub = await identifySubject(ctx, settings, subject)
    const actor = await findActor(ctx, service, { ...request, sender, subject, maxDelegationDepth })
    reached({ actor })
    const target = await resolveTarget(ctx, request.scopes, limitsOf(ctx, options, { subject, actor }))
    reached({ target })

    await assertExchangeAllowed(ctx, options, { subject, actor, target })
    const { id: subjectTokenId, context: subjectTokenContext } = subject.record
    const { userId } = subject
    const draft = draftAccessToken(ctx, { ...options, userId, target, sender, jti: subjectTokenId })
    const grant = {
      type: TOKEN_EXCHANGE,
      kind: 'impersonation',
      subjectTokenId,
      subjectTokenContext,
    } as const
    const claims = await collectClaims(ctx, service, { draft, sub, subject, grant, actor })

    await consume(ctx, store, { ...service, sender, subject, actor, target, draft })
    ctx.body = await issueAccessToken(ctx, draft, claims)
    return { subject, actor, target, draft }
  })
}

export function assertAdmitted(
  { oidc: { client } }: GrantContext,
  { requireActor }: Pick<ResolvedOptions, 'requireActor'>,
  { actorToken }: ExchangeRequest,
): void {
  // One client on either side only: what it may do as an API must not add up with what it may do as an application.
  if (registeredAudiences(client)) throw subjectTokenRefused({ private: 'the client is an API' })
  if (requireActor && !actorToken)
    throw invalidParameter({ check: 'requireActor', public: 'actor_token is required' })
}

export function limitsOf(
  { oidc: { client } }: GrantContext,
  { maxDelegationDepth }: Pick<ResolvedOptions, 'maxDelegationDepth'>,
  { subject: { record }, actor }: { readonly subject: Permission; readonly actor?: Actor },
): Limits {
  const allowed = registeredResources(client)
  return {
    assertReaches(resource) {
      if (allowed && !allowed.includes(resource))
        throw targetRefused({ private: 'not among the resources of the client' })
      if (!reaches(record, resource)) throw subjectTokenRefused({ private: 'bound to another resource' })
    },
    ceilings: record.scope === undefined ? [] : [record.scope],
    mayAct: actor !== undefined && maxDelegationDepth > 1,
  }
}

const EVENTS: ExchangeEvents<Permission> = {
  exchanged: (provider, told, { record: { id, createdBy } }) =>
    emit(provider, 'subject_token.exchanged', { ...told, id, createdBy }),
  refused: (provider, told) => emitRefusal(provider, 'subject_token.refused', { stage: 'exchange', ...told }),
}
