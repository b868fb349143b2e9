import { epochTime, type Seconds } from '../base/clock.ts'
import { TOKEN_EXCHANGE } from '../base/constants.ts'
import { actorTokenRefused, invalidParameter, subjectTokenRefused, targetRefused } from '../base/errors.ts'
import { timedLookup } from '../metrics/metrics.ts'
import type { ResolvedOptions } from '../options.ts'
import {
  type AccessTokenDraft,
  assertLives,
  draftAccessToken,
  dropGrant,
  issueAccessToken,
  saveGrant,
} from '../provider/access-token.ts'
import { getAccount } from '../provider/accounts.ts'
import { type ActorToken, certificateThumbprint, findActorToken } from '../provider/actor-token.ts'
import { recordInClaims } from '../provider/claims-functions.ts'
import {
  assertSecretInHeader,
  registeredAudiences,
  registeredResources,
} from '../provider/client-metadata.ts'
import { getWithheldScopes } from '../provider/configuration.ts'
import { assertPolicyAllows, type Policy, recordInPolicy } from '../provider/is-allowed.ts'
import { findAccount, type GrantContext } from '../provider/lib-grants.ts'
import { recordProof, type SenderConstraint, verifySender } from '../provider/sender-constraint.ts'
import type { Service } from '../provider/settings.ts'
import { shownActor } from '../tokens/actor-chain.ts'
import { findPresented, type SubjectTokenStore } from '../tokens/store.ts'
import { isSpent, type SubjectToken, type SubjectTokenUse, stateOf } from '../tokens/subject-token.ts'
import { collectClaims } from './issued-claims.ts'
import { ReplayedSubjectToken, recordOutcome } from './outcome.ts'
import { type ExchangeContext, type ExchangeRequest, parseRequest } from './request.ts'
import { getResourceServer, grantScope, isAllowedResource, type Target } from './resource-and-scope.ts'
import {
  type Actor,
  assertChain,
  getUser,
  type ImpersonationSubject,
  identifySubject,
} from './user-and-actors.ts'

/**
 * Exchanges a subject token of the management API (protocol.md §3), stage by stage. Before `consume` every stage may
 * refuse and none writes; after it none may refuse.
 */
