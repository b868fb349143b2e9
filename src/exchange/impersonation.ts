import { assertPolicyAllows, type Policy } from '../callbacks/policy.ts'
import { TOKEN_EXCHANGE } from '../constants.ts'
import { emit } from '../events.ts'
import type { ResolvedOptions } from '../options.ts'
import { draftAccessToken, issueAccessToken } from '../provider/access-token.ts'
import { assertSecretInHeader, registeredAudiences, registeredResources } from '../provider/clients.ts'
import { type GrantContext, verifySender } from '../provider/grants.ts'
import { emitRefusal } from '../provider/notices.ts'
import type { Service } from '../provider/settings.ts'
import { invalidParameter, subjectTokenRefused, targetRefused } from '../refusals.ts'
import { type Actor, findActor } from './actor.ts'
import { collectClaims } from './claims.ts'
import { consume } from './consume.ts'
import { type ExchangeEvents, recordOutcome } from './outcome.ts'
import { type ExchangeContext, type ExchangeRequest, parseRequest } from './request.ts'
import { findPermission, identifySubject, type Permission, reaches } from './subject.ts'
import { type Limits, resolveTarget, type Target } from './target.ts'

/**
 * Exchanges a subject token of the management API (protocol.md §3), stage by stage. Before `consume` every stage may
 * refuse and none writes; after it none may refuse.
 */
export function exchangeSubjectToken(ctx: ExchangeContext, service: Service): Promise<void> {
  const { store, options, settings, statusLists } = service
  const { maxDelegationDepth } = options
  return recordOutcome(ctx, service, EVENTS, async (progress) => {
    assertSecretInHeader(ctx)
    const request = parseRequest(ctx)
    assertAdmitted(ctx, options, request)
    const sender = await verifySender(ctx)

    const subject = await findPermission(ctx, store, request.subjectToken)
    progress.subject = subject
    const sub = await identifySubject(ctx, settings, subject)
    const actor = await findActor(ctx, service, { ...request, sender, subject, maxDelegationDepth })
    progress.actor = actor
    const target = await resolveTarget(ctx, request.scopes, limitsOf(ctx, options, { subject, actor }))
    progress.target = target

    await assertExchangeAllowed(ctx, options, { subject, actor, target })
    const { id: subjectTokenId, context: subjectTokenContext } = subject.record
    const draft = await draftAccessToken(ctx, { ...options, ...subject, target, sender, jti: subjectTokenId })
    const grant = {
      type: TOKEN_EXCHANGE,
      kind: 'impersonation',
      subjectTokenId,
      subjectTokenContext,
    } as const
    const claims = await collectClaims(ctx, service, { draft, sub, subject, grant, actor })
    await consume(ctx, store, { sender, subject, actor, target, draft, statusLists })
    ctx.body = await issueAccessToken(ctx, draft, claims)
    return { subject, actor, target, draft }
  })
}

function assertAdmitted(
  { oidc: { client } }: GrantContext,
  { requireActor }: Pick<ResolvedOptions, 'requireActor'>,
  { actorToken }: ExchangeRequest,
): void {
  // One client on either side only: what it may do as an API must not add up with what it may do as an application.
  if (registeredAudiences(client)) throw subjectTokenRefused({ private: 'the client is an API' })
  if (requireActor && !actorToken)
    throw invalidParameter({ check: 'requireActor', public: 'actor_token is required' })
}

function limitsOf(
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

/** Asks the policy again, now about what will be granted: it may have changed since the subject token was issued. */
async function assertExchangeAllowed(
  ctx: GrantContext,
  policy: Policy,
  { subject, actor, target }: { subject: Permission; actor?: Actor; target: Target },
): Promise<void> {
  const { record, account } = subject
  await assertPolicyAllows(policy, {
    stage: 'exchange',
    use: record.purpose,
    userId: record.userId,
    account,
    ...(actor && { actor: { ...actor, verified: true } }),
    client: { id: ctx.oidc.client.clientId },
    createdBy: { id: record.createdBy },
    context: record.context,
    resource: target.resource,
    scope: target.scope,
  })
}

const EVENTS: ExchangeEvents<Permission> = {
  kind: 'impersonation',
  exchanged: (provider, told, { record: { id, createdBy } }) =>
    emit(provider, 'subject_token.exchanged', { ...told, id, createdBy }),
  refused: (provider, told) => emitRefusal(provider, 'subject_token.refused', { stage: 'exchange', ...told }),
}
