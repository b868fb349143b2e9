/** A tree of APIs behind one impersonation (protocol.md §8): what each verifier makes of its token, and how all end. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { introspectingClient } from '../../../fixtures/clients.ts'
import { stopClock } from '../../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API, startDeployment } from '../../../fixtures/deployment.ts'
import { dpopKey } from '../../../fixtures/dpop.ts'
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
import { exchange, issue } from '../../../fixtures/requests.ts'
import { assertInPerson, assertReadOnly, type Caller, createVerifier, type Verifier } from '../src/index.ts'
import { expectInvalidToken, refusalOf } from './refusals.ts'

const { client_id: clientId, client_secret: clientSecret = '' } = introspectingClient()
const SCOPE = 'orders:read'

const bearer = (resource: string, token: string) =>
  new Request(`${resource}/x`, { headers: { authorization: `Bearer ${token}` } })

describe('resource server: behind other APIs', () => {
  let deployment: Deployment
  let verifiers: Record<'orders' | 'opaque' | 'billing' | 'ledger', Verifier>
  before(async () => {
    deployment = await startDeployment(downstream({ onBehalfOf: { hops: 2 }, maxDelegationDepth: 2 }))
    const verifier = (audience: string, options = {}) =>
      createVerifier({ issuer: deployment.issuer, audience, requireStatus: true, ...options })
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
    const { subjectToken } = await issue(deployment)
    const { body } = await exchange(deployment, { subject_token: subjectToken, scope: SCOPE })
    const callers = await callersOf(await treeOf(body.access_token))
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
