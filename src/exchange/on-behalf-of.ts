import { randomBytes } from 'node:crypto'
import { epochTime } from '../base/clock.ts'
import { RESERVED_CLAIMS, TOKEN_EXCHANGE } from '../base/constants.ts'
import {
  beyondRecord,
  clientNotAdmitted,
  invalidParameter,
  subjectTokenRefused,
  targetRefused,
} from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import { timedLookup } from '../metrics/metrics.ts'
import type { OnBehalfOfOptions, ResolvedOptions } from '../options.ts'
import {
  assertLives,
  draftAccessToken,
  issueAccessToken,
  subjectIdentifier,
} from '../provider/access-token.ts'
import { isAccountOf } from '../provider/accounts.ts'
import { recordInClaims } from '../provider/claims-functions.ts'
import {
  assertSecretInHeader,
  authenticates,
  registeredAudiences,
  registeredResources,
} from '../provider/client-metadata.ts'
import { getWithheldScopes } from '../provider/configuration.ts'
import { askDeployment, recordInPolicy } from '../provider/is-allowed.ts'
import { findAccount, type GrantContext } from '../provider/lib-grants.ts'
import { findOwnToken, type OwnToken } from '../provider/presented-access-token.ts'
import { recordProof, type SenderConstraint, verifySender } from '../provider/sender-constraint.ts'
import type { Service } from '../provider/settings.ts'
import { readAct, shownActor, subsOf } from '../tokens/actor-chain.ts'
import type { ActingParty } from '../tokens/subject-token.ts'
import { collectClaims } from './issued-claims.ts'
import { recordOutcome } from './outcome.ts'
import { type ExchangeContext, type ExchangeRequest, parseRequest } from './request.ts'
import { getResourceServer, grantScope, isAllowedResource, type Target } from './resource-and-scope.ts'
import { type Actor, assertChain, getUser, identifySubject, type ReceivedToken } from './user-and-actors.ts'

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
  return recordOutcome(ctx, service, 'onBehalfOf', async (progress) => {
    assertSecretInHeader(ctx)
    const request = parseRequest(ctx)
    assertAdmitted(ctx, request)
    const sender = await verifySender(ctx)

    const subject = await findReceivedToken(ctx, service, request, sender)
    progress.subject = subject
    const sub = await identifySubject(ctx, settings, subject)
    const actor = await findPeople(ctx, options, rules, subject)
    progress.actor = actor
    const resourceServer = await getResourceServer(ctx)
    const resource = getAllowedResource(ctx, subject, resourceServer)
    const scope = grantScope(ctx, resourceServer, {
      scopes: request.scopes,
      ceilings: [subject.scope ?? '', subject.record?.scope],
      withheld: getWithheldScopes(ctx, subject.record, resource),
      mayAct: false,
    })
    const target = { resource, resourceServer, scope }
    progress.target = target

    await assertStepAllowed(ctx, options, { subject, actor, target })
    const draft = await draftAccessToken(ctx, options, { subject, target, sender, jti: jtiFor(subject) })
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

/** Verifies the access token, and finds its user. A refusal does not tell the client why. */
async function findReceivedToken(
  ctx: GrantContext,
  service: Service,
  { subjectToken }: ExchangeRequest,
  sender: SenderConstraint,
): Promise<ReceivedToken> {
  const token = await findOwnToken({ ...service, ctx, refused: subjectTokenRefused }, subjectToken)
  const audience = audienceOf(ctx, token)
  const bound = token.cnf !== undefined
  // The API cannot have the key that the token is bound to. What it gets must be no easier to use than that.
  if (bound && !sender.dPoP && !sender.certificate)
    throw subjectTokenRefused({ private: 'bound to a key, and the new token would not be' })
  const act = readAct(token.act)
  if (!act) throw subjectTokenRefused({ private: 'a malformed act claim' })
  const { people, apis: through } = act
  const { userId, actor } = await usersOf(ctx, service, { token, people })
  const account = await getUser(ctx, userId, token.model)
  const { record, exp, client, scope, jti } = token
  return {
    userId,
    account,
    ...(record && { record }),
    ...(actor && { people: actor }),
    through,
    apis: [ctx.oidc.client.clientId, ...through],
    notAfter: exp,
    clientId: client.clientId,
    audience,
    scope,
    bound,
    jti,
    claims: unreserved(token.claims),
  }
}

/** One audience, which is this client: a token for several APIs would let each of them speak for the others. */
function audienceOf(ctx: GrantContext, { aud }: OwnToken): string {
  const own = registeredAudiences(ctx.oidc.client)?.find((audience) => audience === aud)
  if (own === undefined) throw subjectTokenRefused({ private: 'for another audience' })
  return own
}

/** The user, and the people who act. Of what began as an impersonation, its record says who they are. */
async function usersOf(
  ctx: GrantContext,
  { settings }: Service,
  { token, people }: { readonly token: OwnToken; readonly people: readonly string[] },
): Promise<{ readonly userId: string; readonly actor?: ActingParty }> {
  const { record, sub, client, readOnly, model } = token
  if (!record) {
    if (people.length > 0) throw subjectTokenRefused({ private: 'someone acts, and it has no status' })
    if (client.subjectType === 'pairwise')
      throw subjectTokenRefused({ private: 'of a client with pairwise subjects, and it has no status' })
    // No record would say that its child is, too.
    if (readOnly) throw subjectTokenRefused({ private: 'read-only, and it has no status' })
    return { userId: sub }
  }
  const { userId, use } = record
  // An opaque token holds the account id, whatever the subjects of its client are.
  const named = model ? userId : await subjectIdentifier(ctx, settings, { accountId: userId, client })
  if (sub !== named) throw subjectTokenRefused({ private: 'its status is of another user' })
  if (people.length !== subsOf(use.actor).length)
    throw subjectTokenRefused({ private: 'its status is of other people' })
  return { userId, ...(use.actor && { actor: use.actor }) }
}

/** A token of ours is JSON throughout. */
const unreserved = (claims: OwnToken['claims']): JsonObject =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !RESERVED_CLAIMS.has(name))) as JsonObject

