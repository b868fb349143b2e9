/** What you already have, or copy if you start from nothing: SQLite, a signing key in a file, and two clients. */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type Configuration, errors } from 'oidc-provider'
import { type PolicyRequest, TOKEN_EXCHANGE } from 'oidc-provider-impersonation'
import { createAdapter, nodeSqlite } from 'oidc-provider-impersonation/sequelize'
import { Sequelize } from 'sequelize'

const ENGINEERS = ['sam']
export const isAllowed = ({ userId, actor }: PolicyRequest) =>
  ENGINEERS.includes(actor?.sub ?? '') && !ENGINEERS.includes(userId)

export const issuer = 'http://127.0.0.1:3000/oidc' // in production https, and the name that clients use
export const sequelize = new Sequelize({
  dialect: 'sqlite',
  dialectModule: nodeSqlite,
  storage: 'id.sqlite',
  logging: false,
})

if (!existsSync('jwks.json')) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }
  writeFileSync('jwks.json', JSON.stringify({ keys: [key] }), { mode: 0o600 })
}

export const configuration: Configuration = {
  adapter: createAdapter(sequelize),
  jwks: JSON.parse(readFileSync('jwks.json', 'utf8')),
  cookies: { keys: ['a secret of yours'] },
  // The default is RS256. Without a key for it, the first request of every client would fail.
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  findAccount: async (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  clients: [
    {
      client_id: 'backend',
      client_secret: 'backend-secret',
      grant_types: ['client_credentials'],
      scope: 'subject-tokens:create subject-tokens:read subject-tokens:revoke',
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: 'spa',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', TOKEN_EXCHANGE],
      redirect_uris: ['https://app.example.com/callback'],
      response_types: ['code'],
    },
  ],
  features: {
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo(_ctx, resource) {
        if (resource !== 'https://api.example.com') throw new errors.InvalidTarget()
        return {
          scope: 'orders:read',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
          readOnly: true, // the API refuses read-only tokens where they would change something
        }
      },
    },
  },
}
