/**
 * Whichever path a read-only impersonation takes, and whichever door it leaves by, what comes out says so; of one that is not, it
 * does not; and where the resource or the application has not declared that it obeys, nothing comes out (docs/protocol.md §11).
 */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ClientMetadata, Configuration, ResourceServer } from 'oidc-provider'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { CERTIFICATE, publicClient } from '../../../fixtures/clients.ts'
import { API, OPAQUE_API } from '../../../fixtures/deployment.ts'
import { type DpopKey, dpopKey } from '../../../fixtures/dpop.ts'
import type { HttpResponse, Parameters } from '../../../fixtures/http.ts'
import { postRevocation } from '../../../fixtures/management.ts'
import * as apis from '../../../fixtures/on-behalf-of.ts'
import { initialAccessToken, register, storeClient, update } from '../../../fixtures/registration.ts'
import { exchange, introspect, issue, keptToken } from '../../../fixtures/requests.ts'
import type { ImpersonationOptions } from '../../../src/options.ts'
import { errorOf, type Given, inScene, type Scene, shop } from '../../spec/arriving.ts'

type Use = 'exchange' | 'session'
type Door = keyof typeof DOORS

/** One thing that is not as in the plain case. */
interface Path {
  readonly resource?: string
  readonly configuration?: Configuration
  readonly options?: Partial<ImpersonationOptions>
  /** What the option `readOnly` was when the subject token was issued, which then names no `readOnly` itself. */
  readonly byOption?: true
  /** Of every request of the token endpoint. */
  readonly headers?: (scene: Scene) => Promise<Record<string, string>> | Record<string, string>
  /** Of an exchange, beside the subject token. */
  readonly actor?: (scene: Scene, isReadOnly: boolean) => Promise<Parameters>
  /** Who sends the requests of the door. */
  readonly client?: (scene: Scene, door: Door) => Promise<ClientMetadata>
  /** The subject token is the one in which another impersonation goes on. */
  readonly continues?: true
  /** The access token goes on through more APIs, and this is the last one. */
  readonly goesOn?: true
  /** The reserved claim that a function of the deployment returns is a mistake there, and nothing comes out at all. */
  readonly fails?: readonly Door[]
  /** The application takes back, between the button and its arrival, that it obeys. */
  readonly closes?: true
  /** Why a door is not reached by this path. */
  readonly never?: Readonly<Partial<Record<Door, string>>>
}

const key: Promise<DpopKey> = dpopKey()
/** What the functions of the deployment say: the opposite of what the record is. */
const lies = { read_only: false }

const GUARDED = shop({ impersonation_read_only: true })
const MADE = { 'an exchange': publicClient(), 'a session': GUARDED, 'on behalf of': apis.apiClient() }

/** It registered itself, as it was allowed to, and would like to declare something else. */
async function updated(scene: Scene, door: Door): Promise<ClientMetadata> {
  const { client_id: _, client_secret: __, ...metadata } = MADE[door]
  const { body } = await register(scene, metadata, await initialAccessToken(scene, ['impersonation']))
  for (const value of [true, false, undefined].filter((it) => it !== metadata.impersonation_read_only)) {
    const { body: refused } = await update(body, { impersonation_read_only: value })
    expect(refused.error_description).to.match(/^impersonation_read_only (is not for|may not)/)
  }
  return (await update(body)).body
}

const PATHS: Readonly<Record<string, Path>> = {
  'a JWT': {},
  'an opaque token': { resource: OPAQUE_API },
  'a chain of APIs': { options: { onBehalfOf: { hops: 4 } }, goesOn: true },
  'a read-only actor token': {
    options: { maxDelegationDepth: 2 },
    async actor(scene, isReadOnly) {
      const carol = { userId: 'carol', readOnly: isReadOnly }
      const { accessToken } = await apis.viewed(scene, { resource: OPAQUE_API, scope: 'openid' }, carol)
      return withActor(accessToken)
    },
    never: { 'a session': 'the engineer signs in, and sends no token' },
  },
  'another one that goes on': { continues: true },
  DPoP: { headers: async (scene) => ({ dpop: await (await key).proof(scene) }) },
  'mutual TLS': {
    configuration: {
      features: {
        mTLS: {
          enabled: true,
          certificateBoundAccessTokens: true,
          getCertificate: (ctx) => decodeURIComponent(ctx.get('x-client-certificate')),
        },
      },
    },
    headers: () => ({ 'x-client-certificate': encodeURIComponent(CERTIFICATE) }),
    async client(scene, door) {
      const bound = { client_id: 'bound', tls_client_certificate_bound_access_tokens: true }
      await storeClient(scene, { ...MADE[door], ...bound })
      return { ...MADE[door], ...bound }
    },
  },
  'an option that changes': { byOption: true },
  'a customizer': {
    configuration: {
      formats: { customizers: { jwt: (_ctx, _token, { payload }) => void Object.assign(payload, lies) } },
    },
  },
  'extra claims': {
    configuration: { extraTokenClaims: () => lies },
    resource: OPAQUE_API,
    fails: ['an exchange', 'on behalf of'],
  },
  'a claims function': {
    options: { getCustomJwtClaims: () => lies },
    fails: ['an exchange', 'a session', 'on behalf of'],
  },
  "an account's claims": {
    configuration: { findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...lies }) }) },
  },
  'a policy that changes what it hears': {
    options: { isAllowed: (request) => Reflect.set(request, 'readOnly', lies.read_only) || true },
  },
  "a client's update": {
    configuration: {
      features: {
        registration: { enabled: true, initialAccessToken: true },
        registrationManagement: { enabled: true },
      },
    },
    client: updated,
  },
}

