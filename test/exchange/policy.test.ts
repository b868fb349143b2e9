/** The deployment's policy at the exchange (protocol.md §3.2, §5.1: isAllowed, requiredContext). */
import { expect } from 'chai'
import { errors } from 'oidc-provider'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { tooLate } from '../../fixtures/clock.ts'
import { API, OPAQUE_API, withDeployment } from '../../fixtures/deployment.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { AccessDenied, type PolicyRequest } from '../../src/index.ts'
import { expectRefused, onlyEvent } from './refusals.ts'

/** What `isAllowed` does at the exchange; at issuance it allows. */
type Decide = (request: PolicyRequest) => unknown

function policy(decide: Decide) {
  const state = { decide }
  const isAllowed = (request: PolicyRequest) =>
    (request.stage === 'issuance' ? true : state.decide(request)) as boolean
  return { isAllowed, allow: () => void Object.assign(state, { decide: () => true }) }
}

const DENIED = 'the request was denied by policy'

describe('token exchange: the policy', () => {
  const refusesTo = (decide: Decide, expected: { status?: number; error: string }) => async () => {
    const { isAllowed, allow } = policy(decide)
    await withDeployment({ options: { isAllowed, customClaimsTimeout: 1 } }, async (deployment) => {
      const response = await expectRefused(deployment, {
        attempt: (subjectToken) => exchange(deployment, { subject_token: subjectToken }),
        valid: (subjectToken) => {
          allow()
          return exchange(deployment, { subject_token: subjectToken })
        },
        check: 'isAllowed',
        ...expected,
      })
      expect(response.text).not.to.include('private')
    })
  }

  const denied = { error: 'access_denied', description: DENIED }
  it(
    'refuses what isAllowed refuses',
    refusesTo(() => false, denied),
  )
  it(
    'refuses what isAllowed refuses asynchronously',
    refusesTo(async () => false, denied),
  )

  it(
    'refuses what isAllowed denies by throwing AccessDenied',
    refusesTo(() => throwing(new AccessDenied('private')), denied),
  )
  it(
    'refuses what isAllowed denies by rejecting with AccessDenied',
    refusesTo(async () => throwing(new AccessDenied('private')), denied),
  )

  it('reports the reason of an AccessDenied to the operator', async () => {
    const { isAllowed } = policy(() => throwing(new AccessDenied('not on duty')))
    await withDeployment({ options: { isAllowed } }, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      const response = await exchange(deployment, { subject_token: subjectToken })
      expect(response.body).to.deep.equal({ error: 'access_denied', error_description: DENIED })
      const { check, reason } = onlyEvent(deployment, 'subject_token.refused')
      expect([check, reason]).to.deep.equal(['isAllowed', 'not on duty'])
      expect(deployment.errors).to.deep.equal([])
    })
  })

  const failed = { status: 500, error: 'server_error' }
  const fails: [title: string, decide: Decide][] = [
    ['throws', () => throwing(new Error('private'))],
    ['rejects', () => Promise.reject(new Error('private'))],
    ['throws undefined', () => throwing(undefined)],
    ['returns undefined', () => undefined],
    ['returns null', () => null],
    ['returns 1', () => 1],
    ["returns 'true'", () => 'true'],
    ['returns an object', () => ({ allowed: true })],
    ['returns a Boolean object', () => Object(true)],
    ['takes longer than the limit', () => tooLate(1)],
  ]
  for (const [title, decide] of fails) {
    it(`fails when isAllowed ${title}`, refusesTo(decide, failed))
  }

  it(
    "fails when isAllowed throws the provider's own AccessDenied, which is none of this package",
    refusesTo(() => throwing(new errors.AccessDenied('private')), failed),
  )

  it('tells only the operator why isAllowed failed', async () => {
    const { isAllowed } = policy(() => throwing(new Error('private reason')))
    await withDeployment({ options: { isAllowed } }, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      const response = await exchange(deployment, { subject_token: subjectToken })
      expect(response.body).to.deep.equal({
        error: 'server_error',
        error_description: 'oops! something went wrong',
      })
      expect(deployment.errors).to.have.lengthOf(1)
      expect(deployment.errors[0]).to.have.nested.property('cause.message', 'private reason')
    })
  })

  it('passes what the backend sent at issuance, and what the token is for at both', async () => {
    const asked: PolicyRequest[] = []
    const isAllowed = (request: PolicyRequest) => asked.push(request) > 0
    await withDeployment({ options: { isAllowed } }, async (deployment) => {
      for (const resource of [undefined, API, [API], [OPAQUE_API, API]]) {
        asked.length = 0
        const { subjectToken } = await issue(deployment, { ...(resource && { resource }) })
        const { status, text } = await exchange(deployment, { subject_token: subjectToken })
        expect(status, text).to.equal(200)
        expect(asked.map(({ stage, use }) => [stage, use])).to.deep.equal([
          ['issuance', 'exchange'],
          ['exchange', 'exchange'],
        ])
        expect(asked.map((request) => request.resource)).to.deep.equal([resource, API])
        if (typeof resource === 'object') expect(asked[0]?.resource).to.be.frozen
      }
    })
  })

  it('passes what will be granted, with account ids, frozen', async () => {
    const asked: PolicyRequest[] = []
    const isAllowed = (request: PolicyRequest) => asked.push(request) > 0
    await withDeployment({ options: { isAllowed, maxDelegationDepth: 2 } }, async (deployment) => {
      const context = { ticketId: 'T-1', nested: { list: [1] } }
      const { subjectToken } = await issue(deployment, { userId: 'alias:alice', context })
      const actor = await actorJwt(deployment, {
        act: { sub: 'carol' },
        client_id: 'web',
        aud: 'urn:elsewhere',
      })
      const response = await exchange(deployment, {
        subject_token: subjectToken,
        scope: 'orders:read orders:delete',
        ...withActor(actor),
      })
      expect(response.status, response.text).to.equal(200)
      const { account, ...question } = asked[1] as PolicyRequest
      expect(account.accountId).to.equal('alice')
      expect(question).to.deep.equal({
        stage: 'exchange',
        use: 'exchange',
        userId: 'alice',
        actor: {
          sub: 'bob',
          clientId: 'web',
          audiences: ['urn:elsewhere'],
          act: { sub: 'carol' },
          verified: true,
        },
        client: { id: 'spa' },
        createdBy: { id: 'backend' },
        context,
        resource: API,
        scope: 'orders:read',
      })
      const { actor: acting, client, context: given } = question
      for (const part of [asked[1], acting, acting?.act, acting?.audiences, client, given]) {
        expect(part).to.be.frozen
      }
      expect(question.context?.nested).to.be.frozen
    })
  })

  it('receives every audience of the actor token, however it is stored', async () => {
    const asked: PolicyRequest[] = []
    const isAllowed = (request: PolicyRequest) => asked.push(request) > 0
    await withDeployment({ options: { isAllowed } }, async (deployment) => {
      const aud = [API, 'urn:elsewhere']
      const client = await deployment.provider.Client.find('spa')
      const opaque = new deployment.provider.AccessToken({
        accountId: 'bob',
        client,
        gty: 'authorization_code',
        scope: 'openid',
        aud,
      } as never)
      const tokens: [actor: string, audiences: readonly string[]][] = [
        [await actorJwt(deployment, { aud }), aud],
        [await actorJwt(deployment), [API]],
        [await opaque.save(), aud],
        [await actorToken(deployment, { audience: 'urn:elsewhere' }), ['urn:elsewhere']],
        [await actorToken(deployment), []],
      ]
      for (const [actor, audiences] of tokens) {
        const { subjectToken } = await issue(deployment)
        const response = await exchange(deployment, { subject_token: subjectToken, ...withActor(actor) })
        expect(response.status, response.text).to.equal(200)
        expect(asked.at(-1)?.actor?.audiences).to.deep.equal(audiences)
      }
    })
  })

  it('is called again at the exchange, because it may have changed since the issuance', async () => {
    const stages: string[] = []
    const isAllowed = ({ stage }: PolicyRequest) => stages.push(stage) > 0
    await withDeployment({ options: { isAllowed } }, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      await exchange(deployment, { subject_token: subjectToken })
      expect(stages).to.deep.equal(['issuance', 'exchange'])
    })
  })

  it('is asked before the claims function, which a denial keeps from being called', async () => {
    const called: string[] = []
    let allowed = false
    const isAllowed = ({ stage }: PolicyRequest) =>
      stage === 'issuance' || (called.push('isAllowed') > 0 && allowed)
    const getCustomJwtClaims = () => {
      called.push('getCustomJwtClaims')
      return {}
    }
    await withDeployment({ options: { isAllowed, getCustomJwtClaims } }, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      expect((await exchange(deployment, { subject_token: subjectToken })).body.error).to.equal(
        'access_denied',
      )
      expect(called.splice(0)).to.deep.equal(['isAllowed'])
      allowed = true
      expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
      expect(called).to.deep.equal(['isAllowed', 'getCustomJwtClaims'])
    })
  })

  it('cannot be misled by an actor that is named in the constraint but not proven', async () => {
    const actors: unknown[] = []
    const isAllowed = ({ actor }: PolicyRequest) => actors.push(actor) > 0
    await withDeployment({ options: { isAllowed } }, async (deployment) => {
      const { subjectToken } = await issue(deployment, { actorId: 'bob' })
      const bob = await actorToken(deployment)
      await exchange(deployment, { subject_token: subjectToken, ...withActor(bob) })
      expect(actors[0]).to.deep.equal({ sub: 'bob', verified: false })
      expect(actors[1]).to.deep.include({ sub: 'bob', verified: true })
    })
  })

  it('names the policy, the actor and the target in the event of a denial', async () => {
    const { isAllowed } = policy(() => false)
    await withDeployment({ options: { isAllowed } }, async (deployment) => {
      const { subjectToken, id } = await issue(deployment)
      const actor = withActor(await actorToken(deployment))
      await exchange(deployment, { subject_token: subjectToken, scope: 'orders:read', ...actor })
      const { actor: acting, ...event } = onlyEvent(deployment, 'subject_token.refused')
      expect(acting).to.include({ sub: 'bob', clientId: 'spa' })
      expect(event).to.deep.equal({
        stage: 'exchange',
        error: 'access_denied',
        check: 'isAllowed',
        reason: 'isAllowed returned false',
        clientId: 'spa',
        id,
        userId: 'alice',
        resource: API,
        scope: 'orders:read',
      })
    })
  })
})

function throwing(error: unknown): never {
  throw error
}
