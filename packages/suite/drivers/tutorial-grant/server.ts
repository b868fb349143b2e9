/** The hand-written grant behind a socket, with clients, two resources and a storage that the driver can reach. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type ClientMetadata, errors, type Provider } from 'oidc-provider'
import {
  introspectingClient,
  type StoredModels,
  storedModels,
  webClient,
} from '../../../../fixtures/clients.ts'
import { API, OPAQUE_API, RESOURCES } from '../../../../fixtures/deployment.ts'
import { SIGNING_KEY } from '../../../../fixtures/keys.ts'
import { tutorialProvider } from './grant.ts'

export interface TutorialServer {
  readonly issuer: string
  readonly provider: Provider
  readonly models: StoredModels
  close(): Promise<void>
}

const CLIENTS: readonly ClientMetadata[] = [
  webClient(),
  webClient({ client_id: 'other-web', client_secret: 'other-secret' }),
  introspectingClient(),
]

function resourceServerInfo(_ctx: unknown, resource: string) {
  const info = RESOURCES[resource]
  if (!info) throw new errors.InvalidTarget()
  return info
}

export async function startTutorialServer(): Promise<TutorialServer> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('not listening on a port')
  const issuer = `http://127.0.0.1:${address.port}`
  const models = storedModels(CLIENTS)
  const provider = tutorialProvider({
    issuer,
    getResourceServerInfo: resourceServerInfo,
    configuration: {
      adapter: models.adapter,
      jwks: { keys: [SIGNING_KEY] },
      cookies: { keys: ['a key of the suite'] },
      clientDefaults: { id_token_signed_response_alg: 'ES256' },
      scopes: ['openid', 'offline_access', 'profile'],
      findAccount: async (_ctx, accountId) =>
        accountId === 'mallory' ? undefined : { accountId, claims: () => ({ sub: accountId }) },
      ttl: { AccessToken: 600, Grant: 3600, RefreshToken: 3600, IdToken: 600, ClientCredentials: 600 },
      features: {
        devInteractions: { enabled: false },
        introspection: { enabled: true, allowedPolicy: () => true },
        resourceIndicators: { enabled: true, getResourceServerInfo: resourceServerInfo },
      },
    },
  })
  server.on('request', provider.callback())
  return {
    issuer,
    provider,
    models,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export const TARGETS = {
  jwt: { parameters: { resource: API }, audience: API, scopes: ['orders:read', 'orders:write'] },
  opaque: { parameters: { resource: OPAQUE_API }, audience: OPAQUE_API, scopes: ['orders:read'] },
}
