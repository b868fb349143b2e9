/** Where an API may go, and for what (protocol.md §8.3). */
import { expect } from 'chai'
import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { actorJwt } from '../../fixtures/actor-tokens.ts'
import {
  API,
  type Deployment,
  OPAQUE_API,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import {
  apiClient,
  BILLING,
  billingApi,
  downstream,
  LEDGER,
  ownToken,
  passedOn,
  passOn,
  viewed,
} from '../../fixtures/on-behalf-of.ts'
import { expectNotPassedOn, SCOPE, TARGET } from './refusals.ts'

const OWN_ALIAS = 'https://own-alias.example.com'
const PLAIN = 'https://plain.example.com'

const anywhere = apiClient({
  client_id: 'free-api',
  client_secret: 'free',
  token_exchange_resources: undefined,
})
const nowhere = apiClient({ client_id: 'shut-api', client_secret: 'shut', token_exchange_resources: [] })
const scoped = apiClient({ client_id: 'scoped-api', client_secret: 'scoped', scope: 'openid' })
const everywhere = apiClient({
  client_id: 'wide-api',
  client_secret: 'wide',
  token_exchange_resources: [API, OPAQUE_API, BILLING, OWN_ALIAS, PLAIN, 'https://unknown.example.com'],
})
const clients = [anywhere, nowhere, scoped, everywhere]

/** Further names of an API, and one whose format is left to the provider. */
const configuration = {
  features: {
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx: KoaContextWithOIDC, _client: unknown, one: string | undefined) =>
        one ?? BILLING,
      getResourceServerInfo(_ctx: unknown, resource: string) {
        if (resource === 'https://unknown.example.com') throw new errors.InvalidTarget()
        const jwt = { sign: { alg: 'ES256' } }
        const scope = 'orders:read orders:write bills:read openid offline_access profile'
        const info = { scope, audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: 600, jwt }
        if (resource === OWN_ALIAS) return { ...info, audience: API }
        // Its audience is its name, unless the deployment says otherwise.
        if (resource === OPAQUE_API)
          return { ...info, audience: undefined, accessTokenFormat: 'opaque', jwt: undefined }
        if (resource === PLAIN) return { ...info, accessTokenFormat: undefined, jwt: undefined }
        return info
      },
    },
  },
} as never

describe('on behalf of: the resource', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment(downstream({}, { clients, configuration }))
  })
  after(() => deployment.close())

  const refuses = async (changes: Parameters, reason: string, client = everywhere) => {
    for (const token of [await ownToken(deployment), (await viewed(deployment)).accessToken])
      await expectNotPassedOn(deployment, () => passOn(deployment, token, changes, { client }), {
        ...TARGET,
        reason,
      })
  }

  it('is among those of the client, character by character', async () => {
    await refuses({ resource: LEDGER }, 'not among the resources of the client')
    await refuses({ resource: `${BILLING}/` }, 'not among the resources of the client')
    await refuses({ resource: BILLING.toUpperCase() }, 'not among the resources of the client')
    await passedOn(deployment, await ownToken(deployment), {}, { client: everywhere })
  })

  it('is none for a client that has no list, and for one whose list is empty', async () => {
    await refuses({}, 'not among the resources of the client', anywhere)
    await refuses({}, 'not among the resources of the client', nowhere)
  })

  it('may be the default of the deployment', async () => {
    const { claims } = await passedOn(
      deployment,
      await ownToken(deployment),
      { resource: null },
      { client: everywhere },
    )
    expect(claims.aud).to.equal(BILLING)
  })

  it('is not the one that received the token, by its name or by its audience', async () => {
    await refuses({ resource: API }, 'the audience of the received token')
    await refuses({ resource: OWN_ALIAS }, 'the audience of the received token')
    // The token was received for a resource that is named like an API, whatever the audience of that API is.
    const token = await actorJwt(deployment, { sub: 'alice', aud: OPAQUE_API })
    const attempt = () => passOn(deployment, token, { resource: OPAQUE_API }, { client: everywhere })
    await expectNotPassedOn(deployment, attempt, { ...TARGET, reason: 'the audience of the received token' })
  })

  it('has JWTs as access tokens', async () => {
    await refuses({ resource: OPAQUE_API }, 'its access tokens are opaque')
    await refuses({ resource: PLAIN }, 'its access tokens are opaque')
  })

  it('is one, known, absolute, and not the management API', async () => {
    await refuses({ resource: [BILLING, BILLING] }, 'more than one resource')
    await refuses({ resource: '/billing' }, 'not an absolute URI without fragment')
    await refuses({ resource: `${BILLING}#x` }, 'not an absolute URI without fragment')
    const before = deployment.events.length
    for (const resource of ['https://unknown.example.com', `${deployment.baseUrl}/api`]) {
      const { body } = await passOn(
        deployment,
        await ownToken(deployment),
        { resource },
        { client: everywhere },
      )
      expect(body.error).to.equal('invalid_target')
    }
    const names = deployment.events.slice(before).map(({ name }) => name)
    expect(names).to.deep.equal(['access_token.refused', 'access_token.refused'])
  })
})

