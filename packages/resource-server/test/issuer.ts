/** A small issuer over real HTTP that does what a test wants of it: metadata, keys, introspection, status lists. */
import { createPrivateKey, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { deflateSync } from 'node:zlib'
import type { JWK } from 'oidc-provider'
import { now } from '../../../fixtures/clock.ts'
import { signJwt } from '../../../fixtures/jwts.ts'
import { SIGNING_KEY, signingKey } from '../../../fixtures/keys.ts'
import { listen } from '../../../fixtures/listening.ts'
import { unique } from '../../../fixtures/unique.ts'
import { createVerifier, type VerifierOptions } from '../src/index.ts'

export const AUDIENCE = 'https://api.example.com'
/** Where tests stop the clock, in seconds. */
export const NOW = 1_900_000_000
export const OTHER_KEY = signingKey('ES256', 'another-key')

export type Changes = Readonly<Record<string, unknown>>
type Route = (request: IncomingMessage, response: ServerResponse) => unknown

interface Signing {
  readonly key?: JWK
  readonly header?: Changes
}

export const METADATA = '/oidc/.well-known/openid-configuration'
export const JWKS = '/oidc/jwks'
export const INTROSPECTION = '/oidc/token/introspection'
export const LIST = '/api/status-lists/0'

export const publicPart = ({ d: _, ...key }: JWK): JWK => key as JWK

export async function startIssuer() {
  /** The paths that were asked for, oldest first. */
  const asked: string[] = []
  /** What it responds at a path, in place of what it would. */
  const routes = new Map<string, Route>()
  /** The status lists, by number. */
  const lists = new Map<number, string>()
  let keys = [publicPart(SIGNING_KEY)]
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const route = routes.get(path) ?? usual(path)
    if (route) void route(request, response)
    else respond(response, '', { status: 404 })
  })
  const { baseUrl, close } = await listen(server)
  const issuer = `${baseUrl}/oidc`
  /** Where it publishes its status lists. */
  const base = `${baseUrl}/api/status-lists`

  const usual = (path: string): Route | undefined => {
    if (path === METADATA) {
      return (_, response) =>
        respondJson(response, {
          issuer,
          jwks_uri: `${issuer}/jwks`,
          introspection_endpoint: `${issuer}/token/introspection`,
        })
    }
    if (path === JWKS) return (_, response) => respondJson(response, { keys })
    const list = lists.get(Number(/^\/api\/status-lists\/(\d+)$/.exec(path)?.[1]))
    return list === undefined ? undefined : (_, response) => respond(response, list)
  }

  /** An access token for this API, with `changes` to its claims; those that are `undefined` are left out. */
  const token = (changes?: Changes, signing?: Signing): Promise<string> =>
    signJwt({ ...claimsOf(issuer), ...changes }, signing)

  return {
    ...{ issuer, base, asked, routes, lists, token, close },
    timesAsked: (path: string) => asked.filter((one) => one === path).length,
    /** Publishes these keys, and no others. In the beginning it is the one that it signs with. */
    publishKeys(...all: JWK[]) {
      keys = all.map(publicPart)
    },
    verifier: (options?: Partial<VerifierOptions>) =>
      createVerifier({ issuer, audience: AUDIENCE, ...options }),
    /** Has introspection say that every opaque token is active, with `changes` to its members. */
    introspects(changes?: Changes) {
      routes.set(INTROSPECTION, (_, response) => {
        const { jti: __, ...claims } = claimsOf(issuer)
        respondJson(response, { ...claims, active: true, token_type: 'Bearer', ...changes })
      })
    },
    /** A token that refers to index `idx` of list 0. */
    tokenWithStatus: (idx: number, changes?: Changes) =>
      token({ status: { status_list: { idx, uri: `${base}/0` } }, ...changes }),
    /** Publishes list 0 with these indexes set. */
    async publish(stopped: readonly number[] = [], changes: Changes = {}, signing: Signing = {}) {
      lists.set(0, await signList(`${base}/0`, { status_list: listOf(stopped), ...changes }, signing))
    },
  }
}

export type TestIssuer = Awaited<ReturnType<typeof startIssuer>>

/** A JWS of this header that no one signed. */
export const forged = (header: unknown, payload = 'e30', signature = 'AAAA'): string =>
  `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.${signature}`

/** A JWS of any header and payload, signed as the issuer signs: what no library would make. */
export function signAnything(header: Changes, payload: string): string {
  const head = { alg: 'ES256', kid: SIGNING_KEY.kid, typ: 'at+jwt', ...header }
  const input = [JSON.stringify(head), payload]
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')
  const key = createPrivateKey({ key: { ...SIGNING_KEY } as never, format: 'jwk' })
  return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

export const claimsOf = (issuer: string) => ({
  iss: issuer,
  aud: AUDIENCE,
  sub: 'alice',
  client_id: 'spa',
  scope: 'orders:read orders:write',
  iat: now(),
  exp: now() + 600,
  jti: unique('jti'),
})

const listClaimsOf = (uri: string) => ({
  iss: `${new URL(uri).origin}/oidc`,
  sub: uri,
  iat: now(),
  exp: now() + 300,
  ttl: 30,
  status_list: listOf([]),
})

/** A status list (draft-ietf-oauth-status-list §5.1) of the issuer on the same host, with `changes` to its claims. */
export const signList = (
  uri: string,
  changes: Changes = {},
  { key, header = {} }: Signing = {},
): Promise<string> =>
  signJwt({ ...listClaimsOf(uri), ...changes }, { key, header: { typ: 'statuslist+jwt', ...header } })

/** 131,072 statuses of one bit, the given ones set. */
export function listOf(stopped: readonly number[], size = 131_072) {
  const bytes = Buffer.alloc(size / 8)
  for (const index of stopped) bytes.writeUInt8(bytes.readUInt8(index >> 3) | (1 << (index & 7)), index >> 3)
  return { bits: 1, lst: deflateSync(bytes).toString('base64url') }
}

interface Responding {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

export function respond(
  response: ServerResponse,
  body: string | Buffer,
  { status = 200, headers }: Responding = {},
) {
  response.writeHead(status, headers).end(body)
}

export const respondJson = (response: ServerResponse, body: unknown) =>
  respond(response, JSON.stringify(body), { headers: { 'content-type': 'application/json' } })

export const formOf = async (request: IncomingMessage) => new URLSearchParams(await text(request))

/** A request of this API with the token, as a worker gets it. */
export const withBearer = (token: string, init: RequestInit = {}): Request =>
  new Request(`${AUDIENCE}/orders`, {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...init.headers },
  })
