/** The verifier with tokens of a real provider: of an impersonation, and of a tree of APIs behind it (protocol.md §8). */
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { introspectingClient, machineClient } from '../../../fixtures/clients.ts'
import { whileStopped } from '../../../fixtures/clock.ts'
import { API, OPAQUE_API, useDeployment } from '../../../fixtures/deployment.ts'
import { dpopKey } from '../../../fixtures/dpop.ts'
import type { Parameters } from '../../../fixtures/http.ts'
import { login, loginClient } from '../../../fixtures/logins.ts'
import { manage } from '../../../fixtures/management.ts'
import {
  BILLING,
  billingApi,
  downstream,
  LEDGER,
  ownToken,
  passedOn,
  passOn,
  viewed,
} from '../../../fixtures/on-behalf-of.ts'
import { exchange, issue, managementToken } from '../../../fixtures/requests.ts'
import { assertInPerson, assertScope, type Caller, createVerifier, type Verifier } from '../src/index.ts'
import { expectInvalidToken, refusalOf } from './refusals.ts'

const { client_id: clientId, client_secret: clientSecret = '' } = introspectingClient()
const batch: ClientMetadata = machineClient({ client_id: 'batch', scope: undefined })
const SCOPE = 'orders:read'
const APIS = { orders: API, opaque: OPAQUE_API, billing: BILLING, ledger: LEDGER }
type Name = keyof typeof APIS
const KINDS = { JWT: 'orders', 'opaque token': 'opaque' } as const

