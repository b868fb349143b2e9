/** A bare oidc-provider with a token exchange grant written by hand, as tutorials show it: what is left to do then. */
import { introspectingClient, webClient } from '../../../fixtures/clients.ts'
import { now } from '../../../fixtures/clock.ts'
import { signJwt } from '../../../fixtures/jwts.ts'
import type { Configuration, Driver, TokenRequest } from '../src/driver.ts'
import { clientOf } from './plugin/deployment.ts'
import { startTutorialServer, TARGETS, type TutorialServer } from './tutorial-grant/server.ts'

const SCOPE = 'openid orders:read orders:write'

/** What the provider's own authorization code grant would have issued. */
async function accessToken(
  { provider }: TutorialServer,
  accountId: string,
  { clientId = 'web', scope = SCOPE } = {},
): Promise<string> {
  const client = await provider.Client.find(clientId)
  if (!client) throw new Error(`no client ${clientId}`)
  const grantId = await new provider.Grant({ clientId, accountId }).save()
  return new provider.AccessToken({ accountId, client, grantId, gty: 'authorization_code', scope }).save()
}

/** Time that has passed is written into the storage. */
async function expired(server: TutorialServer, accountId: string, seconds: number): Promise<string> {
  const token = await accessToken(server, accountId)
  Object.assign(server.models.payloads.get(`AccessToken:${token}`) ?? {}, { exp: now() - seconds })
  return token
}

async function tokenOf(
  server: TutorialServer,
  accountId: string,
  { kind }: TokenRequest,
): Promise<string | undefined> {
  const { provider } = server
  switch (kind) {
    case 'valid':
      return accessToken(server, accountId)
    case 'narrow':
      return accessToken(server, accountId, { scope: 'openid orders:read' })
    case 'other-client':
      return accessToken(server, accountId, { clientId: 'other-web' })
    case 'user-gone':
      return accessToken(server, 'mallory')
    case 'expired':
      return expired(server, accountId, 3600)
    case 'just-expired':
      return expired(server, accountId, 2)
    case 'revoked': {
      const token = await accessToken(server, accountId)
      await (await provider.AccessToken.find(token))?.destroy()
      return token
    }
    case 'id-token':
      return signJwt(
        { iss: server.issuer, sub: accountId, aud: 'web', iat: now(), exp: now() + 600 },
        { header: { typ: 'JWT' } },
      )
    case 'client':
      return new provider.ClientCredentials({ client: await web(server), scope: SCOPE }).save()
    case 'refresh-token': {
      const grantId = await new provider.Grant({ clientId: 'web', accountId }).save()
      const client = await web(server)
      return new provider.RefreshToken({ accountId, client, grantId, scope: SCOPE, gty: 'x' }).save()
    }
  }
  return undefined
}

async function web({ provider }: TutorialServer) {
  const client = await provider.Client.find('web')
  if (!client) throw new Error('the provider has no client web')
  return client
}

async function open(): Promise<Driver> {
  const server = await startTutorialServer()
  const { issuer } = server
  const introspecting = clientOf(introspectingClient())
  return {
    issuer,
    tokenEndpoint: `${issuer}/token`,
    jwksUri: `${issuer}/jwks`,
    introspectionEndpoint: `${issuer}/token/introspection`,
    metadata: `${issuer}/.well-known/openid-configuration`,
    clients: { main: clientOf(webClient()), withoutGrant: introspecting, introspecting },
    targets: TARGETS,
    subject: 'alice',
    actor: 'bob',
    subjectToken: (request) => tokenOf(server, 'alice', request),
    actorToken: (request) => tokenOf(server, 'bob', request),
    close: server.close,
  }
}

const configuration: Configuration = {
  name: 'oidc-provider with a hand-written grant',
  profiles: ['access-token', 'delegation', 'resource', 'jwt', 'opaque', 'introspection', 'dpop', 'metadata'],
  open,
}

export default configuration
