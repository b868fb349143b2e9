/**
 * Whichever path a read-only impersonation takes, and whichever door it leaves by, what comes out says so; of one that is not, it
 * does not; and where the resource has not declared that it obeys, nothing comes out (docs/protocol.md §11).
 */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Configuration, ResourceServer } from 'oidc-provider'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { CERTIFICATE } from '../../../fixtures/clients.ts'
import { API, OPAQUE_API } from '../../../fixtures/deployment.ts'
import { type DpopKey, dpopKey } from '../../../fixtures/dpop.ts'
import type { HttpResponse, Parameters } from '../../../fixtures/http.ts'
import { BILLING, billingApi, downstream, LEDGER, ledgerApi, passOn } from '../../../fixtures/on-behalf-of.ts'
import { exchange, introspect } from '../../../fixtures/requests.ts'
import type { ImpersonationOptions } from '../../../src/options.ts'
import { errorOf, type Given, type Scene, shop, startScene } from '../../spec/arriving.ts'

type Headers = Readonly<Record<string, string>>
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
  readonly headers?: (scene: Scene) => Promise<Headers> | Headers
  /** Of an exchange, beside the subject token. */
  readonly actor?: (scene: Scene, isReadOnly: boolean) => Promise<Parameters>
  /** The subject token is the one in which another impersonation goes on. */
  readonly continues?: true
  /** The access token goes on through more APIs, and this is the last one. */
  readonly goesOn?: true
  /** The reserved claim that a function of the deployment returns is a mistake there, and nothing comes out at all. */
  readonly fails?: readonly Door[]
  /** Why a door is not reached by this path. */
  readonly never?: Readonly<Partial<Record<Door, string>>>
}

const key: Promise<DpopKey> = dpopKey()
const lies = { read_only: false }