/** Each returns the tokens that came out, and what userinfo says, or the response that refused. */
const DOORS = {
  'an exchange': async (scene: Scene, path: Path, isReadOnly: boolean) => {
    const response = await exchanged(scene, path, isReadOnly, await path.client?.(scene, 'an exchange'))
    return response.status === 200 ? [accessTokenOf(response)] : response
  },
  /** Twice: for an API, and for userinfo. */
  'a session': async (scene: Scene, path: Path, isReadOnly: boolean) => {
    const client = (await path.client?.(scene, 'a session')) ?? GUARDED
    const out: (string | object)[] = []
    for (const resource of [path.resource ?? API, undefined]) {
      const { client_id } = client
      const { id, subjectToken } = await issuedOn(path, scene, 'session', isReadOnly, client_id)
      const browser = await scene.signedIn()
      await scene.arm(browser, subjectToken)
      if (path.closes)
        Object.assign((await scene.provider.Client.find(client_id)) ?? {}, { impersonation_read_only: false })
      const request = { client_id, ...(resource && { resource, scope: 'openid orders:read' }) }
      const arrival = await scene.authorize(browser, request)
      const error = errorOf(arrival)
      if (error) {
        expect((await scene.record(id))?.use).to.equal(undefined)
        const error_description = arrival.location?.searchParams.get('error_description')
        return { status: 400, body: { error, error_description } }
      }
      if (arrival.status === 500) return { status: 500, body: { error: 'server_error' } }
      const headers = { ...(await path.headers?.(scene)) }
      const response = await scene.redeem(arrival, resource ? { resource } : {}, client, headers)
      out.push(accessTokenOf(response), response.body.id_token as string)
      if (!resource && !path.headers) out.push((await scene.userinfo(accessTokenOf(response))).body)
    }
    return out
  },
  'on behalf of': async (scene: Scene, path: Path, isReadOnly: boolean) => {
    const response = await exchanged(scene, path, isReadOnly)
    if (response.status !== 200) return response
    const client = (await path.client?.(scene, 'on behalf of')) ?? apis.apiClient()
    const headers = { ...(await path.headers?.(scene)) }
    const passed = await apis.passOn(scene, accessTokenOf(response), {}, { client, headers })
    return passed.status === 200 ? [accessTokenOf(passed)] : passed
  },
}

function accessTokenOf({ status, body, text }: HttpResponse): string {
  expect(status, text).to.equal(200)
  return body.access_token
}

async function issuedOn(path: Path, scene: Scene, use: Use, isReadOnly: boolean, clientId?: string) {
  lies.read_only = !isReadOnly
  const { database, issuer, door, store } = scene
  const token = await keptToken(scene)
  const issued = (by: Scene, readOnly?: boolean) =>
    issue(by, { use, clientId, ...(use === 'session' && { actorId: 'bob' }), readOnly }, token)
  if (path.byOption) {
    // A process with another option, of the same provider.
    const shared = { ...{ database, issuer }, sessions: { door }, options: { store } }
    return inScene(givenOf(path, shared, isReadOnly), issued)
  }
  const next = await issued(scene, isReadOnly)
  if (path.continues) {
    const { id } = await issued(scene, isReadOnly)
    const { body } = await postRevocation(scene, { id, cause: 'continued', continuedBy: next.id })
    expect(body).to.deep.equal({ revoked: 1 })
  }
  return next
}

