/** What the naive server issues: the response, the token and its claims. */
import { randomUUID } from 'node:crypto'
import { signJwt, signShared } from './jwt.ts'
import { ACCESS_TOKEN, parameter } from './request.ts'
import {
  now,
  type Payload,
  type Permission,
  type RegisteredClient,
  type Resource,
  type State,
  secret,
} from './state.ts'

const LIFE = 300

/** What the subject token permits. */
export interface Subject {
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

export interface Sender {
  readonly client: RegisteredClient
  readonly jkt: string | undefined
  readonly certificate: string | undefined
}

interface Granted {
  readonly form: URLSearchParams
  readonly sender: Sender
  readonly subject: Subject
  readonly actor: Payload | undefined
  readonly resource: Resource
  readonly scope: readonly string[]
}

export function respond(state: State, granted: Granted): Payload {
  const { faults } = state
  const has = (fault: string) => faults.has(fault)
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
  const has = (fault: string) => faults.has(fault)
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
