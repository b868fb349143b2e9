/** The token exchange of the naive server. */
import { randomUUID } from 'node:crypto'
import { setImmediate as aMoment } from 'node:timers/promises'
import type { Fault } from './faults.ts'
import { signJwt, signShared } from './jwt.ts'
import { proven } from './proofs.ts'
import {
  ACCESS_TOKEN,
  assertParameters,
  authenticate,
  grantScope,
  parameter,
  resolveResource,
  TOKEN_EXCHANGE,
} from './request.ts'
import {
  now,
  type Payload,
  type Permission,
  type RegisteredClient,
  type Resource,
  type State,
  secret,
} from './state.ts'
import { assertUnspent, bad, Refused, readAccessToken, readPermission } from './subject.ts'

const LIFE = 300

/** By their names in lower case. */
type RequestHeaders = Readonly<Record<string, string | undefined>>

/** What the subject token permits. */
interface Subject {
  readonly sub: unknown
  readonly act?: unknown
  readonly scope?: string
  readonly resource?: string
  readonly actor?: string
  readonly clientId?: unknown
  readonly exp?: number
  readonly audience?: unknown
  readonly cnf?: { readonly jkt?: unknown }
  readonly permission?: Permission
}

interface Sender {
  readonly client: RegisteredClient
  readonly jkt: string | undefined
  readonly certificate: string | undefined
}

export async function exchange(
  state: State,
  form: URLSearchParams,
  headers: RequestHeaders,
): Promise<Payload> {
  const { faults } = state
  const client = authenticate(state, headers, form)
  if (parameter(form, 'grant_type') !== TOKEN_EXCHANGE) throw new Refused('unsupported_grant_type')
  if (!client.mayExchange && !faults.has('grant-unchecked')) throw new Refused('unauthorized_client')
  assertParameters(state, form)
  if (faults.has('everything-refused')) throw bad('everything')
  const sender = await senderOf(state, client, headers)

  const subject = subjectOf(state, form, sender)
  const early = faults.has('spent-too-early')
  if (early && subject.permission) subject.permission.spent = true
  const actor = actorOf(state, form, sender)
  assertMayAct(state, subject, actor)
  const resource = resolveResource(state, form)
  if (![undefined, resource.uri].includes(subject.resource) && !faults.has('other-resource-accepted'))
    throw new Refused('invalid_request', 'for another resource')
  const scope = grantScope(state, form, resource, subject.scope)
  if (faults.has('race')) await aMoment()
  if (subject.permission) {
    if (!faults.has('race') && !early) assertUnspent(state, subject.permission)
    subject.permission.spent = true
  }
  return respond(state, { form, sender, subject, actor, resource, scope })
}

async function senderOf(state: State, client: RegisteredClient, headers: RequestHeaders): Promise<Sender> {
  const jkt = await proven(state, headers.dpop)
  const certificate = client.binding === 'mtls' ? headers['x-client-certificate'] : undefined
  const lacks =
    (client.binding === 'dpop' && jkt === undefined) ||
    (client.binding === 'mtls' && certificate === undefined)
  if (lacks && !state.faults.has('binding-optional'))
    throw new Refused('invalid_request', 'a proof is required')
  return { client, jkt, certificate }
}

function subjectOf(state: State, form: URLSearchParams, { client, jkt }: Sender): Subject {
  const token = form.get('subject_token') ?? ''
  if (state.faults.has('crash-on-odd-input') && /[^\x20-\x7E]/.test(token)) throw new TypeError('odd')
  if (state.faults.has('crash-on-long-input') && token.length > 4000) throw new TypeError('long')
  if (state.mode === 'impersonation') {
    const permission = readPermission(state, token, client.id)
    return { ...permission, permission }
  }
  const payload = readAccessToken(state, token)
  assertMeantFor(state, payload)
  const { sub, act, scope, client_id: clientId, aud: audience, exp, cnf } = payload
  const bound = cnf as Subject['cnf']
  if (state.mode === 'access-tokens') assertKey(state, bound, jkt)
  else if (bound && jkt === undefined && !state.faults.has('child-unbound')) throw bad('bound to a key')
  return {
    sub,
    act,
    scope: String(scope),
    clientId,
    audience,
    exp: Number(exp),
    ...(bound && { cnf: bound }),
  }
}

function assertMeantFor({ faults, mode, refreshTokens }: State, payload: Payload): void {
  if ([...refreshTokens.values()].includes(payload)) return
  if (mode === 'on-behalf-of') {
    if (payload.aud !== API && !faults.has('subject-audience-ignored')) throw bad('for another API')
    return
  }
  const own = ['application', 'dpop-application', 'mtls-application']
  if (!own.includes(String(payload.client_id)) && !faults.has('other-client-accepted'))
    throw bad('for another client')
}

/** The audience by which the clients are known as an API. */
const API = 'https://shop.example.com'

function assertKey({ faults }: State, cnf: Subject['cnf'], jkt: string | undefined): void {
  if (cnf?.jkt !== undefined && cnf.jkt !== jkt && !faults.has('bound-as-bearer')) throw bad('bound to a key')
}

function actorOf(state: State, form: URLSearchParams, { client, jkt }: Sender): Payload | undefined {
  if (state.mode === 'on-behalf-of') {
    if (form.has('actor_token')) throw new Refused('invalid_request', 'actor_token is not supported')
    return { sub: client.id }
  }
  const token = parameter(form, 'actor_token')
  if (token === undefined) return undefined
  if (state.faults.has('actors-refused')) throw bad('actors')
  try {
    const payload = readAccessToken(state, token)
    assertKey(state, payload.cnf as Subject['cnf'], jkt)
    return payload
  } catch (error) {
    if (state.faults.has('bad-actor-ignored') && error instanceof Refused) return undefined
    throw error
  }
}

