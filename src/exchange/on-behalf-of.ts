import { randomBytes } from 'node:crypto'
import { askDeployment } from '../callbacks/policy.ts'
import { epochTime } from '../clock.ts'
import { TOKEN_EXCHANGE } from '../constants.ts'
import { emit } from '../events.ts'
import type { OnBehalfOfOptions } from '../options.ts'
import { withoutUndefined } from '../plain-json.ts'
import { draftAccessToken, issueAccessToken } from '../provider/access-token.ts'
import {
  assertSecretInHeader,
  authenticates,
  registeredAudiences,
  registeredResources,
} from '../provider/clients.ts'
import { type GrantContext, recordProof, verifySender } from '../provider/grants.ts'
import { emitRefusal } from '../provider/notices.ts'
import type { Service } from '../provider/settings.ts'
import {
  beyondRecord,
  clientNotAdmitted,
  invalidParameter,
  subjectTokenRefused,
  targetRefused,
} from '../refusals.ts'
import type { Actor } from './actor.ts'
import { collectClaims } from './claims.ts'
import { assertLives } from './consume.ts'
import { type ExchangeEvents, recordOutcome } from './outcome.ts'
import { findPeople, findReceivedToken, type ReceivedToken } from './received-token.ts'
import { type ExchangeContext, type ExchangeRequest, parseRequest } from './request.ts'
import { identifySubject, reaches } from './subject.ts'
import { type Limits, resolveTarget, type Target } from './target.ts'

/**
 * Exchanges an access token that an API received (protocol.md §8), stage by stage: as often as it needs, until the token
 * ends. Nothing is spent.
 */
export function exchangeReceivedToken(
  ctx: ExchangeContext,
  service: Service,
  rules: OnBehalfOfOptions,
): Promise<void> {
  const { options, settings } = service
  return recordOutcome(ctx, service, EVENTS, async (progress) => {
    assertSecretInHeader(ctx)
    const request = parseRequest(ctx)
    assertAdmitted(ctx, request)
    const sender = await verifySender(ctx)

    const subject = await findReceivedToken(ctx, service, { ...request, sender })
    progress.subject = subject
    const sub = await identifySubject(ctx, settings, subject)
    const actor = await findPeople(ctx, subject, { ...options, hops: rules.hops })
    progress.actor = actor
    const target = await resolveTarget(ctx, request.scopes, limitsOf(ctx, subject))
    progress.target = target

    await assertStepAllowed(ctx, options, { subject, actor, target })
    const draft = await draftAccessToken(ctx, {
      ...options,
      ...subject,
      target,
      sender,
      jti: jtiFor(subject),
    })
    const claims = await collectClaims(ctx, service, { draft, sub, subject, grant: grantOf(subject), actor })
    // Again: the deployment's functions may have outlasted it.
    if (subject.notAfter <= epochTime()) throw subjectTokenRefused({ private: 'expired meanwhile' })
    assertLives(draft)
    await recordProof(ctx, sender)
    ctx.body = await issueAccessToken(ctx, draft, claims)
    return { subject, actor, target, draft }
  })
}

function assertAdmitted({ oidc: { client } }: GrantContext, { actorToken }: ExchangeRequest): void {
  if (actorToken) throw invalidParameter({ public: 'actor_token is not supported' })
  if (!registeredAudiences(client)) throw clientNotAdmitted({ private: 'no token_exchange_audiences' })
  if (!authenticates(client)) throw clientNotAdmitted({ private: 'the client does not authenticate' })
}

function limitsOf({ oidc: { client } }: GrantContext, { audience, record, scope }: ReceivedToken): Limits {
  const registered = registeredResources(client)
  return {
    assertReaches(resource, server) {
      if (!registered?.includes(resource))
        throw targetRefused({ private: 'not among the resources of the client' })
      if (record && !reaches(record, resource)) throw beyondRecord([record.resource ?? []].flat())
      if (resource === audience || server.audience === audience)
        throw targetRefused({ private: 'the audience of the received token' })
      // Nothing could tie the end of an opaque token to that of the received one.
      if (server.accessTokenFormat !== 'jwt') throw targetRefused({ private: 'its access tokens are opaque' })
    },
    ceilings: [scope ?? '', ...(record?.scope === undefined ? [] : [record.scope])],
    mayAct: false,
  }
}

/** Leads to the record, if there is one; several tokens have it. */
const jtiFor = ({ record }: ReceivedToken): string | undefined =>
  record && `${record.id}.${randomBytes(16).toString('base64url')}`

interface Step {
  readonly subject: ReceivedToken
  readonly actor?: Actor
  readonly target: Target
}

async function assertStepAllowed(
  ctx: GrantContext,
  policy: Parameters<typeof askDeployment>[0],
  { subject, actor, target }: Step,
): Promise<void> {
  const { userId, account, through, clientId, audience, scope, bound, record } = subject
  await askDeployment(policy, {
    stage: 'onBehalfOf',
    userId,
    account,
    ...(actor && {
      actor: {
        ...withoutUndefined({ sub: actor.sub, act: actor.act, clientId: actor.clientId }),
        verified: true,
      },
    }),
    client: { id: ctx.oidc.client.clientId },
    through,
    subjectToken: { clientId, audience, ...(scope !== undefined && { scope }), bound },
    resource: target.resource,
    scope: target.scope,
    ...(record && {
      createdBy: { id: record.createdBy },
      context: record.context,
      subjectTokenId: record.id,
      use: record.purpose,
    }),
  })
}

const grantOf = ({ record, through, claims }: ReceivedToken) =>
  ({
    type: TOKEN_EXCHANGE,
    kind: 'onBehalfOf',
    ...(record && { subjectTokenId: record.id }),
    subjectTokenContext: record?.context ?? {},
    through,
    subjectTokenClaims: claims,
  }) as const

const EVENTS: ExchangeEvents<ReceivedToken> = {
  kind: 'onBehalfOf',
  exchanged(provider, told, { record, through, jti }) {
    const ids = { id: record?.id, createdBy: record?.createdBy, parentJti: jti }
    emit(provider, 'access_token.exchanged', { ...told, ...ids, through })
  },
  refused(provider, told, subject) {
    const { through, jti } = subject ?? {}
    emitRefusal(provider, 'access_token.refused', { stage: 'onBehalfOf', ...told, through, parentJti: jti })
  },
}
