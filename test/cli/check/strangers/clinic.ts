/** A clinic: Fastify, people in a file, and secrets in an env file, as `openssl rand -base64 32` printed them. */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import middie from '@fastify/middie'
import Fastify from 'fastify'
import { type ClientMetadata, errors, type FindAccount, type JWK, Provider } from 'oidc-provider'
import { Sequelize } from 'sequelize'
import { createImpersonation, TOKEN_EXCHANGE } from '../../../../src/index.ts'
import {
  createAdapter,
  createSubjectTokenStore,
  migrate,
  nodeSqlite,
} from '../../../../src/sequelize/index.ts'

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
const env = parseEnv(read(process.env.REMEDIED ? 'clinic.remedied.env' : 'clinic.env'))
const people: { id: string; name: string; role: string }[] = JSON.parse(read('clinic-people.json'))
const roleOf = (id: string) => people.find((person) => person.id === id)?.role

const findAccount: FindAccount = async (_ctx, id) => {
  const person = people.find((one) => one.id === id)
  if (!person) return undefined
  return { accountId: id, claims: async () => ({ sub: id, name: person.name }) }
}

/** A client of ours that signs people in. */
const site = (
  id: string,
  secret: string | undefined,
  more: Partial<ClientMetadata> = {},
): ClientMetadata => ({
  client_id: id,
  client_secret: secret,
  redirect_uris: [`https://${id}.clinic.example/oidc/callback`],
  ...more,
})

const RECORDS = 'https://records.clinic.example/v2'

const clients = [
  site('care-desk', env.CARE_DESK_SECRET, {
    grant_types: ['authorization_code', TOKEN_EXCHANGE],
    token_exchange_resources: [RECORDS],
  }),
  // An old device that can send nothing but forms.
  site('kiosk', env.KIOSK_SECRET, { token_endpoint_auth_method: 'client_secret_post' }),
  site('care-backend', env.CARE_BACKEND_SECRET, {
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials'],
    scope: 'subject-tokens:create subject-tokens:read subject-tokens:revoke',
  }),
]

export default async () => {
  const sequelize = new Sequelize({ dialect: 'sqlite', dialectModule: nodeSqlite, logging: false })
  await migrate(sequelize)
  const impersonation = createImpersonation({
    store: createSubjectTokenStore(sequelize),
    requireActor: true,
    requiredContext: ['reason'],
    maxAccessTokenTTL: 300,
    isAllowed: (asked) =>
      roleOf(asked.userId) === 'patient' && !!asked.actor && roleOf(asked.actor.sub) === 'care-desk',
  })
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const provider = new Provider(
    'https://clinic.example/auth',
    impersonation.configure({
      adapter: createAdapter(sequelize),
      clients,
      findAccount,
      jwks: { keys: [privateKey.export({ format: 'jwk' }) as JWK] },
      cookies: { keys: ['stethoscope'] },
      features: {
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: async (_ctx, resource, client) => {
            if (resource !== RECORDS || client.clientId === 'kiosk') throw new errors.InvalidTarget()
            return { scope: 'records:read', accessTokenFormat: 'jwt' }
          },
        },
      },
    }),
  )
  impersonation.attach(provider)
  provider.proxy = true

  const app = Fastify()
  await app.register(middie)
  app.use(impersonation.handler({ prefix: '/auth/api' }))
  app.use('/auth', provider.callback())
  return { app, provider, impersonation, sequelize }
}
