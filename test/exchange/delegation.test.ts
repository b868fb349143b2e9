/** Chains of actors (RFC 8693 §4.1): who may act through whom, and how far (protocol.md §3.3, §4). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { publicClient } from '../../fixtures/clients.ts'
import {
  API,
  type Deployment,
  type DeploymentOverrides,
  OPAQUE_API,
  withDeployment,
} from '../../fixtures/deployment.ts'
import type { HttpResponse, Parameters } from '../../fixtures/http.ts'
import { list } from '../../fixtures/management.ts'
import { ACTOR_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { expectActorRefused, expectRefused } from './refusals.ts'

const withDepth = (maxDelegationDepth: number, use: (deployment: Deployment) => Promise<void>) =>
  withDeployment({ options: { maxDelegationDepth } }, use)

/** Exchanges a new subject token of `userId` with this actor token, and requests a token that can act. */
async function become(
  deployment: Deployment,
  userId: string,
  actor: string,
  changes: Parameters = {},
): Promise<HttpResponse> {
  const { subjectToken } = await issue(deployment, { userId })
  return exchange(deployment, {
    subject_token: subjectToken,
    scope: 'openid',
    ...withActor(actor),
    ...changes,
  })
}

async function accessTokenOf(response: Promise<HttpResponse>): Promise<string> {
  const { status, text, body } = await response
  expect(status, text).to.equal(200)
  return body.access_token
}

const refuses = (
  deployment: Deployment,
  actor: string,
  check: string,
  { userId = 'dave', validActor = 'erin' } = {},
) => expectActorRefused(deployment, actor, { check, userId, validActor })