function assertMayAct({ faults }: State, { actor: only }: Subject, actor: Payload | undefined): void {
  if (only !== undefined && only !== actor?.sub && !faults.has('actor-constraint-ignored'))
    throw bad('another actor is expected')
}

interface Granted {
  readonly form: URLSearchParams
  readonly sender: Sender
  readonly subject: Subject
  readonly actor: Payload | undefined
  readonly resource: Resource
  readonly scope: readonly string[]
}

function respond(state: State, granted: Granted): Payload {
  const { faults } = state
  const has = (fault: Fault) => faults.has(fault)
  const { form, sender, subject, resource, scope } = granted
  const payload = claimsOf(state, granted)
  const access_token = tokenFor(state, resource, payload)
  if (subject.permission && resource.format === 'opaque') subject.permission.issued = access_token
  const bound = sender.jkt !== undefined && !has('cnf-dropped')
  const life = Number(payload.exp) - Number(payload.iat)
  const refresh =
    has('refresh-token-issued') || (has('refresh-by-scope') && /offline_access/.test(form.get('scope') ?? ''))
  return {
    access_token,
    ...(!has('no-issued-token-type') && {
      issued_token_type: has('requested-type-lied')
        ? (parameter(form, 'requested_token_type') ?? ACCESS_TOKEN)
        : ACCESS_TOKEN,
    }),
    token_type: has('no-token-type') ? 'N_A' : bound ? 'DPoP' : 'Bearer',
    ...(!has('no-expires-in') && {
      expires_in: has('expires-in-untrue') ? 86_400 : has('milliseconds') ? life / 1000 : life,
    }),
    ...(scope.length > 0 && !has('scope-untold') && { scope: scope.join(' ') }),
    ...(refresh && { refresh_token: secret() }),
  }
}

function tokenFor(state: State, { format }: Resource, payload: Payload): string {
  const { faults, opaque } = state
  if (format === 'jwt' || faults.has('jwt-everywhere')) {
    if (faults.has('symmetric-tokens')) return signShared(payload)
    const token = signJwt(state, payload, faults.has('plain-jwt') ? 'JWT' : 'at+jwt')
    return faults.has('token-cached') ? cached(state, payload, token) : token
  }
  const token = faults.has('short-tokens') ? `token-${opaque.size}` : secret()
  opaque.set(token, payload)
  return token
}

/** What was issued first for the same claims, times and id aside. */
function cached({ cache }: State, { iat, exp, jti, ...payload }: Payload, token: string): string {
  const key = JSON.stringify(payload)
  const first = cache.get(key) ?? token
  cache.set(key, first)
  return first
}

function claimsOf(state: State, { form, sender, subject, actor, resource, scope }: Granted): Payload {
  const { faults, issuer } = state
  const has = (fault: Fault) => faults.has(fault)
  const unit = has('milliseconds') ? 1000 : 1
  const end = now() + LIFE
  const isLimited = state.mode === 'on-behalf-of' && !has('lives-longer')
  const exp = isLimited ? Math.min(end, subject.exp ?? end) : end
  const act = actClaim(state, subject, actor)
  const swapped = has('subject-and-actor-swapped') && actor !== undefined && state.mode !== 'on-behalf-of'
  const copied = has('cnf-copied') ? subject.cnf : undefined
  const cnf = copied ?? confirmation(state, sender)
  return {
    iss: has('issuer-with-slash') ? `${issuer}/` : issuer,
    sub: has('sub-is-client') ? sender.client.id : swapped ? actor.sub : subject.sub,
    aud: audience(state, form, subject, resource),
    client_id: has('wrong-client-id') ? 'someone-else' : sender.client.id,
    iat: now() * unit,
    exp: exp * unit,
    ...(!has('no-jti') && { jti: has('same-jti') ? 'constant' : randomUUID() }),
    ...(scope.length > 0 && !has('scope-not-in-token') && { scope: scope.join(' ') }),
    ...(act !== undefined && { act: swapped ? { sub: subject.sub } : act }),
    ...(has('act-from-claims') && { act: { sub: 'custom' } }),
    ...(has('act-from-parameters') && form.has('act') && { act: JSON.parse(form.get('act') ?? '') }),
    ...(cnf && { cnf }),
    ...(has('subject-token-inside') && { origin: form.get('subject_token') }),
  }
}

function confirmation({ faults }: State, { jkt, certificate }: Sender): Payload | undefined {
  if (jkt !== undefined) return faults.has('cnf-dropped') ? undefined : { jkt }
  if (certificate === undefined || faults.has('certificate-forgotten')) return undefined
  return { 'x5t#S256': certificate }
}

function audience(
  { faults, issuer }: State,
  form: URLSearchParams,
  subject: Subject,
  { uri }: Resource,
): unknown {
  if (faults.has('audience-copied') && form.has('audience')) return form.get('audience')
  if (faults.has('own-audience-too')) return [uri, issuer]
  if (faults.has('parent-audience-kept') && subject.audience !== undefined) return [subject.audience, uri]
  return uri
}

function actClaim(
  { faults, mode }: State,
  subject: Subject,
  actor: Payload | undefined,
): Payload | undefined {
  if (!actor || faults.has('act-missing')) return undefined
  const earlier = mode === 'on-behalf-of' ? subject.act : actor.act
  if (faults.has('act-with-everything') && mode !== 'on-behalf-of') return actor
  if (earlier === undefined || faults.has('chain-dropped')) return { sub: actor.sub }
  if (faults.has('chain-reversed')) return { ...(earlier as Payload), act: { sub: actor.sub } }
  return { sub: actor.sub, act: earlier }
}