export function exchangeSubjectToken(ctx: ExchangeContext, service: Service): Promise<void> {
  const { store, options, settings } = service
  return recordOutcome(ctx, service, 'impersonation', async (progress) => {
    assertSecretInHeader(ctx)
    const request = parseRequest(ctx)
    assertAdmitted(ctx, options, request)
    const sender = await verifySender(ctx)

    const subject = await findSubject(ctx, store, request)
    progress.subject = subject
    const sub = await identifySubject(ctx, settings, subject)
    const actor = await findActor(ctx, service, { request, sender, subject })
    progress.actor = actor
    const resourceServer = await getResourceServer(ctx)
    const resource = getAllowedResource(ctx, subject, resourceServer)
    const scope = grantScope(ctx, resourceServer, {
      scopes: request.scopes,
      ceilings: [subject.record.scope],
      withheld: getWithheldScopes(ctx, subject.record, resource),
      mayAct: actor !== undefined && options.maxDelegationDepth > 1,
    })
    const target = { resource, resourceServer, scope }
    progress.target = target

    await assertExchangeAllowed(ctx, options, { subject, actor, target })
    const draft = await draftAccessToken(ctx, options, { subject, target, sender, jti: subject.record.id })
    const claims = await collectClaims(ctx, service, { draft, sub, subject, grant: grantOf(subject), actor })
    await consume(ctx, service, { sender, subject, actor, target, draft })
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

/** Finds the subject token and its user. A refusal does not tell the client why. */
async function findSubject(
  ctx: GrantContext,
  store: Pick<SubjectTokenStore, 'find'>,
  { subjectToken }: ExchangeRequest,
): Promise<ImpersonationSubject> {
  const record = await findPresented(store, ctx.oidc.issuer, subjectToken, 'exchange')
  if (typeof record === 'string') throw subjectTokenRefused({ private: record })
  assertUsable(record)
  const { userId, clientId } = record
  if (clientId !== undefined && clientId !== ctx.oidc.client.clientId) {
    throw subjectTokenRefused({ private: 'bound to another client' })
  }
  const account = await getUser(ctx, userId)
  return { userId, account, record, apis: [] }
}

/** Refuses a token that is spent, revoked or expired. A spent one is a replay, even if it is revoked too. */
function assertUsable(token: SubjectToken): void {
  if (isSpent(token)) throw new ReplayedSubjectToken(token)
  const state = stateOf(token, epochTime())
  if (state !== 'active') throw subjectTokenRefused({ private: state })
}

/** Verifies the actor token, and that its account may act as this user. `undefined` if none was sent. */
async function findActor(
  ctx: GrantContext,
  service: Service,
  {
    request: { actorToken },
    sender,
    subject,
  }: Pick<Exchange, 'sender' | 'subject'> & { readonly request: ExchangeRequest },
): Promise<Actor | undefined> {
  const { userId, record } = subject
  const { actorId } = record
  const { maxDelegationDepth } = service.options
  if (!actorToken) {
    if (actorId !== undefined) throw subjectTokenRefused({ private: 'bound to an actor, and none was sent' })
    return undefined
  }
  const token = await findActorToken(ctx, service, actorToken)
  if (!token.scopes.has('openid')) throw actorTokenRefused({ private: 'without scope openid' })
  if (token.readOnly && !record.readOnly)
    throw actorTokenRefused({ private: 'read-only, and the subject token is not' })
  assertProven(token, sender, () => service.settings.getCertificate?.(ctx))
  const { actor, model } = token
  const find = (id: string) => timedLookup(() => findAccount(ctx, id, model))
  await getAccount(actor.sub, find, () => actorTokenRefused({ private: 'its account is gone or disabled' }))
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

/** The resource, which both the client and the subject token must allow. */
function getAllowedResource(
  { oidc: { client } }: GrantContext,
  { record }: ImpersonationSubject,
  server: Target['resourceServer'],
): string {
  const resource = server.identifier()
  const allowed = registeredResources(client)
  if (allowed && !allowed.includes(resource))
    throw targetRefused({ private: 'not among the resources of the client' })
  if (!isAllowedResource(record, resource))
    throw subjectTokenRefused({ private: 'bound to another resource' })
  return resource
}

/** Asks the policy again, now about what will be granted: it may have changed since the subject token was issued. */
async function assertExchangeAllowed(
  ctx: GrantContext,
  policy: Policy,
  { subject, actor, target }: { subject: ImpersonationSubject; actor?: Actor; target: Target },
): Promise<void> {
  const { record, account } = subject
  await assertPolicyAllows(policy, {
    stage: 'exchange',
    userId: record.userId,
    account,
    ...(actor && { actor: { ...actor, verified: true } }),
    client: { id: ctx.oidc.client.clientId },
    ...recordInPolicy(record),
    resource: target.resource,
    scope: target.scope,
  })
}

const grantOf = ({ record }: ImpersonationSubject) =>
  ({ type: TOKEN_EXCHANGE, kind: 'impersonation', ...recordInClaims(record) }) as const

interface Exchange {
  readonly sender: SenderConstraint
  readonly subject: ImpersonationSubject
  readonly actor?: Actor
  readonly target: Target
  readonly draft: AccessTokenDraft
}

/**
 * Spends the subject token. One conditional write decides between any number of concurrent requests; it is the
 * last point of refusal. The record of the DPoP proof and the Grant of an opaque token are written just before it,
 * so that nothing needs to be written between the spend and the access token.
 */
async function consume(ctx: GrantContext, service: Service, exchange: Exchange): Promise<void> {
  const { store } = service
  const { sender, subject, draft } = exchange
  assertLives(draft)
  await recordProof(ctx, sender)
  if (draft.format === 'opaque') await saveGrant(ctx, draft)
  let won = false
  try {
    const now = epochTime()
    won = await store.consume(subject.record, now, useOf(ctx, service, { ...exchange, at: now }))
  } finally {
    // The loser's Grant has no token. If this fails, it still expires when that token would have.
    if (!won && draft.format === 'opaque') await dropGrant(ctx, draft).catch(() => {})
  }
  if (won) return
  const { issuer, id } = subject.record
  const record = await store.find(issuer, id)
  if (record) assertUsable(record)
  throw subjectTokenRefused({ private: 'could not be spent' })
}

/** The use of the subject token, as its record will show it. */
function useOf(
  ctx: GrantContext,
  { statusLists }: Service,
  { actor, target, draft, at }: Exchange & { readonly at: Seconds },
): SubjectTokenUse {
  return {
    at,
    clientId: ctx.oidc.client.clientId,
    actor: shownActor(actor),
    resource: target.resource,
    scope: target.scope,
    accessToken: {
      format: draft.format,
      expiresAt: draft.exp,
      // A JWT is ended by status lists alone.
      ...(draft.format === 'jwt' && !statusLists && { kept: true }),
    },
    grantId: draft.format === 'opaque' ? draft.grantId : undefined,
  }
}
