import { RESERVED_CLAIMS } from '../constants.ts'
import { timedLookup } from '../metrics/metrics.ts'
import type { JsonObject } from '../plain-json.ts'
import { subjectIdentifier } from '../provider/access-token.ts'
import { registeredAudiences } from '../provider/clients.ts'
import { findAccount, type GrantContext, type SenderConstraint } from '../provider/grants.ts'
import { findOwnToken, type OwnToken } from '../provider/own-token.ts'
import type { Service } from '../provider/settings.ts'
import { subjectTokenRefused } from '../refusals.ts'
import { readAct, subsOf } from '../subject-tokens/act.ts'
import type { ActingParty } from '../subject-tokens/subject-token.ts'
import { type Actor, assertChain } from './actor.ts'
import { findUser, type Subject } from './subject.ts'

/** An access token that the client received as an API, to act for its user. */
export interface ReceivedToken extends Subject {
  readonly notAfter: number
  /** The people who act, newest first; absent if none does. */
  readonly people?: ActingParty
  /** The APIs that passed the user on before, newest first: client ids. */
  readonly through: readonly string[]
  /** The client that it was issued to. */
  readonly clientId: string
  readonly audience: string
  readonly scope?: string
  readonly bound: boolean
  readonly jti?: string
  /** Its claims that are not reserved. */
  readonly claims: JsonObject
}

interface Received {
  readonly subjectToken: string
  readonly sender: SenderConstraint
}

/** Verifies the access token, and finds its user. A refusal does not tell the client why. */
export async function findReceivedToken(
  ctx: GrantContext,
  service: Service,
  { subjectToken, sender }: Received,
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
  const account = await findUser(ctx, userId, token.model)
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

/** The people who act through the APIs. All of them exist, and neither they nor the APIs are more than allowed. */
export async function findPeople(
  ctx: GrantContext,
  { userId, people, apis }: ReceivedToken,
  { maxDelegationDepth, hops }: { readonly maxDelegationDepth: number; readonly hops: number },
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
    const account = await findAccount(ctx, sub)
    if (account?.accountId !== sub) return false
  }
  return true
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
  const { record, sub, client, model } = token
  if (!record) {
    if (people.length > 0) throw subjectTokenRefused({ private: 'someone acts, and it has no status' })
    if (client.subjectType === 'pairwise')
      throw subjectTokenRefused({ private: 'of a client with pairwise subjects, and it has no status' })
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
