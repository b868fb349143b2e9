/** Harbour fees: `node:http`, and people, APIs and clients in tables. The address of an API went through `URL`. */
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import Provider, { type ClientMetadata, errors, type JWK } from 'oidc-provider'
import { DataTypes, QueryTypes, Sequelize } from 'sequelize'
import { createImpersonation, TOKEN_EXCHANGE } from '../../../../src/index.ts'
import {
  createAdapter,
  createSubjectTokenStore,
  migrate,
  nodeSqlite,
} from '../../../../src/sequelize/index.ts'

const INVOICES = new URL('https://invoices.harbour.example')

const jwkOf = (key: ReturnType<typeof generateKeyPairSync>['privateKey']) =>
  ({ ...key.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }) as JWK

export default async function harbour() {
  const sequelize = new Sequelize({
    dialect: 'sqlite',
    dialectModule: nodeSqlite,
    storage: ':memory:',
    logging: false,
  })
  await migrate(sequelize)
  const Person = sequelize.define('person', {
    email: { type: DataTypes.STRING, primaryKey: true },
    team: DataTypes.STRING,
  })
  const Api = sequelize.define('api', {
    address: { type: DataTypes.STRING, primaryKey: true },
    scope: DataTypes.STRING,
  })
  await sequelize.sync()
  await Person.bulkCreate([
    { email: 'captain@northsea.example', team: null },
    { email: 'ines@harbour.example', team: 'support' },
  ])
  await Api.bulkCreate([{ address: INVOICES.origin, scope: 'invoices:read invoices:dispute' }])

  const teamOf = async (email: string) => (await Person.findByPk(email))?.get('team')
  const impersonation = createImpersonation({
    store: createSubjectTokenStore(sequelize),
    requireActor: true,
    isAllowed: async ({ userId, actor }) =>
      (await teamOf(userId)) === null && actor !== undefined && (await teamOf(actor.sub)) === 'support',
  })

  const signing = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const backend = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const adapter = createAdapter(sequelize)
  const provider = new Provider(
    'https://id.harbour.example',
    impersonation.configure({
      adapter,
      jwks: { keys: [jwkOf(signing.privateKey)] },
      cookies: { keys: ['lighthouse'] },
      clientDefaults: { id_token_signed_response_alg: 'ES256' },
      findAccount: async (_ctx, id) =>
        (await Person.findByPk(id)) ? { accountId: id, claims: () => ({ sub: id }) } : undefined,
      features: {
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          async getResourceServerInfo(_ctx, resource) {
            const [api] = await sequelize.query<{ scope: string }>(
              'SELECT scope FROM apis WHERE address = ?',
              {
                replacements: [resource],
                type: QueryTypes.SELECT,
              },
            )
            if (!api) throw new errors.InvalidTarget('no such API')
            return {
              audience: resource,
              scope: api.scope,
              accessTokenFormat: 'jwt',
              jwt: { sign: { alg: 'ES256' } },
            }
          },
        },
      },
    }),
  )
  impersonation.attach(provider)
  provider.proxy = true

  const register = (client: ClientMetadata) => adapter('Client').upsert(client.client_id, { ...client })
  await register({
    client_id: 'quay',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', TOKEN_EXCHANGE],
    redirect_uris: ['https://quay.harbour.example/signed-in'],
    response_types: ['code'],
    token_exchange_resources: [process.env.REMEDIED ? INVOICES.origin : INVOICES.href],
  })
  await register({
    client_id: 'quay-backend',
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    jwks: { keys: [{ ...backend.publicKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' } as JWK] },
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    scope: 'subject-tokens:create subject-tokens:revoke',
  })

  const oidc = provider.callback()
  const management = impersonation.handler()
  const server = createServer((req, res) => management(req, res, () => void oidc(req, res)))
  return { server, provider, impersonation, sequelize, close: () => sequelize.close() }
}