/** An update of a client changes neither what it obeys nor what it gets: `MAY_NOT` of test/spec/sign-in-values.ts, and R10. */
const PATHS: Readonly<Record<string, Path>> = {
  'a JWT': {},
  'an opaque token': { resource: OPAQUE_API },
  'a chain of APIs': { options: { onBehalfOf: { hops: 4 } }, goesOn: true },
  'a read-only actor token': {
    options: { maxDelegationDepth: 2 },
    async actor(scene, isReadOnly) {
      const first = await issued(scene, 'exchange', { userId: 'carol', readOnly: isReadOnly })
      const bob = withActor(await actorToken(scene))
      const parameters = { subject_token: first.token, resource: OPAQUE_API, scope: 'openid', ...bob }
      return withActor(accessTokenOf(await exchange(scene, parameters)))
    },
    never: { 'a session': 'the engineer signs in, and sends no token' },
  },
  'another one that goes on': { continues: true },
  DPoP: { headers: async (scene) => ({ dpop: await (await key).proof(scene) }) },
  'mutual TLS': {
    configuration: {
      clientDefaults: {
        id_token_signed_response_alg: 'ES256',
        tls_client_certificate_bound_access_tokens: true,
      },
      features: {
        mTLS: {
          enabled: true,
          certificateBoundAccessTokens: true,
          getCertificate: (ctx) => decodeURIComponent(ctx.get('x-client-certificate')),
        },
      },
    },
    headers: () => ({ 'x-client-certificate': encodeURIComponent(CERTIFICATE) }),
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
}

/** Each returns the tokens that came out, or the response that refused. */
const DOORS = {
  'an exchange': async (scene: Scene, path: Path, isReadOnly: boolean) => {
    const response = await exchanged(scene, path, isReadOnly)
    return response.status === 200 ? [accessTokenOf(response)] : response
  },
  'a session': async (scene: Scene, path: Path, isReadOnly: boolean) => {
    const { token } = await issuedOn(path, scene, 'session', isReadOnly)
    const browser = await scene.signedIn()
    await scene.arm(browser, token)
    const { resource = API } = path
    const arrival = await scene.authorize(browser, { resource, scope: 'openid orders:read' })
    const error = errorOf(arrival)
    if (error) return { status: 400, body: { error } }
    if (arrival.status === 500) return { status: 500, body: { error: 'server_error' } }
    const response = await scene.redeem(arrival, { resource }, undefined, {
      ...(await path.headers?.(scene)),
    })
    return [accessTokenOf(response), response.body.id_token as string]
  },
  'on behalf of': async (scene: Scene, path: Path, isReadOnly: boolean) => {
    const response = await exchanged(scene, path, isReadOnly)
    if (response.status !== 200) return response
    const passed = await passOn(
      scene,
      accessTokenOf(response),
      {},
      { headers: { ...(await path.headers?.(scene)) } },
    )
    return passed.status === 200 ? [accessTokenOf(passed)] : passed
  },
}

function accessTokenOf({ status, body, text }: HttpResponse): string {
  expect(status, text).to.equal(200)
  return body.access_token
}

async function issued(scene: Scene, use: Use, members: object) {
  const request = {
    userId: 'alice',
    clientId: use === 'session' ? 'shop' : 'spa',
    use,
    createdBy: 'the support tool',
  } as const
  const named = { ...request, ...(use === 'session' && { actorId: 'bob' }), ...members }
  const { subjectToken, id } = await scene.impersonation.records.issue(named)
  return { token: subjectToken, id }
}

async function issuedOn(path: Path, scene: Scene, use: Use, isReadOnly: boolean) {
  const members = path.byOption ? {} : { readOnly: isReadOnly }
  const before = path.byOption && (await startScene(givenOf(path, sharedWith(scene), isReadOnly)))
  try {
    const next = await issued(before || scene, use, members)
    if (path.continues) {
      const { id } = await issued(scene, use, members)
      await scene.impersonation.records.stop({ id, cause: 'continued', continuedBy: next.id })
    }
    return next
  } finally {
    if (before) await before.close()
  }
}

async function exchanged(scene: Scene, path: Path, isReadOnly: boolean): Promise<HttpResponse> {
  const { token } = await issuedOn(path, scene, 'exchange', isReadOnly)
  const actor = path.actor?.(scene, isReadOnly) ?? actorToken(scene).then(withActor)
  const { resource = API } = path
  const parameters = { subject_token: token, resource, scope: 'orders:read', ...(await actor) }
  return exchange(scene, parameters, { headers: { ...(await path.headers?.(scene)) } })
}

/** Orders has passed it on to billing, or billing passes it on now; and so on, back to where it began. */
async function toTheEnd(scene: Scene, token: string): Promise<string> {
  let last = token
  if (decodeJwt(last).aud === API) last = accessTokenOf(await passOn(scene, last))
  last = accessTokenOf(await passOn(scene, last, { resource: LEDGER }, { client: billingApi() }))
  return accessTokenOf(await passOn(scene, last, { resource: API }, { client: ledgerApi() }))
}

const claimsOf = async (scene: Scene, token: string) =>
  token.includes('.') ? decodeJwt(token) : introspect(scene, token)

const isIdToken = (token: string): boolean => token.includes('.') && decodeJwt(token).aud === 'shop'

const { resources = {}, clients = [] } = downstream()

const givenOf = ({ configuration = {}, options }: Path, changes: Given, readOnly: boolean): Given => ({
  configuration,
  clients: [shop({ impersonation_read_only: true }), ...clients],
  resources: declaredBut(),
  ...changes,
  options: { onBehalfOf: true, readOnly, ...options, ...changes.options },
})

/** A process with other options, of the same provider. */
const sharedWith = ({ issuer, door, store }: Scene): Given => ({
  issuer,
  sessions: { door },
  options: { store },
})

/** All resources have declared that they obey, but this one. */
const declaredBut = (undeclared?: string): Record<string, ResourceServer> =>
  Object.fromEntries(
    Object.entries(resources).map(([name, server]) => [name, { ...server, readOnly: name !== undeclared }]),
  )

async function inScene(path: Path, given: Given, use: (scene: Scene) => Promise<void>): Promise<void> {
  const scene = await startScene(givenOf(path, given, false))
  try {
    await use(scene)
  } finally {
    await scene.close()
  }
}

describe('read only: each path, by each door', () => {
  for (const [name, path] of Object.entries(PATHS))
    for (const door of Object.keys(DOORS) as Door[]) {
      if (path.never?.[door] !== undefined) continue
      if (path.fails?.includes(door)) {
        it(`${name}, ${door}: fails`, () =>
          inScene(path, {}, async (scene) => {
            const out = await DOORS[door](scene, path, true)
            if (Array.isArray(out)) return expect.fail('a token')
            expect([out.status, out.body.error]).to.deep.equal([500, 'server_error'])
          }))
        continue
      }
      for (const isReadOnly of [true, false])
        it(`${name}, ${door}: says ${isReadOnly ? 'that it is' : 'no such thing'}`, () =>
          inScene(path, {}, async (scene) => {
            const out = await DOORS[door](scene, path, isReadOnly)
            if (!Array.isArray(out)) return expect.fail(JSON.stringify(out.body))
            for (const token of out) {
              const end = path.goesOn && !isIdToken(token) ? await toTheEnd(scene, token) : token
              const { read_only: said = false } = await claimsOf(scene, end)
              expect(said, end).to.equal(isReadOnly)
            }
          }))
      it(`${name}, ${door}: does not come out where the resource has not declared it`, () => {
        const target = door === 'on behalf of' ? BILLING : (path.resource ?? API)
        return inScene(path, { resources: declaredBut(target) }, async (scene) => {
          const out = await DOORS[door](scene, path, true)
          if (Array.isArray(out)) return expect.fail('a token')
          expect([out.status, out.body.error]).to.deep.equal([400, 'invalid_target'])
        })
      })
    }
})