describe('resource server: with a provider', () => {
  const options = {
    onBehalfOf: { hops: 2 },
    maxDelegationDepth: 2,
    getCustomJwtClaims: () => ({ ticket: 'T-1' }),
  }
  const deployment = useDeployment(downstream(options, { clients: [loginClient(), batch] }))
  const verifiers = new Map<string, Verifier>()
  before(() => {
    const { issuer } = deployment
    for (const audience of Object.values(APIS)) {
      const introspection = audience === OPAQUE_API ? { clientId, clientSecret } : undefined
      verifiers.set(audience, createVerifier({ issuer, audience, requireStatus: true, introspection }))
    }
  })

  /** Presents the token to an API. */
  async function at(name: Name, token: string, dpop?: string): Promise<Caller> {
    const authorization = `${dpop ? 'DPoP' : 'Bearer'} ${token}`
    const request = new Request(`${APIS[name]}/x`, { headers: { authorization, ...(dpop && { dpop }) } })
    return (verifiers.get(APIS[name]) as Verifier)(request)
  }

  /** The token of an exchange without actor. */
  const exchanged = async (changes: Parameters = {}, headers = {}): Promise<string> => {
    const { subjectToken } = await issue(deployment)
    const request = { subject_token: subjectToken, scope: SCOPE, ...changes }
    const response = await exchange(deployment, request, { headers })
    expect(response.status, response.text).to.equal(200)
    return response.body.access_token
  }

  const viewedAt = async (resource: string) =>
    (await viewed(deployment, { resource, scope: SCOPE })).accessToken
  /** The token of billing that an API exchanges for this one. */
  const passed = async (token: string, changes: Parameters = {}, sent = {}): Promise<string> =>
    (await passedOn(deployment, token, { scope: SCOPE, ...changes }, sent)).accessToken

  for (const [kind, name] of Object.entries(KINDS)) {
    const resource = APIS[name]
    it(`reads everything that the ${kind} of an impersonation says`, async () => {
      const whole = await at(name, await viewedAt(resource))
      const { tokenId, claims, ...caller } = whole
      expect(caller).to.deep.include({
        user: 'alice',
        actor: { sub: 'bob' },
        actors: [{ sub: 'bob' }],
        through: [],
        impersonated: true,
        clientId: 'spa',
        scopes: [SCOPE],
      })
      expect(claims).to.include({ ticket: 'T-1' }).and.not.have.any.keys('active', 'token_type')
      expect(tokenId).to.equal(claims.jti)
      if (resource === API) expect(tokenId).to.match(/^[\w-]{20,}$/)
      else expect(tokenId).to.equal(undefined)
      expect(() => assertScope(whole, SCOPE)).not.to.throw()
      expect((await refusalOf(() => assertScope(whole, 'orders:write'))).status).to.equal(403)
    })

    it(`takes a client's own ${kind} for the client's`, async () => {
      const token = await managementToken(deployment, { client: batch, scope: null, resource })
      const own = { user: 'batch', clientId: 'batch', impersonated: false }
      expect(await at(name, token)).to.include(own)
    })
  }

  for (const [title, name] of [
    ...Object.entries(KINDS),
    ['token that an API exchanged', 'billing'] as const,
  ]) {
    it(`holds a bound ${title} to its key`, async () => {
      const key = await dpopKey()
      const headers = { dpop: await key.proof(deployment) }
      const token =
        name === 'billing'
          ? await passed(await ownToken(deployment), {}, { headers })
          : await exchanged({ resource: APIS[name] }, headers)
      const proof = await key.proofAt(`${APIS[name]}/x`, token)
      expect(await at(name, token, proof)).to.include({ user: 'alice' })
      await expectInvalidToken(at(name, token), 'presented as Bearer')
    })
  }

  it('refuses what was not issued for it', async () => {
    const { tokens } = await login(deployment)
    const [[, orders], [, billing]] = await treeOf(await viewedAt(API))
    for (const [name, token] of [
      ['orders', await managementToken(deployment)],
      ['orders', await actorToken(deployment, { format: 'jwt', audience: OPAQUE_API })],
      ['orders', tokens.id_token],
      ['orders', billing],
      ['billing', orders],
      ['opaque', tokens.refresh_token],
      ['opaque', tokens.access_token],
      ['opaque', 'unknown'],
    ] as const)
      await expectInvalidToken(at(name, token))
  })

  /** The token that an API received, and what two APIs, one after the other, make of it: for whom each one is. */
  async function treeOf(received: string) {
    const billing = await passed(received)
    const ledger = await passed(billing, { resource: LEDGER }, { client: billingApi() })
    const first: Name = received.includes('.') ? 'orders' : 'opaque'
    return [[first, received] as const, ['billing', billing] as const, ['ledger', ledger] as const] as const
  }
  type Tree = Awaited<ReturnType<typeof treeOf>>

  const callersOf = (tree: Tree): Promise<Caller[]> =>
    Promise.all(tree.map(([name, token]) => at(name, token)))

  /** In which alice, who is viewed by bob, views carol. */
  async function viewedByTwo(): Promise<string> {
    const { accessToken } = await viewed(deployment, { scope: `openid ${SCOPE}` })
    const { subjectToken } = await issue(deployment, { userId: 'carol' })
    const request = { subject_token: subjectToken, scope: SCOPE, ...withActor(accessToken) }
    return (await exchange(deployment, request)).body.access_token
  }

  const [alice, bob] = [{ sub: 'alice' }, { sub: 'bob' }]
  const received: [title: string, by: () => Promise<string>, expected: Partial<Caller>][] = [
    ['the engineer behind the JWT of an impersonation', () => viewedAt(API), { actors: [bob] }],
    ['the engineer behind its opaque token', () => viewedAt(OPAQUE_API), { actors: [bob] }],
    ['an impersonation without actor', () => exchanged(), {}],
    ['several people, newest first', viewedByTwo, { user: 'carol', actors: [alice, bob] }],
    ['the user alone', () => ownToken(deployment), { impersonated: false }],
  ]
  for (const [title, by, { user = 'alice', actors = [], impersonated = true }] of received) {
    it(`knows ${title}, and every API in between, newest first`, async () => {
      const callers = await callersOf(await treeOf(await by()))
      const through = [[], ['orders-api'], ['billing-api', 'orders-api']]
      expect(callers.map((caller) => caller.through)).to.deep.equal(through)
      for (const caller of callers) {
        expect(caller).to.deep.include({ user, actors, impersonated })
        expect(caller.actor).to.deep.equal(actors[0])
        const guard = () => assertInPerson(caller)
        if (impersonated) expect((await refusalOf(guard)).body.error).to.equal('access_denied')
        else expect(guard).not.to.throw()
      }
    })
  }

  it('refuses the whole tree within ttl and two seconds after a stop, and no other one', async () => {
    const stopped = await viewed(deployment, { scope: SCOPE })
    const tree = await treeOf(stopped.accessToken)
    const other = await treeOf(await viewedAt(API))
    for (const one of [tree, other]) await callersOf(one)
    expect((await manage(deployment, 'DELETE', `/${stopped.id}`)).status).to.equal(204)
    await whileStopped(async (clock) => {
      clock.tick(32)
      for (const [name, token] of tree) await expectInvalidToken(at(name, token), 'stopped')
      const { status, body } = await passOn(deployment, stopped.accessToken)
      expect([status, body.error]).to.deep.equal([400, 'invalid_request'])
      expect((await callersOf(other)).map(({ actor }) => actor)).to.deep.equal(Array(3).fill({ sub: 'bob' }))
    })
  })
})