async function exchanged(scene: Scene, path: Path, isReadOnly: boolean, client = publicClient()) {
  const { subjectToken } = await issuedOn(path, scene, 'exchange', isReadOnly)
  const { resource = API } = path
  const actor = path.actor?.(scene, isReadOnly) ?? actorToken(scene).then(withActor)
  const parameters = { subject_token: subjectToken, resource, scope: 'orders:read', ...(await actor) }
  return exchange(scene, parameters, { client, headers: { ...(await path.headers?.(scene)) } })
}

/** Orders has passed it on to billing, or billing passes it on now; and so on, back to where it began. */
async function toTheEnd(scene: Scene, token: string): Promise<string> {
  let last = token
  if (decodeJwt(last).aud === API) last = accessTokenOf(await apis.passOn(scene, last))
  const { LEDGER: resource, billingApi, ledgerApi, passOn } = apis
  last = accessTokenOf(await passOn(scene, last, { resource }, { client: billingApi() }))
  return accessTokenOf(await passOn(scene, last, { resource: API }, { client: ledgerApi() }))
}

const isIdToken = (token: string): boolean => token.includes('.') && !decodeJwt(token).client_id

const { resources = {}, clients = [] } = apis.downstream()

const givenOf = ({ configuration = {}, options }: Path, changes: Given = {}, readOnly = false): Given => ({
  configuration,
  clients: [GUARDED, ...clients],
  resources: declaredBut(),
  ...changes,
  options: { onBehalfOf: true, readOnly, ...options, ...changes.options },
})

/** All resources have declared that they obey, but this one. */
const declaredBut = (undeclared?: string): Record<string, ResourceServer> =>
  Object.fromEntries(
    Object.entries(resources).map(([name, server]) => [name, { ...server, readOnly: name !== undeclared }]),
  )

/** What is read-only is refused. */
const refuses = (path: Path, door: Door, given: Given, expected: object) =>
  inScene(givenOf(path, given), async (scene) => {
    const out = await DOORS[door](scene, path, true)
    if (Array.isArray(out)) return expect.fail('a token')
    const { error, error_description: text } = out.body
    const reasons = scene.events.flatMap(({ name, payload }) =>
      name.endsWith('.refused') ? [Reflect.get(payload, 'reason')] : [],
    )
    expect({ status: out.status, error, text, reasons }).to.deep.include(expected)
  })

const UNDECLARED = 'the impersonation is read-only, and the resource does not say that it obeys this'
const BY_RESOURCE = { status: 400, error: 'invalid_target', text: UNDECLARED, reasons: [UNDECLARED] }
const BY_APPLICATION = {
  ...{ status: 400, error: 'access_denied' },
  reasons: ['read-only, which the client does not obey'],
}

async function assertSays(scene: Scene, path: Path, out: string | object, isReadOnly: boolean) {
  const isAccessToken = typeof out === 'string' && !isIdToken(out)
  const end = path.goesOn && isAccessToken && out.includes('.') ? await toTheEnd(scene, out) : out
  const read = async (token: string) => (token.includes('.') ? decodeJwt(token) : introspect(scene, token))
  const { read_only: said, cnf } = typeof end === 'string' ? await read(end) : { ...Object(end) }
  // An access token of what is not read-only says nothing, and what tells of the person says that it is not.
  expect(said, JSON.stringify(end)).to.equal(isReadOnly || (isAccessToken ? undefined : false))
  if (path.headers && isAccessToken) expect(cnf).to.be.an('object')
}

const reasons = Object.values(PATHS).flatMap(({ never = {} }) => Object.values(never))

describe(`read only: each path, by each door, but ${reasons.length} that cannot be`, () => {
  for (const [name, path] of Object.entries(PATHS))
    for (const door of Object.keys(DOORS) as Door[]) {
      if (path.never?.[door] !== undefined) continue
      if (path.fails?.includes(door)) {
        it(`${name}, ${door}: fails`, () => refuses(path, door, {}, { status: 500, error: 'server_error' }))
        continue
      }
      for (const isReadOnly of [true, false])
        it(`${name}, ${door}: says ${isReadOnly ? 'that it is' : 'no such thing'}`, () =>
          inScene(givenOf(path), async (scene) => {
            const out = await DOORS[door](scene, path, isReadOnly)
            if (!Array.isArray(out)) return expect.fail(JSON.stringify(out.body))
            for (const one of out) await assertSays(scene, path, one, isReadOnly)
          }))
      it(`${name}, ${door}: does not come out where the resource has not declared it`, () => {
        const target = door === 'on behalf of' ? apis.BILLING : (path.resource ?? API)
        return refuses(path, door, { resources: declaredBut(target) }, BY_RESOURCE)
      })
      if (door === 'a session')
        it(`${name}, ${door}: does not come out where the application has not declared it`, () =>
          refuses({ ...path, closes: true }, door, {}, BY_APPLICATION))
    }
})
