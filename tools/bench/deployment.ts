/**
 * The deployment under load, as a production host would have it. Nothing is switched off to be fast: the client
 * authenticates, the policy and the claims function are called, tokens are hashed and spent once, events have a
 * listener.
 */
import Koa from 'koa'
import mount from 'koa-mount'
import { type ClientMetadata, errors, type JWK, Provider } from 'oidc-provider'
import type { Sequelize } from 'sequelize'
import { machineClient, webClient } from '../../fixtures/clients.ts'
import { createImpersonation, TOKEN_EXCHANGE } from '../../src/index.ts'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'
import type { Options } from './options.ts'

export const ISSUER = 'https://id.example.com/oidc'
export const MANAGEMENT = 'https://id.example.com/api'
export const API = 'https://api.example.com'
/** Where the API passes its users on to. */
export const BILLING = 'https://billing.example.com'
export const SCOPE = 'orders:read'
/** Longer than a run, so that nothing prepared for it expires. */
export const DAY = 24 * 3600

export const CLIENTS = {
  /** For the baseline: uses only client_credentials. */
  service: machineClient({ client_id: 'service', client_secret: 'service-secret', scope: undefined }),
  backend: machineClient(),
  application: webClient(),
  /** The API that received an access token, and exchanges it. */
  api: machineClient({
    client_id: 'orders-api',
    client_secret: 'orders-secret',
    grant_types: [TOKEN_EXCHANGE],
    scope: undefined,
    token_exchange_audiences: [API],
    token_exchange_resources: [BILLING],
  }),
} satisfies Record<string, ClientMetadata>

export interface DeploymentSettings extends Pick<Options, 'algorithm'> {
  readonly signingKey: JWK
}

export function createDeployment(sequelize: Sequelize, settings: DeploymentSettings) {
  const impersonation = createImpersonation({
    store: createSubjectTokenStore(sequelize),
    onBehalfOf: true,
    isAllowed: ({ context }) => typeof context?.ticketId === 'string',
    getCustomJwtClaims: ({ context }) => ({ impersonation: context.grant.subjectTokenContext }),
  })
  const { algorithm, signingKey } = settings
  const provider = new Provider(
    ISSUER,
    impersonation.configure({
      adapter: createAdapter(sequelize),
      clients: Object.values(CLIENTS),
      jwks: { keys: [signingKey] },
      findAccount: async (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
      cookies: { keys: ['a key of the benchmark'] },
      clientDefaults: { id_token_signed_response_alg: algorithm },
      enabledJWA: { idTokenSigningAlgValues: [algorithm] },
      ttl: { AccessToken: DAY, ClientCredentials: DAY, Grant: DAY },
      features: {
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo(_ctx, name) {
            if (![API, BILLING].includes(name)) throw new errors.InvalidTarget()
            return {
              scope: SCOPE,
              audience: name,
              accessTokenTTL: 600,
              accessTokenFormat: 'jwt',
              jwt: { sign: { alg: algorithm } },
            }
          },
        },
      },
    }),
  )
  impersonation.attach(provider)
  const audited = { issued: 0, exchanged: 0, passedOn: 0 }
  provider.on('subject_token.issued', () => {
    audited.issued += 1
  })
  provider.on('subject_token.exchanged', () => {
    audited.exchanged += 1
  })
  provider.on('access_token.exchanged', () => {
    audited.passedOn += 1
  })
  provider.on('server_error', (_ctx, error) => console.error(error))

  const app = new Koa()
  app.use(mount('/oidc', provider))
  app.use(impersonation.router().routes())
  return { provider, app }
}

/** An opaque access token of an actor, as the authorization code grant issues it. */
export async function issueActorToken(provider: Provider): Promise<string> {
  const clientId = CLIENTS.application.client_id
  const accountId = 'agent'
  const client = await provider.Client.find(clientId)
  if (!client) throw new Error(`no client ${clientId}`)
  const grantId = await new provider.Grant({ clientId, accountId }).save()
  const token = new provider.AccessToken({
    client,
    accountId,
    grantId,
    gty: 'authorization_code',
    scope: 'openid',
  })
  return token.save()
}
