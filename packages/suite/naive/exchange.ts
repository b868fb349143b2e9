/** The token exchange of the naive server. */
import { setImmediate as aMoment } from 'node:timers/promises'
import { respond, type Sender, type Subject } from './issue.ts'
import { proven } from './proofs.ts'
import {
  assertParameters,
  authenticate,
  grantScope,
  parameter,
  resolveResource,
  TOKEN_EXCHANGE,
} from './request.ts'
import type { Payload, RegisteredClient, State } from './state.ts'
import { assertUnspent, bad, Refused, readAccessToken, readPermission } from './subject.ts'

/** By their names in lower case. */
type RequestHeaders = Readonly<Record<string, string | undefined>>

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
