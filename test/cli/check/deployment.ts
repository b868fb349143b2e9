/** What the deployments of this folder have in common: a sound one, of which each changes what it gets wrong. */
import Koa from 'koa'
import mount from 'koa-mount'
import { type ClientMetadata, type Configuration, errors, Provider, type ResourceServer } from 'oidc-provider'
import { Sequelize } from 'sequelize'
import { allowWhatIsMissing } from '../../../example/login/grant.ts'
import { signingKey } from '../../../fixtures/keys.ts'
import { createImpersonation, type ImpersonationOptions, TOKEN_EXCHANGE } from '../../../src/index.ts'
import { createAdapter, createSubjectTokenStore, migrate, nodeSqlite } from '../../../src/sequelize/index.ts'

export const API = 'https://api.example.com'
export const CALLBACK = 'https://desk.example.com/callback'
export const LOCAL = 'http://127.0.0.1:3000'

export interface Parts {
  readonly options?: Partial<ImpersonationOptions>
  readonly backend?: Partial<ClientMetadata>
  readonly desk?: Partial<ClientMetadata>
  /** An API that goes downstream. */
  readonly api?: ClientMetadata
  readonly resource?: Partial<ResourceServer>
  readonly indicators?: NonNullable<Configuration['features']>['resourceIndicators']
}

export const backend = {
  client_id: 'backend',
  client_secret: 'a-secret-of-the-backend',
  redirect_uris: [],
  response_types: [],
  grant_types: ['client_credentials'],
  scope: 'subject-tokens:create',
} satisfies ClientMetadata

export const desk = {
  client_id: 'support-desk',
  client_secret: 'a-secret-of-the-desk',
  redirect_uris: [CALLBACK],
  response_types: ['code'],
  grant_types: ['authorization_code', TOKEN_EXCHANGE],
  token_exchange_resources: [API],
} satisfies ClientMetadata

export interface Place {
  readonly baseUrl?: string
  /** Of a second issuer, beside the first one. */
  readonly path?: string
  readonly sequelize?: Sequelize
  readonly app?: Koa
}

/** A provider at `/oidc`, or at that below `path`, and its management API. It listens nowhere. */
export async function deploy(
  { options, resource, indicators, ...clients }: Parts,
  { baseUrl = LOCAL, path = '', sequelize = inMemory(), app = new Koa() }: Place = {},
) {
  await migrate(sequelize)
  const impersonation = createImpersonation({
    store: createSubjectTokenStore(sequelize),
    requireActor: true,
    isAllowed: ({ userId, actor }) => userId === 'alice' && actor?.sub === 'sam',
    ...options,
  })
  const issuer = `${baseUrl}${path}/oidc`
  const configuration: Configuration = {
    adapter: createAdapter(sequelize, { namespace: issuer }),
    jwks: { keys: [signingKey()] },
    cookies: { keys: ['a key of this deployment'] },
    ttl: { AccessToken: 600 },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    clients: [
      { ...backend, ...clients.backend },
      { ...desk, ...clients.desk },
      ...(clients.api ? [clients.api] : []),
    ],
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: () => `${path}/sign-in` },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo(_ctx, name) {
          if (name !== API) throw new errors.InvalidTarget()
          return {
            scope: 'orders:read',
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'ES256' } },
            ...resource,
          }
        },
        ...indicators,
      },
    },
  }
  const provider = new Provider(issuer, impersonation.configure(configuration))
  impersonation.attach(provider)
  app.keys = provider.keys
  app.use((ctx, next) => (ctx.path === `${path}/sign-in` ? signIn(provider, ctx) : next()))
  app.use(mount(`${path}/oidc`, provider))
  app.use(impersonation.router({ prefix: `${path}/api` }).routes())
  return { provider, impersonation, sequelize, app }
}

const inMemory = () =>
  new Sequelize({ dialect: 'sqlite', dialectModule: nodeSqlite, storage: ':memory:', logging: false })

/** Sam, without a page. */
async function signIn(provider: Provider, ctx: Koa.Context): Promise<void> {
  const interaction = await provider.interactionDetails(ctx.req, ctx.res)
  const result =
    interaction.prompt.name === 'login'
      ? { login: { accountId: String(ctx.get('x-who') || 'sam') } }
      : { consent: { grantId: await allowWhatIsMissing(provider, interaction) } }
  ctx.respond = false
  await provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: true })
}

export type Deployed = Awaited<ReturnType<typeof deploy>>
export type Make = (place?: Place) => Promise<Deployed>

/** For `check`: the deployment with its mistake, or without it where the operator says so. */
export const either = (mistaken: Make, remedied: Make) => (): Promise<Deployed> =>
  process.env.REMEDIED ? remedied() : mistaken()
