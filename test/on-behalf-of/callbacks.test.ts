/** What the deployment's functions learn of an API that exchanges, and what they may do (protocol.md §5, §8.4). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { accounts } from '../../fixtures/accounts.ts'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API, withDeployment } from '../../fixtures/deployment.ts'
import { dpopKey } from '../../fixtures/dpop.ts'
import {
  BILLING,
  billingApi,
  downstream,
  LEDGER,
  ownToken,
  passedOn,
  passOn,
  viewed,
} from '../../fixtures/on-behalf-of.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { AccessDenied, TOKEN_EXCHANGE } from '../../src/index.ts'
import type { CustomClaimsRequest, OnBehalfOfPolicyRequest, PolicyRequest } from '../../src/options.ts'
import { expectNotPassedOn } from './refusals.ts'

const REACHED = [API, OPAQUE_API, BILLING, LEDGER]

/** A token of alice in which bob acts, through whom carol acted. */
async function chained(deployment: Deployment) {
  const { subjectToken, id } = await issue(deployment, { context: { ticketId: 'T-1' }, resource: REACHED })
  const actor = withActor(await actorJwt(deployment, { act: { sub: 'carol' } }))
  const scope = 'orders:read orders:write'
  const { body, text } = await exchange(deployment, { subject_token: subjectToken, scope, ...actor })
  expect(body.access_token, text).to.be.a('string')
  return { accessToken: body.access_token as string, id }
}

describe('on behalf of: isAllowed', () => {
  const asked: PolicyRequest[] = []
  const isAllowed = (request: PolicyRequest) => asked.push(request) > 0
  const options = { isAllowed, maxDelegationDepth: 2, onBehalfOf: { hops: 2 } }
  beforeEach(() => void asked.splice(0))

  it('learns everything of what began as an impersonation', () =>
    withDeployment(downstream(options), async (deployment) => {
      const { accessToken, id } = await chained(deployment)
      const child = await passedOn(deployment, accessToken, { scope: 'orders:read' })
      await passedOn(deployment, child.accessToken, { resource: LEDGER }, { client: billingApi() })
      const [, , first, second] = asked as OnBehalfOfPolicyRequest[]
      const common = {
        stage: 'onBehalfOf',
        userId: 'alice',
        actor: { sub: 'bob', act: { sub: 'carol' }, clientId: 'spa', verified: true },
        createdBy: { id: 'backend' },
        context: { ticketId: 'T-1' },
        subjectTokenId: id,
        use: 'exchange',
      }
      const { account, ...told } = first ?? expect.fail()
      expect(account.accountId).to.equal('alice')
      expect(told).to.deep.equal({
        ...common,
        client: { id: 'orders-api' },
        through: [],
        subjectToken: { clientId: 'spa', audience: API, scope: 'orders:read orders:write', bound: false },
        resource: BILLING,
        scope: 'orders:read',
      })
      const { account: _, ...next } = second ?? expect.fail()
      expect(next).to.deep.equal({
        ...common,
        client: { id: 'billing-api' },
        through: ['orders-api'],
        subjectToken: { clientId: 'orders-api', audience: BILLING, scope: 'orders:read', bound: false },
        resource: LEDGER,
        scope: undefined,
      })
      for (const part of [first, first?.through, first?.subjectToken, first?.actor?.act, first?.context])
        expect(part).to.be.frozen
    }))

  it('learns nothing of what there is not: no one acted before, no resource, no scope', () =>
    withDeployment(downstream({ isAllowed }), async (deployment) => {
      const { accessToken, id } = await viewed(deployment, { scope: null })
      await passedOn(deployment, accessToken)
      const { account: _, ...told } = asked.at(-1) ?? expect.fail()
      expect(told).to.deep.equal({
        stage: 'onBehalfOf',
        userId: 'alice',
        actor: { sub: 'bob', clientId: 'spa', verified: true },
        client: { id: 'orders-api' },
        through: [],
        subjectToken: { clientId: 'spa', audience: API, bound: false },
        resource: BILLING,
        scope: undefined,
        createdBy: { id: 'backend' },
        context: {},
        subjectTokenId: id,
        use: 'exchange',
      })
    }))

  it("learns of a user's own token that it is one", () =>
    withDeployment(downstream(options), async (deployment) => {
      await passedOn(deployment, await ownToken(deployment))
      const { account: _, ...told } = asked[0] ?? expect.fail()
      expect(told).to.deep.equal({
        stage: 'onBehalfOf',
        userId: 'alice',
        client: { id: 'orders-api' },
        through: [],
        subjectToken: { clientId: 'spa', audience: API, scope: 'orders:read orders:write', bound: false },
        resource: BILLING,
        scope: undefined,
      })
    }))

  it('learns whether the token is bound to a key', () =>
    withDeployment(downstream(options), async (deployment) => {
      const token = await actorJwt(deployment, { sub: 'alice', cnf: { jkt: 'thumbprint' } })
      const headers = { dpop: await (await dpopKey()).proof(deployment) }
      await passedOn(deployment, token, {}, { headers })
      const [request] = asked as OnBehalfOfPolicyRequest[]
      expect(request?.subjectToken).to.include({ bound: true })
    }))

  for (const [title, decide, error, status, reason] of [
    ['denies', () => false, 'access_denied', 400, 'isAllowed returned false'],
    [
      'denies with a reason',
      () => {
        throw new AccessDenied('not billing')
      },
      'access_denied',
      400,
      'not billing',
    ],
    [
      'returns something else',
      () => 'yes' as never,
      'server_error',
      500,
      'isAllowed must return true or false',
    ],
    [
      'fails',
      () => {
        throw new Error('secret')
      },
      'server_error',
      500,
      'isAllowed failed',
    ],
  ] as const) {
    it(`that ${title} passes nothing on`, () => {
      const onlyHere = (request: PolicyRequest) => request.stage !== 'onBehalfOf' || decide()
      return withDeployment(downstream({ isAllowed: onlyHere }), async (deployment) => {
        const { accessToken } = await viewed(deployment)
        const description = status === 500 ? 'oops! something went wrong' : 'the request was denied by policy'
        const event = await expectNotPassedOn(deployment, () => passOn(deployment, accessToken), {
          status,
          error,
          description,
          check: 'isAllowed',
          reason,
        })
        expect(event).to.include({ userId: 'alice', resource: BILLING })
      })
    })
  }
})