describe('token exchange: delegation', () => {
  describe('with maxDelegationDepth 1', () => {
    it('grants no openid, so that the token cannot act', () =>
      withDepth(1, async (deployment) => {
        const response = await become(deployment, 'alice', await actorToken(deployment), {
          scope: 'openid orders:read',
        })
        expect(response.body.scope, response.text).to.equal('orders:read')
      }))

    it('refuses a token with act, even one with openid', () =>
      withDepth(1, async (deployment) =>
        refuses(deployment, await actorJwt(deployment, { act: { sub: 'carol' } }), 'maxDelegationDepth'),
      ))
  })

  describe('with maxDelegationDepth 2', () => {
    for (const resource of [API, OPAQUE_API]) {
      it(`nests the chain, newest actor outermost, through a token for ${resource}`, () =>
        withDepth(2, async (deployment) => {
          const bob = await actorToken(deployment, { accountId: 'bob' })
          const aliceByBob = await accessTokenOf(become(deployment, 'alice', bob, { resource }))
          const carol = decodeJwt(await accessTokenOf(become(deployment, 'carol', aliceByBob)))
          expect(carol.sub).to.equal('carol')
          expect(carol.act).to.deep.equal({ sub: 'alice', act: { sub: 'bob' } })
          expect(carol.scope).to.equal('openid')
        }))
    }

    it('shows the chain of an opaque token at introspection', () =>
      withDepth(2, async (deployment) => {
        const bob = await actorToken(deployment, { accountId: 'bob' })
        const aliceByBob = await accessTokenOf(become(deployment, 'alice', bob))
        const opaque = await accessTokenOf(become(deployment, 'carol', aliceByBob, { resource: OPAQUE_API }))
        const { act } = await introspect(deployment, opaque)
        expect(act).to.deep.equal({ sub: 'alice', act: { sub: 'bob' } })
      }))

    it('refuses a third actor', () =>
      withDepth(2, async (deployment) => {
        const bob = await actorToken(deployment, { accountId: 'bob' })
        const alice = await accessTokenOf(become(deployment, 'alice', bob))
        const carol = await accessTokenOf(become(deployment, 'carol', alice))
        await refuses(deployment, carol, 'maxDelegationDepth')
      }))

    it('refuses an earlier actor of the chain as the subject', () =>
      withDepth(2, async (deployment) => {
        const bob = await actorToken(deployment, { accountId: 'bob' })
        const aliceByBob = await accessTokenOf(become(deployment, 'alice', bob))
        await refuses(deployment, aliceByBob, 'actorIsNotSubject', { userId: 'bob' })
        await refuses(deployment, aliceByBob, 'actorIsNotSubject', { userId: 'alice' })
      }))

    it('refuses an actor twice in the chain', () =>
      withDepth(2, async (deployment) =>
        refuses(deployment, await actorJwt(deployment, { act: { sub: 'bob' } }), 'actor_token'),
      ))

    it('refuses an opaque token with act once a replay has ended it', () =>
      withDepth(2, async (deployment) => {
        const bob = await actorToken(deployment, { accountId: 'bob' })
        const { subjectToken } = await issue(deployment)
        const parameters = { subject_token: subjectToken, resource: OPAQUE_API, scope: 'openid' }
        const aliceByBob = await accessTokenOf(exchange(deployment, { ...parameters, ...withActor(bob) }))
        await exchange(deployment, parameters)
        await refuses(deployment, aliceByBob, 'actor_token')
      }))

    it('grants no openid without an actor token, so that no token without act can act', () =>
      withDepth(2, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const response = await exchange(deployment, {
          subject_token: subjectToken,
          scope: 'openid orders:read',
        })
        expect(response.body.scope, response.text).to.equal('orders:read')
        await refuses(deployment, response.body.access_token, 'actor_token')
      }))

    it('ties an actor constraint to the newest actor, not to one further in', () =>
      withDepth(2, async (deployment) => {
        const bob = await actorToken(deployment, { accountId: 'bob' })
        const aliceByBob = await accessTokenOf(become(deployment, 'alice', bob))
        const send = (subjectToken: string, token: string) =>
          exchange(deployment, { subject_token: subjectToken, ...withActor(token) })
        await expectRefused(deployment, {
          issued: { userId: 'carol', actorId: 'bob' },
          attempt: (subjectToken) => send(subjectToken, aliceByBob),
          valid: (subjectToken) => send(subjectToken, bob),
          error: 'invalid_request',
          description: 'subject_token is invalid',
          check: 'subject_token',
        })
        const { subjectToken } = await issue(deployment, { userId: 'carol', actorId: 'alice' })
        expect((await send(subjectToken, aliceByBob)).status).to.equal(200)
      }))
  })

  it('allows three actors with maxDelegationDepth 3, and not a fourth', () =>
    withDepth(3, async (deployment) => {
      let token = await actorToken(deployment, { accountId: 'bob' })
      for (const userId of ['alice', 'carol', 'dave']) {
        token = await accessTokenOf(become(deployment, userId, token))
      }
      const act = { sub: 'carol', act: { sub: 'alice', act: { sub: 'bob' } } }
      expect(decodeJwt(token).act).to.deep.equal(act)
      await refuses(deployment, token, 'maxDelegationDepth', { userId: 'erin', validActor: 'bob' })
    }))

  const malformed: [title: string, act: unknown][] = [
    ['a string', 'carol'],
    ['null', null],
    ['an array', [{ sub: 'carol' }]],
    ['empty', {}],
    ['without sub', { client_id: 'spa' }],
    ['with an empty sub', { sub: '' }],
    ['with a sub that is not a string', { sub: 7 }],
    ['with more than identity members', { sub: 'carol', exp: 1 }],
    ['malformed further in', { sub: 'carol', act: { sub: 7 } }],
    ['null further in', { sub: 'carol', act: null }],
  ]
  for (const [title, act] of malformed) {
    it(`refuses a JWT whose act is ${title}`, () =>
      withDepth(3, async (deployment) =>
        refuses(deployment, await actorJwt(deployment, { act }), 'actor_token'),
      ))
  }

  it('refuses an opaque token whose act is malformed', () => {
    const overrides: DeploymentOverrides = {
      options: { maxDelegationDepth: 3 },
      configuration: {
        extraTokenClaims: (_ctx, token) =>
          Reflect.get(token, 'gty') === 'authorization_code' ? { act: { name: 'Bob' } } : undefined,
      },
    }
    return withDeployment(overrides, async (deployment) => {
      const bob = await actorToken(deployment)
      const { subjectToken } = await issue(deployment)
      const response = await exchange(deployment, { subject_token: subjectToken, ...withActor(bob) })
      expect(response.body, response.text).to.deep.equal({
        error: 'invalid_request',
        error_description: 'actor_token is invalid',
      })
      expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
    })
  })

  describe('for a pairwise client', () => {
    const pairwise = publicClient({ client_id: 'pairwise', subject_type: 'pairwise' })
    const overrides: DeploymentOverrides = {
      options: { maxDelegationDepth: 2 },
      clients: [pairwise],
      configuration: {
        subjectTypes: ['public', 'pairwise'],
        pairwiseIdentifier: (_ctx, accountId, client) => `${accountId}@${client.clientId}`,
      },
    }

    it('names the subject and every actor pairwise', () =>
      withDeployment(overrides, async (deployment) => {
        const bob = await actorToken(deployment)
        const aliceByBob = await accessTokenOf(become(deployment, 'alice', bob))
        for (const resource of [API, OPAQUE_API]) {
          const { subjectToken } = await issue(deployment, { userId: 'carol' })
          const parameters = { subject_token: subjectToken, resource, ...withActor(aliceByBob) }
          const response = await exchange(deployment, parameters, { client: pairwise })
          expect(response.status, response.text).to.equal(200)
          const token = response.body.access_token
          const { sub, act } = resource === API ? decodeJwt(token) : await introspect(deployment, token)
          expect(sub).to.equal('carol@pairwise')
          expect(act).to.deep.equal({ sub: 'alice@pairwise', act: { sub: 'bob@pairwise' } })
        }
      }))

    const aliceByBob = async (deployment: Deployment, resource: string) => {
      const { subjectToken } = await issue(deployment)
      const parameters = { subject_token: subjectToken, resource, scope: 'openid' }
      const actor = withActor(await actorToken(deployment))
      const response = await exchange(deployment, { ...parameters, ...actor }, { client: pairwise })
      expect(response.body.scope, response.text).to.equal('openid')
      return response.body.access_token
    }

    it('refuses its JWTs with act as actor tokens, because no one can tell whom they name', () =>
      withDeployment(overrides, async (deployment) =>
        refuses(deployment, await aliceByBob(deployment, API), 'actor_token'),
      ))

    it('lets its opaque tokens act: their records tell who acted', () =>
      withDeployment(overrides, async (deployment) => {
        const carol = await become(deployment, 'carol', await aliceByBob(deployment, OPAQUE_API))
        expect(decodeJwt(await accessTokenOf(Promise.resolve(carol))).act).to.deep.equal({
          sub: 'alice',
          act: { sub: 'bob' },
        })
      }))

    it("refuses its opaque tokens with the deployment's own act, which have no record", () => {
      const extraTokenClaims = (_ctx: unknown, token: object) =>
        Reflect.get(token, 'gty') === 'authorization_code' ? { act: { sub: 'carol' } } : undefined
      const configuration = { ...overrides.configuration, extraTokenClaims }
      return withDeployment({ ...overrides, configuration }, async (deployment) => {
        const send = async (clientId: string) => {
          const { subjectToken } = await issue(deployment)
          const actor = withActor(await actorToken(deployment, { clientId }))
          return exchange(deployment, { subject_token: subjectToken, ...actor })
        }
        const refused = await send('pairwise')
        expect([refused.status, refused.body], refused.text).to.deep.equal([400, ACTOR_TOKEN_REFUSED])
        const { act } = decodeJwt(await accessTokenOf(send('spa')))
        expect(act).to.deep.equal({ sub: 'bob', act: { sub: 'carol' } })
      })
    })

    it('cannot hide who acted by becoming public', () =>
      withDeployment(overrides, async (deployment) => {
        const opaque = await aliceByBob(deployment, OPAQUE_API)
        const { database, issuer } = deployment
        const clients = [{ ...pairwise, subject_type: 'public' as const }]
        const options = {
          maxDelegationDepth: 2,
          statusList: { uri: `${deployment.baseUrl}/api/status-lists` },
        }
        await withDeployment({ ...overrides, clients, database, issuer, options }, async (changed) => {
          const { subjectToken } = await issue(deployment, { userId: 'carol' })
          const carol = await exchange(changed, { subject_token: subjectToken, ...withActor(opaque) })
          const act = { sub: 'alice', act: { sub: 'bob' } }
          expect(decodeJwt(carol.body.access_token).act, carol.text).to.deep.equal(act)
          const [{ actor }] = (await list(deployment, { userId: 'carol' })).body.items
          expect(actor).to.deep.equal({ ...act, clientId: 'pairwise' })
        })
      }))

    it('fails before the spend where the identifier is empty: `act` must name someone', async () => {
      let broken = true
      const pairwiseIdentifier = async (_ctx: unknown, accountId: string) =>
        broken && accountId === 'bob' ? '' : `${accountId}@pairwise`
      const configuration = { ...overrides.configuration, pairwiseIdentifier }
      await withDeployment({ ...overrides, configuration }, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const request = { subject_token: subjectToken, ...withActor(await actorToken(deployment)) }
        expect((await exchange(deployment, request, { client: pairwise })).status).to.equal(500)
        broken = false
        const named = await exchange(deployment, request, { client: pairwise })
        expect(named.status, named.text).to.equal(200)
      })
    })
  })
})