/** The people who act through the APIs. All of them exist, and neither they nor the APIs are more than allowed. */
async function findPeople(
  ctx: GrantContext,
  { maxDelegationDepth }: ResolvedOptions,
  { hops }: OnBehalfOfOptions,
  { userId, people, apis }: ReceivedToken,
): Promise<Actor | undefined> {
  if (new Set(apis).size < apis.length) throw subjectTokenRefused({ private: 'an API twice in the chain' })
  if (apis.length > hops)
    throw subjectTokenRefused({ check: 'hops', private: `more than ${hops} APIs in the chain` })
  if (!people) return undefined
  assertChain(people, { userId, maxDelegationDepth, refused: subjectTokenRefused })
  if (!(await timedLookup(() => exist(ctx, subsOf(people)))))
    throw subjectTokenRefused({ private: 'the account of an actor is gone or disabled' })
  return people
}

async function exist(ctx: GrantContext, subs: readonly string[]): Promise<boolean> {
  for (const sub of subs) {
    if (!isAccountOf(await findAccount(ctx, sub), sub)) return false
  }
  return true
}

/** The resource, which the client, the record and the received token must allow. */
function getAllowedResource(
  { oidc: { client } }: GrantContext,
  { audience, record }: ReceivedToken,
  server: Target['resourceServer'],
): string {
  const resource = server.identifier()
  if (!registeredResources(client)?.includes(resource))
    throw targetRefused({ private: 'not among the resources of the client' })
  if (record && !isAllowedResource(record, resource)) throw beyondRecord([record.resource ?? []].flat())
  if (resource === audience || server.audience === audience)
    throw targetRefused({ private: 'the audience of the received token' })
  // Nothing could tie the end of an opaque token to that of the received one.
  if (server.accessTokenFormat !== 'jwt') throw targetRefused({ private: 'its access tokens are opaque' })
  return resource
}

/** Leads to the record, if there is one; several tokens have it. */
const jtiFor = ({ record }: ReceivedToken): string | undefined =>
  record && `${record.id}.${randomBytes(16).toString('base64url')}`

async function assertStepAllowed(
  ctx: GrantContext,
  policy: Parameters<typeof askDeployment>[0],
  { subject, actor, target }: { subject: ReceivedToken; actor?: Actor; target: Target },
): Promise<void> {
  const { userId, account, through, clientId, audience, scope, bound, record } = subject
  const people = shownActor(actor)
  await askDeployment(policy, {
    stage: 'onBehalfOf',
    userId,
    account,
    ...(people && { actor: { ...people, verified: true } }),
    client: { id: ctx.oidc.client.clientId },
    through,
    subjectToken: { clientId, audience, ...(scope !== undefined && { scope }), bound },
    resource: target.resource,
    scope: target.scope,
    ...(record && { ...recordInPolicy(record), subjectTokenId: record.id }),
  })
}

const grantOf = ({ record, through, claims }: ReceivedToken) =>
  ({
    type: TOKEN_EXCHANGE,
    kind: 'onBehalfOf',
    subjectTokenContext: {},
    ...(record && recordInClaims(record)),
    through,
    subjectTokenClaims: claims,
  }) as const
