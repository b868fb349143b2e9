/** The provider's metadata, and requests to its token endpoint. */
import { importJWK } from 'jose'
import * as oauth from 'oauth4webapi'
import { Call } from './call.ts'
import { difference, ImpersonationError, invalidResponse, refusalOf, unusable } from './errors.ts'
import { Kept } from './kept.ts'
import { isLoopback, isProtected, type ResolvedOptions } from './options.ts'
import { collecting } from './secrets.ts'
import type { Seconds } from './time.ts'

interface TokenRequest {
  readonly grantType: string
  readonly parameters: Readonly<Record<string, string>>
}

export type RequestToken = (call: Call, request: TokenRequest) => Promise<oauth.TokenEndpointResponse>

/** The endpoint may move. */
const METADATA_LIFE: Seconds = 3600

export function tokenEndpoint(options: ResolvedOptions): RequestToken {
  const client: oauth.Client = { client_id: options.clientId }
  const authenticate = authentication(options)
  const settings = (call: Call, url: string) => ({
    [oauth.customFetch]: options.fetch,
    // Where it is http, it does not leave this machine.
    [oauth.allowInsecureRequests]: isLoopback(url),
    signal: call.signal,
  })

  const metadata = new Kept(async () => {
    const call = new Call(options.timeout)
    const issuer = new URL(options.issuer)
    const discovered = call.run(async () => {
      const response = await call.send(() => oauth.discoveryRequest(issuer, settings(call, options.issuer)))
      if (!response.ok) throw await refusalOf(response)
      const metadata: unknown = await response
        .clone()
        .json()
        .catch(() => undefined)
      const found: unknown = Reflect.get(Object(metadata), 'issuer')
      // RFC 8414 §3.3: character by character, which a URL does not keep.
      if (found !== options.issuer)
        throw invalidResponse(response.status, `another issuer: ${difference(options.issuer, found)}`)
      const server = await readAs(response, 'the metadata of this issuer', () =>
        oauth.processDiscoveryResponse(issuer, response),
      )
      if (!isAsProtected(server.token_endpoint, options.issuer))
        throw invalidResponse(response.status, 'no usable token_endpoint')
      return { server, endpoint: server.token_endpoint }
    })
    const value = await discovered.catch((error: unknown) => {
      if (!(error instanceof ImpersonationError)) throw error
      const { status, code, description } = error
      const url = `${options.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
      throw new ImpersonationError({ status, code, description: `discovery at ${url}: ${description}` })
    })
    return { value, life: METADATA_LIFE }
  })

  return async (call, { grantType, parameters }) => {
    const { server, endpoint } = await metadata.get()
    const { subject_token, actor_token } = parameters
    const secrets = [subject_token, actor_token]
    const response = await call.send(() =>
      oauth.genericTokenEndpointRequest(
        server,
        client,
        collecting(authenticate, secrets),
        grantType,
        { ...parameters },
        settings(call, endpoint),
      ),
    )
    if (!response.ok) throw await refusalOf(response, ...secrets)
    return readAs(response, 'a token', () =>
      oauth.processGenericTokenEndpointResponse(server, client, response),
    )
  }
}

/** An issuer that is reached over TLS has no token endpoint that is reached without it. */
const isAsProtected = (endpoint: unknown, issuer: string): endpoint is string =>
  isProtected(endpoint) && (endpoint.startsWith('https:') || issuer.startsWith('http:'))

/** The library's errors carry the response, and tokens in it. */
async function readAs<Value>(response: Response, what: string, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read()
  } catch {
    throw invalidResponse(response.status, `not ${what}`)
  }
}

function authentication(options: ResolvedOptions): oauth.ClientAuth {
  const { clientSecret, privateKey, clientAuthentication } = options
  if (clientAuthentication) return clientAuthentication
  if (!privateKey) return oauth.ClientSecretBasic(clientSecret ?? '')
  let key: Promise<oauth.CryptoKey> | undefined
  return async (...request) => {
    key ??= importKey(privateKey)
    return oauth.PrivateKeyJwt({ key: await key, kid: privateKey.kid })(...request)
  }
}

async function importKey(jwk: oauth.JWK): Promise<oauth.CryptoKey> {
  try {
    return (await importJWK({ ...jwk }, algorithmOf(jwk))) as oauth.CryptoKey
  } catch {
    throw unusable('the option privateKey cannot be imported')
  }
}

const OF_CURVES: Readonly<Record<string, string>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
  Ed25519: 'Ed25519',
}

const algorithmOf = ({ alg, crv }: oauth.JWK): string | undefined => alg ?? OF_CURVES[String(crv)]
