/** Who may stand in the chain of an API's token (protocol.md §8.2): people and APIs, each counted apart. */
import { expect } from 'chai'
import { accounts } from '../../fixtures/accounts.ts'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { API, type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { revoke } from '../../fixtures/management.ts'
import {
  apiClient,
  billingApi,
  downstream,
  LEDGER,
  ledgerApi,
  ownToken,
  passedOn,
  passOn,
  viewed,
} from '../../fixtures/on-behalf-of.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { expectNotPassedOn } from './refusals.ts'

const act = (...apis: string[]): object | undefined =>
  apis.reduceRight<object | undefined>((inner, id) => ({ sub: id, client_id: id, act: inner }), undefined)

/** A user's own token that came through these APIs. */
const through = (deployment: Deployment, ...apis: string[]) =>
  actorJwt(deployment, { sub: 'alice', act: act(...apis) })

describe('on behalf of: the APIs of a chain', () => {
  it('are one unless the deployment allows more', () =>
    withDeployment(downstream(), async (deployment) => {
      for (const token of [await ownToken(deployment), (await viewed(deployment)).accessToken]) {
        const child = await passedOn(deployment, token)
        const next = () =>
          passOn(deployment, child.accessToken, { resource: LEDGER }, { client: billingApi() })
        await expectNotPassedOn(deployment, next, { check: 'hops', reason: 'more than 1 APIs in the chain' })
      }
    }))

  it('are counted with the client, and people are not', () =>
    withDeployment(downstream({ onBehalfOf: { hops: 3 } }), async (deployment) => {
      await passedOn(deployment, await through(deployment, 'a-api', 'b-api'))
      await expectNotPassedOn(
        deployment,
        async () => passOn(deployment, await through(deployment, 'a-api', 'b-api', 'c-api')),
        { check: 'hops', reason: 'more than 3 APIs in the chain' },
      )
    }))

  it('stand there once: neither the client again, nor two others that are one', () =>
    withDeployment(downstream({ onBehalfOf: { hops: 10 } }), async (deployment) => {
      for (const apis of [
        ['orders-api'],
        ['a-api', 'orders-api'],
        ['a-api', 'a-api'],
        ['a-api', 'b-api', 'a-api'],
      ]) {
        const token = await through(deployment, ...apis)
        await expectNotPassedOn(deployment, () => passOn(deployment, token), {
          reason: 'an API twice in the chain',
        })
      }
      await passedOn(deployment, await through(deployment, 'Orders-api'))
    }))

  it('may not lead back to where the chain began', () =>
    withDeployment(downstream({ onBehalfOf: { hops: 10 } }), async (deployment) => {
      const { accessToken } = await viewed(deployment)
      const first = await passedOn(deployment, accessToken)
      const second = await passedOn(
        deployment,
        first.accessToken,
        { resource: LEDGER },
        { client: billingApi() },
      )
      const third = await passedOn(deployment, second.accessToken, { resource: API }, { client: ledgerApi() })
      await expectNotPassedOn(deployment, () => passOn(deployment, third.accessToken), {
        reason: 'an API twice in the chain',
      })
    }))

  it('may have the name of a person', () =>
    withDeployment(
      downstream({}, { clients: [apiClient({ client_id: 'bob', client_secret: 'bob-secret' })] }),
      async (deployment) => {
        const { accessToken } = await viewed(deployment)
        const client = apiClient({ client_id: 'bob', client_secret: 'bob-secret' })
        const { claims } = await passedOn(deployment, accessToken, {}, { client })
        expect(claims.act).to.deep.equal({ sub: 'bob', client_id: 'bob', act: { sub: 'bob' } })
      },
    ))

  it('do not have the name of the user: no API could tell its token from one of its own', () =>
    withDeployment(
      downstream({}, { clients: [apiClient({ client_id: 'alice', client_secret: 'alice-secret' })] }),
      async (deployment) => {
        const client = apiClient({ client_id: 'alice', client_secret: 'alice-secret' })
        const token = await ownToken(deployment)
        await expectNotPassedOn(deployment, () => passOn(deployment, token, {}, { client }), {
          reason: 'the sub to be issued is the id of the client',
        })
      },
    ))

  it('are never the client that an actor token was issued to', () =>
    withDeployment(downstream(), async (deployment) => {
      const { accessToken } = await viewed(deployment)
      const { claims } = await passedOn(deployment, accessToken)
      expect(JSON.stringify(claims.act)).not.to.include('spa')
    }))
})

describe('on behalf of: the people of a chain', () => {
  /** A token of alice in which bob acts, through whom carol acted. */
  async function chained(deployment: Deployment) {
    const { subjectToken } = await issue(deployment)
    const actor = withActor(await actorJwt(deployment, { act: { sub: 'carol' } }))
    const { body, text } = await exchange(deployment, { subject_token: subjectToken, ...actor })
    expect(body.access_token, text).to.be.a('string')
    return body.access_token as string
  }

  it('are all named, the newest outermost', () =>
    withDeployment(downstream({ maxDelegationDepth: 2 }), async (deployment) => {
      const { claims } = await passedOn(deployment, await chained(deployment))
      expect(claims.act).to.deep.equal({
        sub: 'orders-api',
        client_id: 'orders-api',
        act: { sub: 'bob', act: { sub: 'carol' } },
      })
    }))

  it('are no more than maxDelegationDepth now allows', () =>
    withDeployment(downstream({ maxDelegationDepth: 2 }), async (deployment) => {
      const { database, issuer, baseUrl } = deployment
      const token = await chained(deployment)
      const options = { maxDelegationDepth: 1, statusList: { uri: `${baseUrl}/api/status-lists` } }
      await withDeployment({ ...downstream(options), database, issuer }, (later) =>
        expectNotPassedOn(later, () => passOn(later, token), {
          check: 'maxDelegationDepth',
          reason: 'more than 1 in the chain',
        }).then(() => {}),
      )
    }))

  for (const [gone, reason] of [
    ['alice', 'the user is gone or disabled'],
    ['bob', 'the account of an actor is gone or disabled'],
    ['carol', 'the account of an actor is gone or disabled'],
  ] as const) {
    it(`exist, and the user does: without ${gone}, nothing is passed on`, () =>
      withDeployment(downstream({ maxDelegationDepth: 2, onBehalfOf: { hops: 2 } }), async (deployment) => {
        const token = await chained(deployment)
        const child = await passedOn(deployment, token)
        deployment.accounts.disable(gone)
        await expectNotPassedOn(deployment, () => passOn(deployment, token), { reason })
        const next = () =>
          passOn(deployment, child.accessToken, { resource: LEDGER }, { client: billingApi() })
        await expectNotPassedOn(deployment, next, { reason })
      }))
  }

  it('exist by the ids that the record has: another id of the same account is not enough', () => {
    let renamed = false
    const { findAccount } = accounts()
    const configuration = {
      findAccount: (ctx: unknown, id: string) =>
        findAccount(ctx, id).then((account) =>
          account && renamed && id === 'bob' ? { ...account, accountId: 'robert' } : account,
        ),
    }
    return withDeployment(downstream({}, { configuration }), async (deployment) => {
      const { accessToken } = await viewed(deployment)
      await passedOn(deployment, accessToken)
      renamed = true
      const reason = 'the account of an actor is gone or disabled'
      await expectNotPassedOn(deployment, () => passOn(deployment, accessToken), { reason })
    })
  })
})

describe('on behalf of: what an API was given does not act', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment(downstream({ maxDelegationDepth: 5, onBehalfOf: { hops: 5 } }))
  })
  after(() => deployment.close())

  const acts = async (token: string) => {
    const { subjectToken } = await issue(deployment, { userId: 'dave' })
    return exchange(deployment, { subject_token: subjectToken, ...withActor(token) })
  }

  it('because it has no openid, whatever is requested and whatever the resource offers', async () => {
    const { accessToken } = await viewed(deployment, { scope: 'openid orders:read' })
    expect((await acts(accessToken)).status, 'the parent may act').to.equal(200)
    const child = await passedOn(deployment, accessToken, { scope: 'openid offline_access orders:read' })
    expect(child.claims.scope).to.equal('orders:read')
    const { body } = await acts(child.accessToken)
    expect(body.error_description).to.equal('actor_token is invalid')
    const { payload } = deployment.events.at(-1) ?? {}
    expect(payload).to.include({ check: 'actor_token' })
  })

  it('and a token with openid does not, if an API stands in its act', async () => {
    const token = await actorJwt(deployment, { act: { sub: 'a-api', client_id: 'a-api' } })
    expect((await acts(token)).body.error_description).to.equal('actor_token is invalid')
    const { payload } = deployment.events.at(-1) ?? {}
    expect(payload).to.include({ reason: 'a malformed act claim' })
  })

  it('and a child that is stopped is stopped as an actor token, too', async () => {
    const { accessToken, id } = await viewed(deployment)
    const child = await passedOn(deployment, accessToken)
    expect((await acts(child.accessToken)).body.error_description).to.equal('actor_token is invalid')
    expect(deployment.events.at(-1)?.payload).to.include({ reason: 'a malformed act claim' })
    await revoke(deployment, id)
    expect((await acts(child.accessToken)).body.error_description).to.equal('actor_token is invalid')
    expect(deployment.events.at(-1)?.payload).to.include({ reason: 'stopped' })
  })

  it('though a token of the actor may still act', async () => {
    expect((await acts(await actorToken(deployment))).status).to.equal(200)
  })
})
