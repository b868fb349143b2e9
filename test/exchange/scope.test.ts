/** Which scopes an exchange grants (protocol.md §3.4). */
import { inspect } from 'node:util'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { publicClient } from '../../fixtures/clients.ts'
import {
  API,
  type Deployment,
  type DeploymentOverrides,
  OPAQUE_API,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { exchange, introspect, issue, managementToken } from '../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'
import { expectRefused } from './refusals.ts'

/** Registered for no provider scope except openid. */
const openidOnly = publicClient({ client_id: 'openid-only', scope: 'openid' })
const withProfile = publicClient({ client_id: 'with-profile', scope: 'profile' })

interface Case {
  readonly asked: string | null
  readonly ceiling?: string
  readonly granted: string | undefined
  readonly client?: typeof openidOnly
  readonly resource?: string
  readonly acting?: boolean
}

const GRANTED: [title: string, request: Case][] = [
  ['nothing when nothing is requested', { asked: null, granted: undefined }],
  ['nothing when the scope is blank', { asked: '', granted: undefined }],
  [
    'nothing when nothing is requested under a ceiling',
    { asked: null, ceiling: 'orders:read', granted: undefined },
  ],
  ['what the resource has', { asked: 'orders:read orders:delete', granted: 'orders:read' }],
  [
    'everything that is requested',
    { asked: 'orders:read orders:write', granted: 'orders:read orders:write' },
  ],
  ['each scope once', { asked: 'orders:read orders:read', granted: 'orders:read' }],
  [
    'nothing outside the ceiling',
    { asked: 'orders:read orders:write', ceiling: 'orders:read', granted: 'orders:read' },
  ],
  [
    'nothing outside the resource, even if the ceiling names it',
    { asked: 'orders:read orders:delete', ceiling: 'orders:delete orders:read', granted: 'orders:read' },
  ],
  ['no offline_access', { asked: 'orders:read offline_access', granted: 'orders:read' }],
  [
    'no offline_access, even if the ceiling names it',
    { asked: 'offline_access orders:read', ceiling: 'offline_access orders:read', granted: 'orders:read' },
  ],
  ['no openid without an actor token', { asked: 'openid orders:read', granted: 'orders:read' }],
  [
    'no openid with maxDelegationDepth 1',
    { asked: 'openid orders:read', granted: 'orders:read', acting: true },
  ],
  ['scopes of the provider to a client without scope metadata', { asked: 'profile', granted: 'profile' }],
  [
    'scopes of the provider that the client is registered for',
    { asked: 'profile orders:read', granted: 'profile orders:read', client: withProfile },
  ],
  [
    'no scope of the provider that the client is not registered for',
    { asked: 'profile orders:read', granted: 'orders:read', client: openidOnly },
  ],
  [
    'scopes of the resource that the client metadata does not name',
    { asked: 'orders:write', granted: 'orders:write', client: openidOnly },
  ],
  [
    'what an opaque resource has',
    { asked: 'orders:read orders:write', granted: 'orders:read', resource: OPAQUE_API },
  ],
]

const REFUSED: [title: string, request: Omit<Case, 'granted'>][] = [
  ['only scopes the resource does not have', { asked: 'orders:delete' }],
  ['only scopes outside the ceiling', { asked: 'orders:write', ceiling: 'orders:read' }],
  ['only offline_access', { asked: 'offline_access' }],
  ['only openid', { asked: 'openid' }],
  ['only openid, with an actor and maxDelegationDepth 1', { asked: 'openid', acting: true }],
  ['only a scope the client is not registered for', { asked: 'profile', client: openidOnly }],
  ['a scope that differs in case', { asked: 'ORDERS:READ' }],
  ['a management scope', { asked: 'subject-tokens:create' }],
]

describe('token exchange: the scope', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment({ clients: [openidOnly, withProfile] })
  })
  after(() => deployment.close())

  const send = async (
    subjectToken: string,
    { asked, client, resource = API, acting }: Omit<Case, 'granted'>,
  ) => {
    const actor: Parameters = acting ? withActor(await actorToken(deployment)) : {}
    const parameters = { subject_token: subjectToken, scope: asked, resource, ...actor }
    return exchange(deployment, parameters, { client })
  }
  const ceilingOf = ({ ceiling }: { ceiling?: string }) => (ceiling === undefined ? {} : { scope: ceiling })

  for (const [title, request] of GRANTED) {
    it(`grants ${title}`, async () => {
      const { subjectToken } = await issue(deployment, ceilingOf(request))
      const response = await send(subjectToken, request)
      expect(response.status, response.text).to.equal(200)
      expect(response.body.scope).to.equal(request.granted)
      const token = response.body.access_token
      const claims = token.includes('.') ? decodeJwt(token) : await introspect(deployment, token)
      expect(claims.scope).to.equal(request.granted)
    })
  }

  for (const [title, request] of REFUSED) {
    it(`refuses ${title}, and repeats none of them`, async () => {
      const response = await expectRefused(deployment, {
        issued: ceilingOf(request),
        attempt: (subjectToken) => send(subjectToken, request),
        error: 'invalid_scope',
        description: 'none of the requested scopes can be granted',
        check: 'scope',
      })
      expect(response.body).to.have.all.keys('error', 'error_description')
    })
  }

  describe('accepts at most 256 names, and refuses before it looks anything up:', () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)
    const tooMany: [title: string, scope: string][] = [
      ['257', ['orders:read', ...names(256)].join(' ')],
      ['20,000', 'x '.repeat(20_000).trim()],
      ['257 times the same', Array(257).fill('orders:read').join(' ')],
    ]
    for (const [title, scope] of tooMany) {
      it(`not ${title}`, async () => {
        const response = await expectRefused(deployment, {
          attempt: (subjectToken) => exchange(deployment, { subject_token: subjectToken, scope }),
          error: 'invalid_scope',
          description: 'more than 256 scopes were requested',
          check: 'scope',
        })
        expect(response.body).to.have.all.keys('error', 'error_description')
        const refused = deployment.events.findLast(({ name }) => name === 'subject_token.refused')
        expect(refused?.payload).not.to.have.any.keys('id', 'scope')
      })
    }

    it('but 256', async () => {
      const { subjectToken } = await issue(deployment)
      const scope = ['orders:read', ...names(255)].join(' ')
      const response = await exchange(deployment, { subject_token: subjectToken, scope })
      expect(response.body.scope, response.text).to.equal('orders:read')
    })
  })

  it('repeats no subject token that was sent as scope, in the response, an event or an error', async () => {
    const errors: unknown[] = []
    deployment.provider.on('grant.error', (_ctx, error) => errors.push(error))
    const [{ subjectToken }, live] = [await issue(deployment), await issue(deployment)]
    const before = deployment.events.length
    for (const scope of [live.subjectToken, `orders:delete ${live.subjectToken}`]) {
      const response = await exchange(deployment, { subject_token: subjectToken, scope })
      expect(response.body).to.deep.equal({
        error: 'invalid_scope',
        error_description: 'none of the requested scopes can be granted',
      })
    }
    const told = inspect([deployment.events.slice(before), errors], { depth: 9, maxStringLength: null })
    expect(errors).to.have.lengthOf(2)
    expect(told).not.to.include(live.subjectToken)
  })

  for (const scope of [
    ' ',
    'orders:read  orders:write',
    ' orders:read',
    'orders:read\t',
    'orders:"read"',
    'ä',
  ]) {
    it(`refuses ${JSON.stringify(scope)}, which is not a scope (RFC 6749 §3.3)`, () =>
      expectRefused(deployment, {
        attempt: (subjectToken) => exchange(deployment, { subject_token: subjectToken, scope }),
        error: 'invalid_scope',
        check: null,
      }))
  }

  describe('with maxDelegationDepth 2', () => {
    it('grants openid with an actor token', () =>
      withDeployment({ options: { maxDelegationDepth: 2 } }, async (other) => {
        const { subjectToken } = await issue(other)
        const parameters = {
          subject_token: subjectToken,
          scope: 'openid',
          ...withActor(await actorToken(other)),
        }
        expect((await exchange(other, parameters)).body.scope).to.equal('openid')
      }))

    it('grants no openid without one', () =>
      withDeployment({ options: { maxDelegationDepth: 2 } }, (other) =>
        expectRefused(other, {
          attempt: (subjectToken) => exchange(other, { subject_token: subjectToken, scope: 'openid' }),
          error: 'invalid_scope',
          check: 'scope',
        }).then(() => {}),
      ))

    it('grants no openid outside the ceiling', () =>
      withDeployment({ options: { maxDelegationDepth: 2 } }, async (other) => {
        const { subjectToken } = await issue(other, { scope: 'orders:read' })
        const actor = withActor(await actorToken(other))
        const parameters = { subject_token: subjectToken, scope: 'openid orders:read', ...actor }
        expect((await exchange(other, parameters)).body.scope).to.equal('orders:read')
      }))
  })

  it('never issues a refresh token or an ID token, whatever the client and the deployment allow', () => {
    const client = publicClient({
      client_id: 'refreshing',
      grant_types: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE],
    })
    const overrides: DeploymentOverrides = {
      clients: [client],
      configuration: { issueRefreshToken: async () => true },
      options: { maxDelegationDepth: 2 },
    }
    return withDeployment(overrides, async (other) => {
      const { subjectToken } = await issue(other)
      const parameters = { subject_token: subjectToken, scope: 'openid offline_access orders:read' }
      const actor = withActor(await actorToken(other))
      const response = await exchange(other, { ...parameters, ...actor }, { client })
      expect(response.body.scope, response.text).to.equal('openid orders:read')
      expect(response.body).not.to.have.any.keys('refresh_token', 'id_token')
    })
  })

  it('grants the management scopes only to a client that is registered for them', async () => {
    const scope = 'subject-tokens:create subject-tokens:read'
    const token = await managementToken(deployment, { scope })
    expect(decodeJwt(token).scope).to.equal(scope)
  })
})
