/** A print shop: Koa, its people in a map, its APIs in a table. The proofs' access tokens were to be JWTs. */
import { generateKeyPairSync } from 'node:crypto'
import Koa from 'koa'
import mount from 'koa-mount'
import Provider, { type Configuration, errors, type JWK, type ResourceServer } from 'oidc-provider'
import { Sequelize } from 'sequelize'
import { createImpersonation, TOKEN_EXCHANGE } from '../../../../src/index.ts'
import {
  createAdapter,
  createSubjectTokenStore,
  migrate,
  nodeSqlite,
} from '../../../../src/sequelize/index.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const key: JWK = { ...(privateKey.export({ format: 'jwk' }) as JWK), alg: 'RS256', use: 'sig', kid: '2026-1' }

const people = new Map([
  ['u-1001', { name: 'Imke Vos', staff: false }],
  ['u-1002', { name: 'Jonas Lind', staff: false }],
  ['s-7', { name: 'Petra Klein', staff: true }],
])

const apis: Record<string, ResourceServer> = {
  'https://api.inkwell.example/orders': {
    scope: 'orders:read orders:cancel',
    accessTokenFormat: 'jwt',
    accessTokenTTL: 600,
    jwt: { sign: { alg: 'RS256' } },
  },
  'https://api.inkwell.example/proofs': {
    scope: 'proofs:read',
    ...(process.env.REMEDIED && { accessTokenFormat: 'jwt' }),
    accessTokenTTL: 600,
    jwt: { sign: { alg: 'RS256' } },
  },
}

export const sequelize = new Sequelize({
  dialect: 'sqlite',
  dialectModule: nodeSqlite,
  storage: ':memory:',
  logging: false,
})
await migrate(sequelize)

const configuration: Configuration = {
  adapter: createAdapter(sequelize),
  jwks: { keys: [key] },
  cookies: { keys: ['ink', 'well'] },
  findAccount: (_ctx, id) => {
    const person = people.get(id)
    return person && { accountId: id, claims: () => ({ sub: id, name: person.name }) }
  },
  interactions: { url: (_ctx, { uid }) => `/login/${uid}` },
  clients: [
    {
      client_id: 'shop',
      client_secret: 'c0a5d2a1f3be4e0f9bb4c0f8a2f39d10',
      redirect_uris: ['https://www.inkwell.example/callback'],
    },
    {
      client_id: 'helpdesk',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['https://helpdesk.inkwell.example/callback'],
      grant_types: ['authorization_code', TOKEN_EXCHANGE],
      token_exchange_resources: Object.keys(apis),
    },
    {
      client_id: 'helpdesk-backend',
      client_secret: '8b0e7f3f5a0c4f1d8a3d5c1b7e9f2a64',
      redirect_uris: [],
      response_types: [],
      grant_types: ['client_credentials'],
      scope: 'subject-tokens:create',
    },
  ],
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      getResourceServerInfo: (_ctx, resource) => {
        const api = apis[resource]
        if (!api) throw new errors.InvalidTarget()
        return api
      },
    },
  },
}

export const impersonation = createImpersonation({
  store: createSubjectTokenStore(sequelize),
  requireActor: true,
  requiredContext: ['ticket'],
  isAllowed: ({ userId, actor }) =>
    people.get(userId)?.staff === false && actor !== undefined && people.get(actor.sub)?.staff === true,
})
export const provider = new Provider(
  'https://login.inkwell.example/oidc',
  impersonation.configure(configuration),
)
impersonation.attach(provider)

export const app = new Koa()
app.keys = provider.keys
app.proxy = true
app.use(mount('/oidc', provider))
app.use(impersonation.router().routes())
