/** The verifier with tokens of a real provider: of an impersonation, and of a tree of APIs behind it (protocol.md §8). */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { introspectingClient, machineClient } from '../../../fixtures/clients.ts'
import { stopClock } from '../../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API, startDeployment } from '../../../fixtures/deployment.ts'
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
import {
  assertInPerson,
  assertReadOnly,
  assertScope,
  type Caller,
  createVerifier,
  type Verifier,
} from '../src/index.ts'
import { expectInvalidToken, refusalOf } from './refusals.ts'

const { client_id: clientId, client_secret: clientSecret = '' } = introspectingClient()
const batch: ClientMetadata = machineClient({ client_id: 'batch', scope: undefined })
const SCOPE = 'orders:read'

const bearer = (resource: string, token: string) =>
  new Request(`${resource}/x`, { headers: { authorization: `Bearer ${token}` } })

describe('resource server: with a provider', () => {
  let deployment: Deployment
  let verifiers: Record<'orders' | 'opaque' | 'billing' | 'ledger', Verifier>
  before(async () => {
    const options = {
      onBehalfOf: { hops: 2 },
      maxDelegationDepth: 2,
      getCustomJwtClaims: () => ({ ticket: 'T-1' }),
    }
    deployment = await startDeployment(downstream(options, { clients: [loginClient(), batch] }))
    const verifier = (audience: string, more = {}) =>
      createVerifier({ issuer: deployment.issuer, audience, requireStatus: true, ...more })
    verifiers = {
      orders: verifier(API),
      opaque: verifier(OPAQUE_API, { introspection: { clientId, clientSecret } }),
      billing: verifier(BILLING),
      ledger: verifier(LEDGER),
    }
  })
  after(() => deployment.close())

  interface Tree {
    readonly orders: string
    readonly billing: string
    readonly ledger: string
  }

  /** What two APIs, one after the other, make of the token that the orders API received. */
  async function treeOf(received: string): Promise<Tree> {
    const billing = (await passedOn(deployment, received, { scope: SCOPE })).accessToken
    const sent = { client: billingApi() }
    const ledger = (await passedOn(deployment, billing, { resource: LEDGER, scope: SCOPE }, sent)).accessToken
    return { orders: received, billing, ledger }
  }

  /** The token of an exchange without actor. */
  const exchanged = async (changes: Parameters = {}, headers = {}): Promise<string> => {
    const { subjectToken } = await issue(deployment)
    const request = { subject_token: subjectToken, scope: SCOPE, ...changes }
    const response = await exchange(deployment, request, { headers })
    expect(response.status, response.text).to.equal(200)
    return response.body.access_token
  }

  const callersOf = async ({ orders, billing, ledger }: Tree): Promise<Caller[]> => [
    await verifiers[orders.includes('.') ? 'orders' : 'opaque'](
      bearer(orders.includes('.') ? API : OPAQUE_API, orders),
    ),
    await verifiers.billing(bearer(BILLING, billing)),
    await verifiers.ledger(bearer(LEDGER, ledger)),
  ]

  const people = (callers: readonly Caller[]) => callers.map(({ actors }) => actors.map(({ sub }) => sub))
  const apis = (callers: readonly Caller[]) => callers.map(({ through }) => through)

  for (const [kind, resource] of Object.entries({ JWT: API, 'opaque token': OPAQUE_API })) {
    it(`reads everything that the ${kind} of an impersonation says`, async () => {
      const { accessToken } = await viewed(deployment, { resource, scope: SCOPE })
      const verify = resource === API ? verifiers.orders : verifiers.opaque
      const { tokenId, claims, ...caller } = await verify(bearer(resource, accessToken))
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
      if (resource === API)
        expect(tokenId)
          .to.equal(claims.jti)
          .and.match(/^[\w-]{20,}$/)
      else expect([tokenId, claims.jti]).to.deep.equal([undefined, undefined])
      const whole = { ...caller, claims }
      expect(() => assertScope(whole, SCOPE)).not.to.throw()
      expect((await refusalOf(() => assertScope(whole, 'orders:write'))).status).to.equal(403)
    })

    it(`holds a bound ${kind} to its key`, async () => {
      const key = await dpopKey()
      const token = await exchanged({ resource }, { dpop: await key.proof(deployment) })
      const url = `${resource}/orders`
      const ath = createHash('sha256').update(token).digest('base64url')
      const dpop = await key.proof({ tokenEndpoint: url }, { htm: 'GET', ath })
      const verify = resource === API ? verifiers.orders : verifiers.opaque
      const headers = { authorization: `DPoP ${token}`, dpop }
      expect(await verify(new Request(url, { headers }))).to.include({ user: 'alice' })
      await expectInvalidToken(verify(bearer(resource, token)), 'presented as Bearer')
    })

    it(`takes a client's own ${kind} for the client's`, async () => {
      const token = await managementToken(deployment, { client: batch, scope: null, resource })
      const verify = resource === API ? verifiers.orders : verifiers.opaque
      expect(await verify(bearer(resource, token))).to.include({
        user: 'batch',
        clientId: 'batch',
        impersonated: false,
      })
    })
  }

  it('refuses what was not issued for it', async () => {
    const { tokens } = await login(deployment)
    for (const token of [
      await managementToken(deployment),
      await actorToken(deployment, { format: 'jwt', audience: OPAQUE_API }),
      tokens.id_token,
    ])
      await expectInvalidToken(verifiers.orders(bearer(API, token)))
    for (const token of [tokens.refresh_token, tokens.access_token, 'unknown'])
      await expectInvalidToken(verifiers.opaque(bearer(OPAQUE_API, token)))
  })

  it('refuses an opaque token at once when it was stopped', async () => {
    const { accessToken, id } = await viewed(deployment, { resource: OPAQUE_API, scope: SCOPE })
    const attempt = () => verifiers.opaque(bearer(OPAQUE_API, accessToken))
    expect(await attempt()).to.include({ user: 'alice' })
    expect((await manage(deployment, 'DELETE', `/${id}`)).status).to.equal(204)
    await expectInvalidToken(attempt(), 'not active')
  })

  for (const [kind, resource] of Object.entries({ JWT: API, 'opaque token': OPAQUE_API })) {
    it(`knows the engineer and every API in between, newest first, behind the ${kind} of an impersonation`, async () => {
      const { accessToken } = await viewed(deployment, { resource, scope: SCOPE })
      const callers = await callersOf(await treeOf(accessToken))
      expect(callers.map(({ user }) => user)).to.deep.equal(['alice', 'alice', 'alice'])
      expect(people(callers)).to.deep.equal([['bob'], ['bob'], ['bob']])
      expect(apis(callers)).to.deep.equal([[], ['orders-api'], ['billing-api', 'orders-api']])
      for (const caller of callers) {
        expect(caller).to.deep.include({ actor: { sub: 'bob' }, impersonated: true })
        expect((await refusalOf(() => assertInPerson(caller))).status).to.equal(403)
        expect((await refusalOf(() => assertReadOnly(caller, 'DELETE'))).status).to.equal(403)
      }
    })
  }

  it('knows an impersonation without actor behind any number of APIs', async () => {
    const callers = await callersOf(await treeOf(await exchanged()))
    expect(people(callers)).to.deep.equal([[], [], []])
    for (const caller of callers) {
      expect(caller.impersonated).to.equal(true)
      expect((await refusalOf(() => assertInPerson(caller))).body.error).to.equal('access_denied')
    }
  })

  it('knows several people, newest first', async () => {
    const { accessToken } = await viewed(deployment, { scope: `openid ${SCOPE}` })
    const { subjectToken } = await issue(deployment, { userId: 'carol' })
    const request = { subject_token: subjectToken, scope: SCOPE, ...withActor(accessToken) }
    const { body } = await exchange(deployment, request)
    const callers = await callersOf(await treeOf(body.access_token))
    expect(callers.map(({ user }) => user)).to.deep.equal(['carol', 'carol', 'carol'])
    expect(people(callers)).to.deep.equal(Array(3).fill(['alice', 'bob']))
    expect(callers[2]).to.deep.include({ actor: { sub: 'alice' }, through: ['billing-api', 'orders-api'] })
  })

  it('lets the user pass who came through APIs', async () => {
    const callers = await callersOf(await treeOf(await ownToken(deployment)))
    expect(apis(callers)).to.deep.equal([[], ['orders-api'], ['billing-api', 'orders-api']])
    for (const caller of callers) {
      expect(caller).to.deep.include({ user: 'alice', actors: [], impersonated: false })
      expect(() => assertInPerson(caller)).not.to.throw()
      expect(() => assertReadOnly(caller, 'DELETE')).not.to.throw()
    }
  })

  const stops: [how: string, stop: (id: string) => string][] = [
    ['the record', (id) => `/${id}`],
    ['the user', () => '?userId=alice'],
    ['the engineer', () => '?actorId=bob'],
    ['the backend', () => '?createdBy=backend'],
  ]
  for (const [how, stop] of stops) {
    it(`refuses the whole tree within ttl and two seconds after ${how} was stopped`, async () => {
      const { accessToken, id } = await viewed(deployment, { scope: SCOPE })
      const tree = await treeOf(accessToken)
      await callersOf(tree)
      expect((await manage(deployment, 'DELETE', stop(id))).status).to.be.oneOf([200, 204])
      const clock = stopClock()
      try {
        clock.tick(32)
        await expectInvalidToken(verifiers.orders(bearer(API, tree.orders)), 'stopped')
        await expectInvalidToken(verifiers.billing(bearer(BILLING, tree.billing)), 'stopped')
        await expectInvalidToken(verifiers.ledger(bearer(LEDGER, tree.ledger)), 'stopped')
        const { status, body } = await passOn(deployment, accessToken)
        expect([status, body.error]).to.deep.equal([400, 'invalid_request'])
      } finally {
        clock.restore()
      }
    })
  }

  it('ends no other tree with it', async () => {
    const stopped = await viewed(deployment, { scope: SCOPE })
    const other = await treeOf((await viewed(deployment, { scope: SCOPE })).accessToken)
    expect((await manage(deployment, 'DELETE', `/${stopped.id}`)).status).to.equal(204)
    const clock = stopClock()
    try {
      clock.tick(32)
      expect(people(await callersOf(other))).to.deep.equal([['bob'], ['bob'], ['bob']])
    } finally {
      clock.restore()
    }
  })

  it('refuses the token of one API at another', async () => {
    const { orders, billing } = await treeOf((await viewed(deployment, { scope: SCOPE })).accessToken)
    await expectInvalidToken(verifiers.billing(bearer(BILLING, orders)))
    await expectInvalidToken(verifiers.orders(bearer(API, billing)))
  })

  it('holds the new token to the key of the API', async () => {
    const key = await dpopKey()
    const { accessToken } = await passedOn(
      deployment,
      await actorToken(deployment, { accountId: 'alice', format: 'jwt', scope: SCOPE }),
      { scope: SCOPE },
      { headers: { dpop: await key.proof(deployment) } },
    )
    await expectInvalidToken(verifiers.billing(bearer(BILLING, accessToken)), 'presented as Bearer')
    const url = `${BILLING}/x`
    const ath = createHash('sha256').update(accessToken).digest('base64url')
    const dpop = await key.proof({ tokenEndpoint: url }, { htm: 'GET', ath })
    const request = new Request(url, { headers: { authorization: `DPoP ${accessToken}`, dpop } })
    expect(await verifiers.billing(request)).to.deep.include({ user: 'alice', through: ['orders-api'] })
  })
})
