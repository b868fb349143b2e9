/** `oidc-impersonation check`: which APIs may go downstream, and each mistake that would keep them from it. */
import { expect } from 'chai'
import type { ClientMetadata, Configuration, ResourceServer } from 'oidc-provider'
import { tooLate } from '../../fixtures/clock.ts'
import { API, OPAQUE_API, RESOURCES, withDeployment } from '../../fixtures/deployment.ts'
import { checkClients } from '../../src/cli/check/clients.ts'
import type { Finding } from '../../src/cli/check/finding.ts'
import { insideOf } from '../../src/impersonation.ts'
import { type ImpersonationOptions, TOKEN_EXCHANGE } from '../../src/index.ts'

const BILLING = 'https://billing.example.com'
const NAMED = 'https://named.example.com'

const jwts = (audience: string): ResourceServer => ({
  ...{ audience, scope: 'invoices:read', accessTokenFormat: 'jwt', accessTokenTTL: 600 },
  jwt: { sign: { alg: 'ES256' } },
})

const ordersApi: ClientMetadata = {
  client_id: 'orders-api',
  client_secret: 'orders-api-secret',
  grant_types: [TOKEN_EXCHANGE],
  redirect_uris: [],
  response_types: [],
  token_exchange_audiences: [API],
  token_exchange_resources: [BILLING],
}

interface Planted {
  readonly options?: Partial<ImpersonationOptions>
  readonly api?: Partial<ClientMetadata>
  readonly clients?: readonly ClientMetadata[]
  readonly resources?: Readonly<Record<string, ResourceServer>>
  readonly configuration?: Configuration
}

async function check({ options, api, clients = [], resources, configuration }: Planted): Promise<Finding[]> {
  const found: Finding[] = []
  const overrides = {
    options: { onBehalfOf: true, isAllowed: () => true, ...options },
    clients: [{ ...ordersApi, ...api }, ...clients],
    resources: { ...RESOURCES, [BILLING]: jwts(BILLING), ...resources },
    configuration,
  }
  await withDeployment(overrides, async ({ impersonation }) => {
    found.push(...(await checkClients({ impersonation, inside: insideOf(impersonation) })))
  })
  for (const finding of found) expect(finding).to.include.all.keys('level', 'about', 'text')
  return found
}

const about = (findings: readonly Finding[], ...names: string[]) =>
  findings.filter((finding) => names.includes(finding.about))

