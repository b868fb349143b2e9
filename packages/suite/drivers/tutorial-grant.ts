/** A bare oidc-provider with a token exchange grant written by hand, as tutorials show it: what is left to do then. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { errors } from 'oidc-provider'
import { introspectingClient, storedModels, webClient } from '../../../fixtures/clients.ts'
import { now } from '../../../fixtures/clock.ts'
import { API, OPAQUE_API, RESOURCES } from '../../../fixtures/deployment.ts'
import { signJwt } from '../../../fixtures/jwts.ts'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import type { Configuration, Driver, TokenRequest } from '../src/driver.ts'
import { clientOf } from './plugin/deployment.ts'
import { tutorialProvider } from './tutorial-grant/grant.ts'

const CLIENTS = [
  webClient(),
  webClient({ client_id: 'other-web', client_secret: 'other-secret' }),
  introspectingClient(),
]
const SCOPE = 'openid orders:read orders:write'

function getResourceServerInfo(_ctx: unknown, resource: string) {
  const info = RESOURCES[resource]
  if (!info) throw new errors.InvalidTarget()
  return info
}

/** The provider behind a socket, and its storage. */
async function start() {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { adapter, payloads } = storedModels(CLIENTS)
  const provider = tutorialProvider({
    issuer,
    getResourceServerInfo,
    configuration: {
      adapter,
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
        resourceIndicators: { enabled: true, getResourceServerInfo },
      },
    },
  })
  server.on('request', provider.callback())
  const close = async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  return { issuer, provider, payloads, close }
}
type Tutorial = Awaited<ReturnType<typeof start>>

async function tokenOf(
  { issuer, provider, payloads }: Tutorial,
  accountId: string,
  { kind }: TokenRequest,
): Promise<string | undefined> {
  const clientOfId = async (clientId: string) => {
    const client = await provider.Client.find(clientId)
    if (!client) throw new Error(`no client ${clientId}`)
    return client
  }
  /** What the provider's own authorization code grant would have issued. */
  const accessToken = async ({ sub = accountId, clientId = 'web', scope = SCOPE } = {}) => {
    const client = await clientOfId(clientId)
    const grantId = await new provider.Grant({ clientId, accountId: sub }).save()
    const gty = 'authorization_code'
    return new provider.AccessToken({ accountId: sub, client, grantId, gty, scope }).save()
  }
  /** Time that has passed is written into the storage. */
  const expired = async (seconds: number) => {
    const token = await accessToken()
    Object.assign(payloads.get(`AccessToken:${token}`) ?? {}, { exp: now() - seconds })
    return token
  }
  switch (kind) {
    case 'valid':
      return accessToken()
    case 'narrow':
      return accessToken({ scope: 'openid orders:read' })
    case 'other-client':
      return accessToken({ clientId: 'other-web' })
    case 'user-gone':
      return accessToken({ sub: 'mallory' })
    case 'expired':
      return expired(3600)
    case 'just-expired':
      return expired(2)
    case 'revoked': {
      const token = await accessToken()
      await (await provider.AccessToken.find(token))?.destroy()
      return token
    }
    case 'id-token':
      return signJwt(
        { iss: issuer, sub: accountId, aud: 'web', iat: now(), exp: now() + 600 },
        { header: { typ: 'JWT' } },
      )
    case 'client':
      return new provider.ClientCredentials({ client: await clientOfId('web'), scope: SCOPE }).save()
    case 'refresh-token': {
      const client = await clientOfId('web')
      const grantId = await new provider.Grant({ clientId: 'web', accountId }).save()
      return new provider.RefreshToken({ accountId, client, grantId, scope: SCOPE, gty: 'x' }).save()
    }
  }
  return undefined
}

async function open(): Promise<Driver> {
  const tutorial = await start()
  const { issuer, close } = tutorial
  const introspecting = clientOf(introspectingClient())
  return {
    issuer,
    tokenEndpoint: `${issuer}/token`,
    jwksUri: `${issuer}/jwks`,
    introspectionEndpoint: `${issuer}/token/introspection`,
    metadata: `${issuer}/.well-known/openid-configuration`,
    clients: { main: clientOf(webClient()), withoutGrant: introspecting, introspecting },
    targets: {
      jwt: { parameters: { resource: API }, audience: API, scopes: ['orders:read', 'orders:write'] },
      opaque: { parameters: { resource: OPAQUE_API }, audience: OPAQUE_API, scopes: ['orders:read'] },
    },
    subject: 'alice',
    actor: 'bob',
    subjectToken: (request) => tokenOf(tutorial, 'alice', request),
    actorToken: (request) => tokenOf(tutorial, 'bob', request),
    close,
  }
}

const configuration: Configuration = {
  name: 'oidc-provider with a hand-written grant',
  profiles: ['access-token', 'delegation', 'resource', 'jwt', 'opaque', 'introspection', 'dpop', 'metadata'],
  open,
}

export default configuration
