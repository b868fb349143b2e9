/** What must become of an exchange: granted, or refused by the first rule that it breaks (docs/protocol.md §3.1). */
import type { ClientMetadata } from 'oidc-provider'
import { ACTOR_TOKEN_REFUSED, SUBJECT_TOKEN_REFUSED } from '../../../fixtures/refused.ts'
import { TOKEN_EXCHANGE } from '../../../src/base/constants.ts'
import type { People } from '../setting.ts'
import { type AccessToken, isGood, linksOf, reaches, stateOf, type Token } from './model.ts'
import type { Requested } from './proving.ts'

export interface Attempt extends Requested {
  /** `undefined`: one that this issuer does not know. */
  readonly token: Token | undefined
  /** `null`: something that is no access token. */
  readonly actor: AccessToken | null | undefined
}

export interface Refusal {
  readonly status: 400 | 500
  readonly error: string
  readonly text?: string
  /** The event about it. */
  readonly event?: 'refused' | 'replayed'
}
interface Refused {
  readonly refused: Refusal
}
export type Verdict = { readonly granted: { readonly scope?: string } } | Refused

export const refuse = (error: string, text?: string, status: 400 | 500 = 400): Refused => ({
  refused: { status, error, text, event: 'refused' },
})
export const SUBJECT = refuse(SUBJECT_TOKEN_REFUSED.error, SUBJECT_TOKEN_REFUSED.error_description)
const ACTOR = refuse(ACTOR_TOKEN_REFUSED.error, ACTOR_TOKEN_REFUSED.error_description)
const REPLAYED: Verdict = { refused: { ...SUBJECT.refused, event: 'replayed' } }
export const TARGET = refuse('invalid_target', 'resource indicator is missing, or unknown')
export const SCOPE = refuse('invalid_scope', 'none of the requested scopes can be granted')
const DENIED = refuse('access_denied', 'the request was denied by policy')
const FAILED = refuse('server_error', 'oops! something went wrong', 500)
export const PROOF = refuse('invalid_dpop_proof')
export const PROOF_USED = refuse('invalid_grant')
/** Before the handler of the grant, so that there is no event. */
export const BARRED: Verdict = {
  refused: {
    status: 400,
    error: 'invalid_request',
    text: 'requested grant type is not allowed for this client',
  },
}

export function judge(attempt: Attempt, people: People, now: number): Verdict {
  const { client, proof } = attempt
  if (!client.grant_types?.includes(TOKEN_EXCHANGE)) return BARRED
  // An API, which nothing is looked up for.
  if (client.token_exchange_audiences) return SUBJECT
  if (proof === 'garbage') return PROOF
  const scope = grantedScope(attempt)
  return (
    judgeSubject(attempt, people, now) ??
    judgeActor(attempt, people, now) ??
    judgeTarget(attempt) ??
    (attempt.scopes.length > 0 && scope === undefined ? SCOPE : undefined) ??
    judgeContext(attempt.token?.context.exchange, attempt.token?.context.claims) ??
    (proof === 'used' ? PROOF_USED : { granted: { scope } })
  )
}

function judgeSubject({ token, client }: Attempt, people: People, now: number): Verdict | undefined {
  if (!token || token.purged) return SUBJECT
  if (token.use) return REPLAYED
  if (stateOf(token, now) !== 'active') return SUBJECT
  if (token.clientId !== undefined && token.clientId !== client.client_id) return SUBJECT
  return people.accountOf(token.userId) === undefined ? SUBJECT : undefined
}

function judgeActor(attempt: Attempt, people: People, now: number): Verdict | undefined {
  const { actor, token, rules } = attempt
  if (actor === undefined) return token?.actorId === undefined ? undefined : SUBJECT
  if (actor === null || !isValid(actor, attempt, now)) return ACTOR
  if (!hasScope(actor, 'openid') || people.accountOf(actor.sub) === undefined) return ACTOR
  if (actor.jkt !== undefined && attempt.proof === undefined) return ACTOR
  const chain = chainOf(actor)
  const twice = new Set(chain).size < chain.length
  if (twice || chain.includes(token?.userId ?? '') || chain.length > rules.maxDelegationDepth) return ACTOR
  return token?.actorId !== undefined && token.actorId !== actor.sub ? SUBJECT : undefined
}

const isValid = (actor: AccessToken, { issuer }: Attempt, now: number): boolean =>
  actor.issuer === issuer &&
  isGood(actor, now) &&
  actor.token?.revokedAt === undefined &&
  !(actor.format === 'jwt' && actor.client.subject_type === 'pairwise')

export const hasScope = ({ scope = '' }: AccessToken, name: string): boolean =>
  scope.split(' ').includes(name)

/** Account ids, the newest first. */
const chainOf = ({ sub, token }: AccessToken): string[] => [sub, ...linksOf(token?.use?.actor)]

function judgeTarget({ offered, client, resource, token }: Attempt): Verdict | undefined {
  if (offered === undefined) return TARGET
  const allowed = client.token_exchange_resources
  if (Array.isArray(allowed) && !allowed.includes(resource)) return TARGET
  return token && !reaches(token, resource) ? SUBJECT : undefined
}

/** Scopes that are the provider's own as well as the resource's. */
const OF_THE_PROVIDER = ['openid', 'profile', 'offline_access']

interface Asked {
  readonly scopes: readonly string[]
  readonly client: ClientMetadata
  /** What each of these does not name is not granted. */
  readonly ceilings: readonly (string | undefined)[]
  readonly mayAct: boolean
}

export function scopeOf({ scopes, client, ceilings, mayAct }: Asked): string | undefined {
  const registered = client.scope?.split(' ')
  const granted = [...new Set(scopes)].filter(
    (scope) =>
      scope !== 'offline_access' &&
      (scope !== 'openid' || mayAct) &&
      ceilings.every((ceiling) => ceiling === undefined || ceiling.split(' ').includes(scope)) &&
      (!registered || !OF_THE_PROVIDER.includes(scope) || registered.includes(scope)),
  )
  return granted.length > 0 ? granted.join(' ') : undefined
}

const grantedScope = ({ scopes, offered = '', token, client, actor, rules }: Attempt): string | undefined =>
  scopeOf({
    scopes,
    client,
    ceilings: [offered, token?.scope],
    mayAct: actor !== undefined && rules.maxDelegationDepth > 1,
  })

/** The functions of the deployment do what the context says, the policy first: see `optionsFor`. */
export function judgeContext(policy: unknown, claims: unknown): Verdict | undefined {
  const told = policy ?? claims
  if (told === undefined) return undefined
  return told === 'deny' ? DENIED : FAILED
}