describe('on behalf of: getCustomJwtClaims', () => {
  const asked: CustomClaimsRequest[] = []
  const getCustomJwtClaims = (request: CustomClaimsRequest) => {
    asked.push(request)
    const { kind, subjectTokenClaims } = request.context.grant
    // A restriction that is passed on.
    return kind === 'impersonation'
      ? { read_only: true }
      : { read_only: subjectTokenClaims?.read_only ?? null }
  }
  beforeEach(() => void asked.splice(0))

  it('learns the kind at the door of a subject token, and nothing of APIs there', () =>
    withDeployment(downstream({ getCustomJwtClaims }), async (deployment) => {
      const { id } = await viewed(deployment, {}, { context: { ticketId: 'T-1' } })
      expect(asked[0]?.context.grant).to.deep.equal({
        type: TOKEN_EXCHANGE,
        kind: 'impersonation',
        subjectTokenId: id,
        subjectTokenContext: { ticketId: 'T-1' },
      })
    }))

  for (const resource of [API, OPAQUE_API]) {
    it(`can pass a restriction on, which it finds among the claims of the received token, from ${resource}`, () =>
      withDeployment(downstream({ getCustomJwtClaims, onBehalfOf: { hops: 2 } }), async (deployment) => {
        const parameters = { resource, scope: 'orders:read' }
        const { accessToken, id } = await viewed(deployment, parameters, { context: { ticketId: 'T-1' } })
        const child = await passedOn(deployment, accessToken)
        expect(child.claims.read_only).to.equal(true)
        const billing = { client: billingApi() }
        const next = await passedOn(deployment, child.accessToken, { resource: LEDGER }, billing)
        expect(next.claims.read_only).to.equal(true)
        const { context, token } = asked[2] ?? expect.fail()
        expect(context).to.deep.equal({
          grant: {
            type: TOKEN_EXCHANGE,
            kind: 'onBehalfOf',
            subjectTokenId: id,
            subjectTokenContext: { ticketId: 'T-1' },
            through: ['orders-api'],
            subjectTokenClaims: { read_only: true },
          },
          user: { id: 'alice' },
          client: { id: 'billing-api' },
          actor: { sub: 'bob', clientId: 'spa' },
        })
        const { jti, aud, iat, exp, sub } = next.claims
        expect(token).to.deep.equal({ jti, sub, aud, clientId: 'billing-api', iat, exp })
        expect(context.grant.subjectTokenClaims).to.be.frozen
        expect(context.grant.through).to.be.frozen
      }))
  }

  it("learns of a user's own token that it has no record and no actor, and its claims", () =>
    withDeployment(downstream({ getCustomJwtClaims }), async (deployment) => {
      const reserved = {
        auth_time: 1,
        acr: 'x',
        amr: ['pwd'],
        sid: 's',
        may_act: {},
        authorization_details: [],
      }
      const token = await actorJwt(deployment, { sub: 'alice', tier: 'gold', ...reserved })
      await passedOn(deployment, token)
      expect(asked[0]?.context).to.deep.equal({
        grant: {
          type: TOKEN_EXCHANGE,
          kind: 'onBehalfOf',
          subjectTokenContext: {},
          through: [],
          subjectTokenClaims: { tier: 'gold' },
        },
        user: { id: 'alice' },
        client: { id: 'orders-api' },
      })
      const plain = await ownToken(deployment)
      await passedOn(deployment, plain)
      expect(asked[1]?.context.grant.subjectTokenClaims).to.deep.equal({})
    }))

  it('cannot write what the plugin writes, nor can extraTokenClaims, which is called once', () => {
    let calls = 0
    let claims: Record<string, unknown> = {}
    const extraTokenClaims = (_ctx: unknown, token: object) => {
      if (Reflect.get(token, 'clientId') !== 'orders-api') return undefined
      calls += 1
      return { tenant: 'acme', ...claims } as never
    }
    return withDeployment(downstream({}, { configuration: { extraTokenClaims } }), async (deployment) => {
      const token = await ownToken(deployment)
      expect((await passedOn(deployment, token)).claims).to.include({ tenant: 'acme' })
      expect(calls).to.equal(1)
      for (const name of ['act', 'status', 'exp', 'cnf', 'client_id']) {
        claims = { [name]: 1 }
        const { status } = await passOn(deployment, token)
        expect(status, name).to.equal(500)
      }
    })
  })

  it('is too late once the received token has expired, however fast the rest is', () => {
    const clock = stopClock()
    let late = 0
    const slow = () => {
      clock.tick(late)
      return {}
    }
    return withDeployment(
      downstream({ getCustomJwtClaims: slow, maxAccessTokenTTL: 600 }),
      async (deployment) => {
        const token = await actorJwt(deployment, { sub: 'alice', exp: Math.floor(Date.now() / 1000) + 60 })
        late = 59
        const { body } = await passOn(deployment, token)
        expect(decodeJwt(body.access_token).exp).to.equal(decodeJwt(token).exp)
        expect(body.expires_in).to.equal(60)
        late = 1
        await expectNotPassedOn(deployment, () => passOn(deployment, token), { reason: 'expired meanwhile' })
      },
    ).finally(() => clock.restore())
  })

  it('is too late, too, once the new token would have expired', () => {
    const clock = stopClock()
    const slow = () => {
      clock.tick(60)
      return {}
    }
    const options = { getCustomJwtClaims: slow, maxAccessTokenTTL: 60 }
    return withDeployment(downstream(options), async (deployment) => {
      const token = await actorJwt(deployment, { sub: 'alice' })
      await expectNotPassedOn(deployment, () => passOn(deployment, token), {
        status: 500,
        error: 'server_error',
        description: 'oops! something went wrong',
        check: 'issue',
        reason: 'the access token ended before it was issued',
      })
    }).finally(() => clock.restore())
  })
})

