/** A maker of maps: Express, accounts behind a class, one API for which every token is meant unless it says otherwise. */
import { generateKeyPairSync } from 'node:crypto'
import express from 'express'
import {
  type Account,
  type ClientMetadata,
  type Configuration,
  errors,
  type JWK,
  Provider,
} from 'oidc-provider'
import { Sequelize } from 'sequelize'
import { createImpersonation, type ImpersonationOptions, TOKEN_EXCHANGE } from '../../../../src/index.ts'
import {
  createAdapter,
  createSubjectTokenStore,
  migrate,
  nodeSqlite,
} from '../../../../src/sequelize/index.ts'

class Accounts {
  readonly #groups = new Map<string, readonly string[]>([
    ['2f1c7b52-6c0e-4d0e-a9f3-5f3f4c9d1e10', ['members']],
    ['9b8d4a0f-11c2-47f8-8c55-0f6f0f5f2c77', ['members', 'cartographers']],
    ['e5a0c1de-7a55-4d4b-9a52-b0a4f1f6d3aa', ['staff', 'second-level']],
  ])

  async find(id: string): Promise<Account | undefined> {
    if (!this.#groups.has(id)) return undefined
    return { accountId: id, claims: () => ({ sub: id, groups: this.#groups.get(id) }) }
  }

  has(id: string, group: string): boolean {
    return this.#groups.get(id)?.includes(group) ?? false
  }
}

const TILES = 'https://tiles.atlas.example/'
const DESK = 'atlas-desk'

const clients: ClientMetadata[] = (
  [
    ['atlas-web', ['authorization_code', 'refresh_token']],
    [DESK, ['authorization_code', 'refresh_token', TOKEN_EXCHANGE], [TILES]],
  ] as const
).map(([id, grants, resources]) => ({
  client_id: id,
  application_type: 'web',
  token_endpoint_auth_method: 'none',
  grant_types: [...grants],
  response_types: ['code'],
  redirect_uris: [`https://${id}.atlas.example/cb`],
  ...(resources && { token_exchange_resources: [...resources] }),
}))
clients.push({
  client_id: 'atlas-desk-backend',
  client_secret: 'b6f6a8b1-2a64-4f6b-9a64-2f9fca37c2f5',
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
  scope: 'subject-tokens:create subject-tokens:revoke',
})

function configurationFor(accounts: Accounts, sequelize: Sequelize): Configuration {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    adapter: createAdapter(sequelize),
    clients,
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    jwks: { keys: [{ ...(privateKey.export({ format: 'jwk' }) as JWK), alg: 'ES256' }] },
    cookies: { keys: ['meridian'] },
    findAccount: (_ctx, id) => accounts.find(id),
    claims: { openid: ['sub'], groups: ['groups'] },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        // Our applications have one API. They should not have to say so at each request.
        defaultResource: async (_ctx, _client, oneOf) => oneOf?.[0] ?? TILES,
        useGrantedResource: async (_ctx, model) => (process.env.REMEDIED ? model.clientId !== DESK : true),
        getResourceServerInfo: async (_ctx, resource) => {
          switch (resource) {
            case TILES:
              return {
                audience: 'tiles',
                scope: 'tiles:read layers:read',
                accessTokenFormat: 'jwt',
                accessTokenTTL: 15 * 60,
                jwt: { sign: { alg: 'ES256' } },
              }
            default:
              throw new errors.InvalidTarget()
          }
        },
      },
    },
  }
}

export default async function build() {
  const accounts = new Accounts()
  const sequelize = new Sequelize({
    dialect: 'sqlite',
    dialectModule: nodeSqlite,
    storage: ':memory:',
    logging: false,
  })
  await migrate(sequelize)
  const isAllowed: ImpersonationOptions['isAllowed'] = ({ userId, actor }) =>
    accounts.has(userId, 'members') && (actor ? accounts.has(actor.sub, 'second-level') : false)
  const impersonation = createImpersonation({
    store: createSubjectTokenStore(sequelize),
    requireActor: true,
    isAllowed,
  })
  const provider = new Provider(
    'https://accounts.atlas.example/oidc',
    impersonation.configure(configurationFor(accounts, sequelize)),
  )
  impersonation.attach(provider)
  provider.proxy = true

  const app = express()
  app.use('/oidc', provider.callback())
  app.use('/api', impersonation.handler())
  app.get('/healthz', (_req, res) => void res.send('ok'))
  return { app, provider, impersonation, sequelize }
}