describe('oidc-impersonation check: downstream', () => {
  it('names the APIs, finds nothing wrong with a sound one, and counts none among those who exchange', async () => {
    const findings = await check({})
    expect(about(findings, 'who may go downstream', 'downstream')).to.deep.equal([
      { level: 'ok', about: 'who may go downstream', text: 'orders-api' },
    ])
    expect(about(findings, 'who may exchange')[0]?.text).to.equal('spa, web')
  })

  it('does not take an API without token_exchange_resources for one that may go everywhere', async () => {
    const findings = await check({ api: { token_exchange_resources: undefined } })
    expect(about(findings, 'resources')[0]?.text).to.equal('may exchange for every resource: spa, web')
  })

  it('knows an audience that is not the name of its resource', async () => {
    const findings = await check({
      api: { token_exchange_audiences: ['orders'] },
      resources: { [NAMED]: jwts('orders') },
      clients: [
        {
          ...ordersApi,
          client_id: 'desk',
          token_exchange_audiences: undefined,
          token_exchange_resources: [NAMED],
        },
      ],
    })
    expect(about(findings, 'downstream')).to.deep.equal([])
  })

  it('says nothing where it is switched off and no client has the metadata', async () => {
    const findings = await check({
      options: { onBehalfOf: false },
      api: { token_exchange_audiences: undefined },
    })
    expect(about(findings, 'who may go downstream', 'downstream')).to.deep.equal([])
  })

  it('says that it saw no API where it is switched on', async () => {
    const findings = await check({ api: { token_exchange_audiences: undefined } })
    expect(about(findings, 'who may go downstream', 'downstream')).to.deep.equal([
      {
        level: 'note',
        about: 'who may go downstream',
        text: 'no static client, and none that an example names: others were not looked at',
      },
    ])
  })

  const failing = (error: unknown): Configuration => ({
    features: {
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo(_ctx, resource) {
          if (resource === BILLING) throw error
          return jwts(resource)
        },
      },
    },
  })

  it('asks once for each resource and client, and not about an audience that is the name of no resource', async () => {
    const asked: string[] = []
    const configuration: Configuration = {
      features: {
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo(_ctx, resource, { clientId }) {
            asked.push(`${clientId}: ${resource}`)
            return jwts(resource)
          },
        },
      },
    }
    const findings = await check({ api: { token_exchange_audiences: ['orders', API] }, configuration })
    const clients = ['spa', 'web', 'backend', 'resource-server', 'orders-api']
    // Those that may exchange for every resource are asked about one that no one has named.
    const anything = ['spa: https://any.invalid', 'web: https://any.invalid']
    expect(asked).to.have.members([
      ...clients.flatMap((client) => [`${client}: ${API}`, `${client}: ${BILLING}`]),
      ...anything,
    ])
    expect(about(findings, 'downstream').map(({ text }) => text)).to.deep.equal([
      '"orders-api" exchanges tokens for orders, and no resource that is known here has that audience',
    ])
  })

  it('knows no resource where the deployment has no function that returns one', async () => {
    const configuration: Configuration = {
      features: { resourceIndicators: { enabled: true, getResourceServerInfo: undefined } },
    }
    const findings = await check({ api: { token_exchange_audiences: ['orders'] }, configuration })
    expect(about(findings, 'downstream').map(({ text }) => text)).to.deep.equal([
      '"orders-api" exchanges tokens for orders, and no resource that is known here has that audience',
      '"orders-api" may go to https://billing.example.com, which is no resource for it',
    ])
  })

  it('does not take APIs with audiences of their own for ones that share', async () => {
    const reports = { ...ordersApi, client_id: 'reports', token_exchange_audiences: [NAMED] }
    const findings = await check({ clients: [reports], resources: { [NAMED]: jwts(NAMED) } })
    expect(about(findings, 'downstream')).to.deep.equal([])
  })

  it('does not wait longer for a resource than for claims', async () => {
    const configuration: Configuration = {
      features: {
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_ctx, resource) =>
            resource === BILLING ? tooLate<ResourceServer>(2) : jwts(resource),
        },
      },
    }
    const findings = await check({ options: { customClaimsTimeout: 2 }, configuration })
    expect(about(findings, 'downstream').map(({ text }) => text)).to.deep.equal([
      '"orders-api" may go to https://billing.example.com: getResourceServerInfo fails: it took more than 2 s',
    ])
  })

  const planted: [mistake: string, planted: Planted, level: string, text: RegExp][] = [
    [
      'an API while onBehalfOf is off',
      { options: { onBehalfOf: false } },
      'warning',
      /^onBehalfOf is off, so these can exchange nothing, .*: orders-api$/,
    ],
    [
      'a public client',
      { api: { token_endpoint_auth_method: 'none', client_secret: undefined } },
      'fault',
      /"orders-api" does not authenticate/,
    ],
    [
      'an API without the grant',
      { api: { grant_types: ['client_credentials'] } },
      'fault',
      /"orders-api" has token_exchange_audiences, and not the grant/,
    ],
    ['an API without audience', { api: { token_exchange_audiences: [] } }, 'fault', /has no audience/],
    [
      'an audience that no resource has',
      { api: { token_exchange_audiences: [`${API}/`] } },
      'warning',
      /exchanges tokens for https:\/\/api\.example\.com\/, and no resource/,
    ],
    [
      'an API that may go nowhere',
      { api: { token_exchange_resources: undefined } },
      'fault',
      /may go nowhere: it has no token_exchange_resources/,
    ],
    ['an API with an empty list', { api: { token_exchange_resources: [] } }, 'fault', /may go nowhere/],
    [
      'a target that is no resource',
      { api: { token_exchange_resources: ['https://unknown.example.com'] } },
      'fault',
      /may go to https:\/\/unknown\.example\.com, which is no resource for it/,
    ],
    [
      'a target with opaque tokens',
      { api: { token_exchange_resources: [OPAQUE_API] } },
      'fault',
      /whose tokens are opaque/,
    ],
    [
      'a target whose format is not said, which the provider takes for opaque',
      { resources: { [BILLING]: { ...jwts(BILLING), accessTokenFormat: undefined } } },
      'fault',
      /whose tokens are opaque/,
    ],
    [
      'a target whose information cannot be had',
      { configuration: failing(new Error('no such table')) },
      'fault',
      /getResourceServerInfo fails: no such table/,
    ],
    [
      'the API itself as target',
      { api: { token_exchange_resources: [API] } },
      'warning',
      /may go to https:\/\/api\.example\.com, which is the API itself/,
    ],
    [
      'another resource with the audience of the API',
      { resources: { [BILLING]: jwts(API) } },
      'warning',
      /may go to https:\/\/billing\.example\.com, which is the API itself/,
    ],
    [
      'an audience that another API has, too',
      { clients: [{ ...ordersApi, client_id: 'reports' }] },
      'warning',
      /^orders-api, reports all exchange tokens for https:\/\/api\.example\.com$/,
    ],
  ]
  for (const [mistake, parts, level, text] of planted) {
    it(`finds ${mistake}, and nothing else`, async () => {
      const findings = about(await check(parts), 'downstream')
      expect(findings.map((finding) => finding.text)).to.have.length(1)
      const [finding] = findings
      expect(finding?.level).to.equal(level)
      expect(finding?.text).to.match(text)
      expect(finding?.advice).to.be.a('string').and.not.equal('')
    })
  }
})