describe('on behalf of: the resource, of an impersonation that is limited to some', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment(downstream({ onBehalfOf: { hops: 2 } }, { clients, configuration }))
  })
  after(() => deployment.close())

  const limitedTo = (resource: string | readonly string[]) =>
    viewed(deployment, {}, { resource }).then(({ accessToken }) => accessToken)
  const beyond = (...resources: string[]) => ({
    ...TARGET,
    description: `the impersonation is limited to ${resources.join(', ')}`,
    reason: 'not among the resources of the record',
  })

  it('is one of them', async () => {
    const { claims } = await passedOn(deployment, await limitedTo([API, BILLING]))
    expect(claims.aud).to.equal(BILLING)
  })

  it('is no other, and the API reads which they are', async () => {
    for (const resource of [API, [API], [LEDGER, API], [`${BILLING}/`, API]]) {
      const token = await limitedTo(resource)
      const attempt = () => passOn(deployment, token, {}, { client: everywhere })
      await expectNotPassedOn(deployment, attempt, beyond(...[resource].flat()))
    }
  })

  it('is one of them for the next API, too', async () => {
    const client = billingApi()
    const near = await passedOn(deployment, await limitedTo([API, BILLING]))
    const attempt = () => passOn(deployment, near.accessToken, { resource: LEDGER }, { client })
    await expectNotPassedOn(deployment, attempt, beyond(API, BILLING))
    const far = await passedOn(deployment, await limitedTo([LEDGER, API, BILLING]))
    await passedOn(deployment, far.accessToken, { resource: LEDGER }, { client })
  })

  it('is among those of the client as well, and reads of them only then', async () => {
    for (const token of [await limitedTo([API, LEDGER]), await limitedTo(API)]) {
      for (const client of [everywhere, anywhere]) {
        const attempt = () => passOn(deployment, token, { resource: LEDGER }, { client })
        await expectNotPassedOn(deployment, attempt, {
          ...TARGET,
          reason: 'not among the resources of the client',
        })
      }
    }
  })
})

describe('on behalf of: the scope', () => {
  interface Case {
    readonly requested: string | null
    /** Of the received token. */
    readonly received?: string
    /** The constraint of the subject token. */
    readonly ceiling?: string
    readonly client?: typeof scoped
    readonly granted: string | undefined | null
  }
  const cases: Case[] = [
    { requested: null, received: 'orders:read', granted: undefined },
    { requested: 'orders:read', received: 'orders:read', granted: 'orders:read' },
    { requested: 'orders:read orders:write', received: 'orders:read', granted: 'orders:read' },
    { requested: 'bills:read', received: 'orders:read', granted: null },
    { requested: 'orders:read', received: undefined, granted: null },
    { requested: 'unknown', received: 'unknown', granted: null },
    { requested: 'openid', received: 'openid', granted: null },
    { requested: 'offline_access', received: 'offline_access', granted: null },
    { requested: 'openid orders:read', received: 'openid orders:read', granted: 'orders:read' },
    { requested: 'profile orders:read', received: 'profile orders:read', granted: 'profile orders:read' },
    {
      requested: 'profile orders:read',
      received: 'profile orders:read',
      client: scoped,
      granted: 'orders:read',
    },
  ]
  for (const { requested, received, client = apiClient(), granted } of cases) {
    it(`is ${granted ?? 'none'} for ${requested}, if ${received} was received`, () =>
      withDeployment(downstream({ isAllowed: () => true }, { clients }), async (deployment) => {
        const token = await actorJwt(deployment, { sub: 'alice', scope: received })
        const attempt = () => passOn(deployment, token, { scope: requested }, { client })
        if (granted === null) return void (await expectNotPassedOn(deployment, attempt, SCOPE))
        const { claims } = await passedOn(deployment, token, { scope: requested }, { client })
        expect(claims.scope).to.equal(granted)
      }))
  }

  it("is never more than the received token's, where the record's is wider", () =>
    withDeployment(downstream(), async (deployment) => {
      const { accessToken } = await viewed(
        deployment,
        { scope: 'orders:read' },
        { scope: 'orders:read orders:write' },
      )
      const { claims } = await passedOn(deployment, accessToken, { scope: 'orders:read orders:write' })
      expect(claims.scope).to.equal('orders:read')
      const attempt = () => passOn(deployment, accessToken, { scope: 'orders:write' })
      await expectNotPassedOn(deployment, attempt, SCOPE)
    }))

  it('is at most 256 names', () =>
    withDeployment(downstream(), async (deployment) => {
      const scope = 'a '.repeat(257).trim()
      const { body } = await passOn(deployment, await ownToken(deployment), { scope })
      expect(body.error_description).to.equal('more than 256 scopes were requested')
    }))
})