describe('on behalf of: findAccount', () => {
  it('receives the stored token of an opaque one, as from the provider', () => {
    const sources: unknown[] = []
    const { findAccount } = accounts()
    const configuration = {
      findAccount(ctx: unknown, id: string, source?: object) {
        sources.push(source && Reflect.get(source, 'kind'))
        return findAccount(ctx, id)
      },
    }
    return withDeployment(downstream({}, { configuration }), async (deployment) => {
      await passedOn(deployment, await actorToken(deployment, { accountId: 'alice', audience: OPAQUE_API }))
      await passedOn(deployment, await ownToken(deployment))
      expect(sources).to.deep.equal(['AccessToken', undefined])
    })
  })
})

describe('on behalf of: the life of the new token', () => {
  for (const [title, left, ttl, cap, life] of [
    ['that of the received token, if that is shortest', 30, 600, 3600, 30],
    ["the resource's, if that is shortest", 3600, 600, 3600, 600],
    ['maxAccessTokenTTL, if that is shortest', 3600, 600, 120, 120],
  ] as const) {
    it(`is ${title}`, () => {
      const clock = stopClock()
      return withDeployment(downstream({ maxAccessTokenTTL: cap }), async (deployment) => {
        expect(ttl).to.equal(600)
        const exp = Math.floor(Date.now() / 1000) + left
        const { claims } = await passedOn(deployment, await actorJwt(deployment, { sub: 'alice', exp }))
        expect((claims.exp ?? 0) - (claims.iat ?? 0)).to.equal(life)
        const opaque = await actorToken(deployment, { accountId: 'alice', audience: OPAQUE_API })
        const { adapter } = deployment.provider.AccessToken
        await adapter.upsert(opaque, { ...(await adapter.find(opaque)), exp } as never, left)
        expect((await passedOn(deployment, opaque)).claims.exp).to.equal(claims.exp)
      }).finally(() => clock.restore())
    })
  }

  it('is that of the received token, also where the impersonation began with a longer one', () => {
    const clock = stopClock()
    const resources = Object.fromEntries(
      Object.entries(downstream().resources ?? {}).map(([name, server]) => [
        name,
        name === BILLING ? { ...server, accessTokenTTL: 60 } : server,
      ]),
    )
    return withDeployment(downstream({ onBehalfOf: { hops: 2 } }, { resources }), async (deployment) => {
      const { accessToken } = await viewed(deployment)
      const child = await passedOn(deployment, accessToken)
      expect(Number(child.claims.exp) - Number(child.claims.iat)).to.equal(60)
      const next = await passedOn(
        deployment,
        child.accessToken,
        { resource: LEDGER },
        { client: billingApi() },
      )
      expect(next.claims.exp).to.equal(child.claims.exp)
    }).finally(() => clock.restore())
  })
})
