/** A service in two regions, each with an issuer: one process, one database, and status lists behind one CDN. */
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { type ClientMetadata, errors, type JWK, Provider } from 'oidc-provider'
import { Sequelize } from 'sequelize'
import { createImpersonation, TOKEN_EXCHANGE } from '../../../../src/index.ts'
import {
  createAdapter,
  createSubjectTokenStore,
  migrate,
  nodeSqlite,
} from '../../../../src/sequelize/index.ts'

const CDN = 'https://lists.courier.example/impersonation'
const REGIONS = {
  emea: { customers: ['emea-1', 'emea-2'], agents: ['emea-agent'] },
  apac: { customers: ['apac-1'], agents: ['apac-agent'] },
} as const
type Region = keyof typeof REGIONS

const clientsOf = (region: Region): ClientMetadata[] => [
  {
    client_id: `${region}-console`,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', TOKEN_EXCHANGE],
    redirect_uris: [`https://${region}.console.courier.example/`],
    token_exchange_resources: [`https://${region}.api.courier.example`],
  },
  {
    client_id: `${region}-backend`,
    client_secret: `${region}.Jm3Zp7rVb2Lq9TdXw5Kc8Ns4`,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    scope: 'subject-tokens:create subject-tokens:read',
  },
]

function issuerOf(region: Region, sequelize: Sequelize) {
  const customers: readonly string[] = REGIONS[region].customers
  const agents: readonly string[] = REGIONS[region].agents
  const impersonation = createImpersonation({
    store: createSubjectTokenStore(sequelize),
    requireActor: true,
    statusList: { ttl: 60, uri: process.env.REMEDIED ? `${CDN}/${region}` : CDN },
    isAllowed: ({ userId, actor }) =>
      customers.includes(userId) && actor !== undefined && agents.includes(actor.sub),
  })
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const provider = new Provider(
    `https://id.courier.example/${region}`,
    impersonation.configure({
      adapter: createAdapter(sequelize, { namespace: region }),
      clients: clientsOf(region),
      clientDefaults: { id_token_signed_response_alg: 'ES256' },
      jwks: { keys: [{ ...(privateKey.export({ format: 'jwk' }) as JWK), alg: 'ES256', use: 'sig' }] },
      cookies: { keys: ['parcel'] },
      findAccount: (_ctx, id) =>
        [...customers, ...agents].includes(id) ? { accountId: id, claims: () => ({ sub: id }) } : undefined,
      features: {
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo(_ctx, resource) {
            if (resource !== `https://${region}.api.courier.example`) throw new errors.InvalidTarget()
            return { scope: 'parcels:read', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } }
          },
        },
      },
    }),
  )
  impersonation.attach(provider)
  provider.proxy = true
  const path = `/${region}`
  return {
    path,
    provider,
    impersonation,
    oidc: provider.callback(),
    management: impersonation.handler({ prefix: `${path}/api` }),
  }
}

export default async function courier(region: Region = process.env.REGION === 'apac' ? 'apac' : 'emea') {
  const sequelize = new Sequelize({
    dialect: 'sqlite',
    dialectModule: nodeSqlite,
    storage: ':memory:',
    logging: false,
  })
  await migrate(sequelize)
  const issuers = { emea: issuerOf('emea', sequelize), apac: issuerOf('apac', sequelize) }

  const app = new Hono().get('/', (c) => c.text('courier'))
  const hono = getRequestListener(app.fetch)
  const server = createServer((req, res) => {
    const url = req.url ?? '/'
    const issuer = Object.values(issuers).find(({ path }) => url.startsWith(`${path}/`))
    if (!issuer) return void hono(req, res)
    issuer.management(req, res, () => {
      void issuer.oidc(Object.assign(req, { originalUrl: url, url: url.slice(issuer.path.length) }), res)
    })
  })
  const { provider, impersonation } = issuers[region]
  return { server, provider, impersonation, sequelize, close: () => sequelize.close() }
}
