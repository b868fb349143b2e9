/** What must become of an exchange by an API: granted, or refused by the first rule that it breaks (docs/protocol.md §8). */
import { TOKEN_EXCHANGE } from '../../../src/base/constants.ts'
import { ALL_RESOURCES, type People } from '../setting.ts'
import { type AccessToken, isGood, linksOf, reaches, type Token } from './model.ts'
import type { Requested } from './proving.ts'
import {
  BARRED,
  judgeContext,
  PROOF,
  PROOF_USED,
  refuse,
  SCOPE,
  SUBJECT,
  scopeOf,
  TARGET,
  type Verdict,
} from './verdict.ts'

export interface PassAttempt extends Requested {
  /** `null`: something that is no access token. */
  readonly received: AccessToken | null
  /** Whether an actor token was sent. */
  readonly actor: boolean
}

const NO_ACTOR = refuse('invalid_request', 'actor_token is not supported')
const NOT_ADMITTED = refuse('unauthorized_client', 'the client may not exchange access tokens')

export function judgePass(attempt: PassAttempt, people: People, now: number): Verdict {
  const { client, rules, received, proof, scopes } = attempt
  if (!client.grant_types?.includes(TOKEN_EXCHANGE)) return BARRED
  if (rules.hops === undefined) return judgeWithoutOption(attempt)
  if (attempt.actor) return NO_ACTOR
  if (!client.token_exchange_audiences || client.token_endpoint_auth_method === 'none') return NOT_ADMITTED
  if (proof === 'garbage') return PROOF
  if (!received || !isReceived(received, attempt, people, now)) return SUBJECT
  if (!isChain(received, attempt, people)) return SUBJECT
  if (!isRegistered(attempt)) return TARGET
  const { token } = received
  if (token && !reaches(token, attempt.resource)) return limitedTo(token)
  if (!isElsewhere(received, attempt)) return TARGET
  const scope = grantedScope(received, attempt)
  if (scopes.length > 0 && scope === undefined) return SCOPE
  const { onBehalfOf, onward } = token?.context ?? {}
  return judgeContext(onBehalfOf, onward) ?? (proof === 'used' ? PROOF_USED : { granted: { scope } })
}

/** It is a malformed subject token then. */
const judgeWithoutOption = ({ client, proof }: PassAttempt): Verdict =>
  proof === 'garbage' && !client.token_exchange_audiences ? PROOF : SUBJECT

function isReceived(
  received: AccessToken,
  { issuer, client, proof }: PassAttempt,
  people: People,
  now: number,
) {
  const { token, audience, jkt } = received
  return (
    received.issuer === issuer &&
    isGood(received, now) &&
    token?.revokedAt === undefined &&
    listOf(client.token_exchange_audiences).includes(audience ?? '') &&
    (jkt === undefined || proof !== undefined) &&
    (token !== undefined || received.client.subject_type !== 'pairwise') &&
    people.accountOf(received.sub) !== undefined
  )
}

/** No API twice, no more of them than allowed, and the people who act still exist. */
function isChain({ through, token }: AccessToken, { client, rules }: PassAttempt, people: People): boolean {
  const apis = [client.client_id, ...through]
  return (
    new Set(apis).size === apis.length &&
    apis.length <= (rules.hops ?? 0) &&
    linksOf(token?.use?.actor).every((person) => people.accountOf(person) !== undefined)
  )
}

const isRegistered = ({ client, resource, offered }: PassAttempt): boolean =>
  offered !== undefined && listOf(client.token_exchange_resources).includes(resource)

const limitedTo = ({ resource = [] }: Token): Verdict =>
  refuse('invalid_target', `the impersonation is limited to ${[resource].flat().join(', ')}`)

/** And one that has JWTs. */
const isElsewhere = ({ audience }: AccessToken, { resource }: PassAttempt): boolean =>
  resource !== audience && ALL_RESOURCES[resource]?.accessTokenFormat !== 'opaque'

const grantedScope = ({ token, scope = '' }: AccessToken, { scopes, client, offered }: PassAttempt) =>
  scopeOf({ scopes, client, ceilings: [offered, token?.scope, scope], mayAct: false })

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
