// npm install oidc-provider-impersonation oidc-provider koa koa-mount sequelize jose
import { exportJWK, generateKeyPair } from 'jose'
import Koa from 'koa'
import mount from 'koa-mount'
import Provider from 'oidc-provider'
import { createImpersonation, TOKEN_EXCHANGE } from 'oidc-provider-impersonation'
import {
  createAdapter,
  createSubjectTokenStore,
  migrate,
  nodeSqlite,
} from 'oidc-provider-impersonation/sequelize'
import { Sequelize } from 'sequelize'

const sequelize = new Sequelize({
  dialect: 'sqlite',
  dialectModule: nodeSqlite,
  storage: ':memory:',
  logging: false,
})
await migrate(sequelize)
const { privateKey } = await generateKeyPair('ES256', { extractable: true })

const ENGINEERS = ['sam']
const impersonation = createImpersonation({
  store: createSubjectTokenStore(sequelize),
  requireActor: true, // every access token names the engineer
  isAllowed: ({ userId, actor }) => ENGINEERS.includes(actor?.sub) && !ENGINEERS.includes(userId),
})
const provider = new Provider(
  'http://127.0.0.1:3000/oidc',
  impersonation.configure({
    adapter: createAdapter(sequelize),
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256' }] },
    cookies: { keys: ['a secret of yours'] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    findAccount: async (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    clients: [
      {
        client_id: 'backend',
        client_secret: 'secret',
        grant_types: ['client_credentials'],
        scope: 'subject-tokens:create',
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: 'support-desk',
        token_endpoint_auth_method: 'none',
        response_types: ['code'],
        grant_types: ['authorization_code', TOKEN_EXCHANGE],
        redirect_uris: ['http://127.0.0.1:3000/back'],
      },
    ],
    features: {
      resourceIndicators: {
        getResourceServerInfo: (_ctx, resource) => ({
          audience: resource,
          scope: 'orders:read',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
          readOnly: true,
        }),
      },
    }, // the API changes nothing for a read-only token
  }),
)
impersonation.attach(provider) // registers the grant

const app = new Koa()
app.keys = provider.keys // a mounted provider signs its cookies with the keys of the application around it
app.use(mount('/oidc', provider))
app.use(impersonation.router().routes()) // /api/subject-tokens
app.listen(3000, '127.0.0.1')
