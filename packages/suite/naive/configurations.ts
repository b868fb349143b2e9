/** The naive server as the suite sees it, in its three modes. */
import { createHash, randomUUID } from 'node:crypto'
import type { Configuration, Driver, Profile, TokenKind, TokenRequest } from '../src/driver.ts'
import type { Mode } from './faults.ts'
import { signJwt } from './jwt.ts'
import { directFetch, listen } from './server.ts'
import {
  JWT_RESOURCE,
  newState,
  now,
  OPAQUE_RESOURCE,
  type Payload,
  RESOURCES,
  type State,
  secret,
} from './state.ts'

const COMMON = ['resource', 'jwt', 'opaque', 'introspection', 'dpop', 'mtls', 'metadata'] as const

const PROFILES: Readonly<Record<Mode, readonly Profile[]>> = {
  impersonation: ['management-token', 'single-use', 'delegation', 'chains', ...COMMON],
  'access-tokens': ['access-token', 'delegation', 'chains', ...COMMON],
  'on-behalf-of': ['on-behalf-of', 'chains', ...COMMON],
}

/** How each kind of permission differs from a valid one. */
const permissionChanges = (kind: TokenKind): Readonly<Record<string, unknown>> | undefined =>
  ({
    valid: {},
    expired: { expiresAt: now() - 3600 },
    'just-expired': { expiresAt: now() - 2 },
    revoked: { revoked: true },
    'other-client': { clientId: 'someone-else' },
    'other-issuer': { issuer: 'https://other.example.com' },
    'other-actor': { actor: 'carol' },
    'other-resource': { resource: OPAQUE_RESOURCE },
    narrow: { scope: 'orders:read' },
    'user-gone': { sub: 'mallory' },
  })[kind as string]

/** The same for access tokens. */
function claimChanges(kind: TokenKind, jkt?: string): Payload | undefined {
  const changes: Readonly<Partial<Record<TokenKind, Payload>>> = {
    valid: {},
    expired: { exp: now() - 3600 },
    'just-expired': { exp: now() - 2 },
    revoked: {},
    'other-client': { client_id: 'someone-else' },
    'other-audience': { aud: 'https://other.example.com' },
    'other-issuer': { iss: 'https://other.example.com' },
    narrow: { scope: 'orders:read' },
    'user-gone': { sub: 'mallory' },
    chain: { act: { sub: 'carol' } },
    bound: { cnf: { jkt } },
    client: { sub: 'application' },
    'id-token': { scope: undefined },
  }
  return changes[kind]
}

function permission(state: State, kind: TokenKind): string | undefined {
  if (kind === 'refresh-token') return refreshToken(state, 'alice')
  const changes = permissionChanges(kind)
  if (!changes) return undefined
  const token = `st_${secret()}`
  state.permissions.set(token, { sub: 'alice', issuer: state.issuer, expiresAt: now() + 600, ...changes })
  return token
}

function refreshToken(state: State, sub: string): string {
  const token = secret()
  state.refreshTokens.set(token, { sub, client_id: 'application', scope: 'orders:read orders:write' })
  return token
}

function accessToken(state: State, sub: string, { kind, jkt }: TokenRequest): string | undefined {
  if (kind === 'refresh-token') return refreshToken(state, sub)
  const changes = claimChanges(kind, jkt)
  const isPointless = kind === 'other-client' && (sub === 'bob' || state.mode === 'on-behalf-of')
  if (!changes || isPointless) return undefined
  const jti = randomUUID()
  if (kind === 'revoked') state.revokedIds.add(jti)
  const payload = {
    iss: state.issuer,
    sub,
    aud: 'https://shop.example.com',
    client_id: 'application',
    scope: RESOURCES.flatMap(({ scopes }) => scopes).join(' '),
    iat: now() - 7200,
    exp: now() + 120,
    jti,
    ...changes,
  }
  return signJwt(state, payload, kind === 'id-token' ? 'JWT' : 'at+jwt')
}

const THUMBPRINT = createHash('sha256').update('certificate').digest('base64url')

const withCertificate =
  (send: typeof fetch): typeof fetch =>
  (input, init) =>
    send(input, { ...init, headers: { ...(init?.headers as object), 'x-client-certificate': THUMBPRINT } })

const target = (uri: string) => ({
  parameters: { resource: uri },
  audience: uri,
  scopes: RESOURCES.find((one) => one.uri === uri)?.scopes ?? [],
})

/** Over HTTP if nothing is wrong with it, and without a socket if something is: a self-test has hundreds of runs. */
async function open(mode: Mode, faults: readonly string[]): Promise<Driver> {
  const state = newState(mode, new Set(faults))
  const direct = faults.length > 0
  const close = direct ? undefined : await listen(state)
  const { issuer } = state
  const send = direct ? directFetch(state) : fetch
  return {
    issuer,
    tokenEndpoint: `${issuer}/token`,
    jwksUri: `${issuer}/jwks`,
    introspectionEndpoint: `${issuer}/introspect`,
    metadata: `${issuer}/metadata`,
    clients: {
      main: { id: 'application', secret: 'application-secret' },
      withoutGrant: { id: 'stranger', secret: 'stranger-secret' },
      dpop: { id: 'dpop-application', secret: 'dpop-secret' },
      mtls: { id: 'mtls-application', secret: 'mtls-secret' },
      introspecting: { id: 'api', secret: 'api-secret' },
    },
    targets: { jwt: target(JWT_RESOURCE), opaque: target(OPAQUE_RESOURCE) },
    subject: 'alice',
    actor: 'bob',
    earlierActor: 'carol',
    certificate: { thumbprint: THUMBPRINT, fetch: withCertificate(send) },
    fetch: send,
    subjectToken: async (request) =>
      mode === 'impersonation' ? permission(state, request.kind) : accessToken(state, 'alice', request),
    actorToken: async (request) => accessToken(state, 'bob', request),
    ...(close && { close }),
  }
}

export const naiveConfiguration = (mode: Mode, faults: readonly string[] = []): Configuration => ({
  name: `naive server, ${mode}${faults.length > 0 ? `, with ${faults.join(', ')}` : ''}`,
  profiles: PROFILES[mode],
  open: () => open(mode, faults),
})
