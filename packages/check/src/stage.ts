/**
 * Where an example is tried: a second provider of the deployment's configuration, with its own functions, in memory and on an
 * address of this machine. Nothing is stored, sent or told, and no key of the deployment signs or seals.
 */

import {
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKeyInput,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestListener,
  request,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { calculateJwkThumbprint } from 'jose'
import {
  type AdapterFactory,
  type AdapterPayload,
  type ClientMetadata,
  type Configuration,
  type JWK,
  type KoaContextWithOIDC,
  Provider,
  type ResourceServer,
} from 'oidc-provider'
import { createImpersonation, type ImpersonationOptions, type NodeHandler } from 'oidc-provider-impersonation'
import {
  epochTime,
  findRegisteredClient,
  insideOf,
  type ResolvedOptions,
  type Service,
  withoutUndefined,
} from 'oidc-provider-impersonation/inside'
import { createMemoryStore } from 'oidc-provider-impersonation-store-contract'

export interface Stage extends Service {
  /** The metadata by which a client sends requests here. @throws {Error} if there is none of this id. */
  client(id: string): ClientMetadata
  /** Why the last request was refused: what its event tells, and what was thrown. */
  refused(): Refusal
  /** As a browser that has these cookies. */
  send(to: string, form?: Readonly<Record<string, string | undefined>>): Promise<Shown>
  /** As a backend that issues a subject token. */
  sendToApi(token: string, body: object): Promise<Shown>
  keep(cookies: readonly string[]): void
  close(): void
}

interface Refusal {
  readonly told?: { readonly check: string; readonly reason: string; readonly error: string }
  readonly thrown?: unknown
}

export interface Shown {
  readonly status: number
  readonly text: string
  readonly location: string
}

export async function setStage(
  own: Service,
  options: ResolvedOptions,
  clients: readonly (ClientMetadata | undefined)[],
): Promise<Stage> {
  const known = clients.filter((client) => client !== undefined)
  const impersonation = createImpersonation(optionsOf(options))
  const provider = new Provider(
    own.provider.issuer,
    impersonation.configure({
      ...own.configuration,
      jwks: await freshKeys(own.configuration.jwks?.keys ?? []),
      cookies: { ...own.configuration.cookies, keys: [randomBytes(32).toString('base64url')] },
      adapter: memoryAdapter(),
      features: featuresOf(own.configuration.features),
      clients: known,
      clientAuthMethods: ['client_secret_post', 'none'],
      loadExistingGrant: consent,
      sectorIdentifierUriValidate: () => false,
      fetch: async () => {
        throw new Error('nothing is sent')
      },
    }),
  )
  impersonation.attach(provider)
  provider.proxy = true
  const inside = insideOf(impersonation)
  inside.sessions.stopWatching?.()
  let refused: Refusal = {}
  for (const event of ['subject_token.refused', 'access_token.refused'] as const)
    provider.on(event, (told) => {
      refused = { ...refused, told }
    })
  const keepThrown = (_ctx: unknown, thrown: unknown) => {
    refused = { ...refused, thrown }
  }
  provider.on('server_error', keepThrown)
  provider.on('grant.error', keepThrown)
  const api = impersonation.handler({ prefix: '/api', only: 'management' })
  const door = options.sessions && impersonation.handler({ only: 'door' })
  const server = createServer(listenerOf(provider, { api, door }, own))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const jar = new Map<string, string>()
  const keep = (cookies: readonly string[]) => {
    for (const [, name = '', value = ''] of cookies.map((line) => /^([^=]+)=([^;]*)/.exec(line) ?? []))
      jar.set(name, value)
  }
  async function ask(to: string, headers: OutgoingHttpHeaders = {}, body?: string): Promise<Shown> {
    const { host, pathname, search, protocol } = new URL(to)
    refused = {}
    const sent = request({
      ...{ host: '127.0.0.1', port, path: pathname + search, method: body === undefined ? 'GET' : 'POST' },
      headers: {
        host,
        'x-forwarded-proto': protocol.slice(0, -1),
        'sec-fetch-site': 'same-origin',
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        ...headers,
      },
    })
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const { statusCode: status = 0, headers: received } = response
    keep(received['set-cookie'] ?? [])
    return { status, text: await text(response), location: received.location ?? '' }
  }
  return {
    ...inside,
    client(id) {
      const client = known.find(({ client_id }) => client_id === id)
      if (client) return client
      throw new Error(`there is no client ${id}`)
    },
    refused: () => refused,
    keep,
    send: (to, form) =>
      form ? ask(to, { 'content-type': 'application/x-www-form-urlencoded' }, encode(form)) : ask(to),
    sendToApi: (token, body) =>
      ask(
        new URL(API, provider.issuer).href,
        { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        JSON.stringify(body),
      ),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Whoever signs in at an application has consented to what it asks for. */
async function consent({ oidc }: KoaContextWithOIDC) {
  const { client, session, provider, params = {}, resourceServers = {} } = oidc
  const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId })
  const scope = String(params.scope)
  grant.addOIDCScope(scope)
  for (const resource of Object.keys(resourceServers)) grant.addResourceScope(resource, scope)
  await grant.save()
  return grant
}

/** Keys with the same algorithms and ids, so that whatever names one of them fits. */
async function freshKeys(own: readonly OwnKey[]): Promise<{ keys: JWK[] }> {
  const keys = own.map(async (key) => {
    const own = 'keyObject' in key ? await key.keyObject() : createPublicKey(inputOf(key))
    const { kid = await calculateJwkThumbprint(own), alg, use } = key
    return withoutUndefined({ ...keyLike(own).export({ format: 'jwk' }), kid, alg, use }) as JWK
  })
  return { keys: await Promise.all(keys) }
}

/** A key, or a machine that signs, which is not asked to. */
type OwnKey = NonNullable<Configuration['jwks']>['keys'][number]

const inputOf = (key: JWK) => ({ format: 'jwk', key }) as JsonWebKeyInput

/** An RSA key of 2048 bits signs like a longer one, and takes less time to make. */
function keyLike({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): KeyObject {
  if (type === 'rsa') return generateKeyPairSync(type, { modulusLength: 2048 }).privateKey
  return generateKeyPairSync(type as 'ec', { namedCurve: details?.namedCurve ?? '' }).privateKey
}

/** No one here can encrypt, sign or push as the application does, so none of that is required of it. */
function featuresOf({ resourceIndicators, ...features }: Features = {}): Features {
  const secret = randomBytes(64)
  const find = resourceIndicators?.getResourceServerInfo
  return {
    ...features,
    encryption: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    requestObjects: { enabled: false },
    ...(resourceIndicators && {
      resourceIndicators: {
        ...resourceIndicators,
        ...(find && {
          getResourceServerInfo: async (...asked) => withSecret(secret, await find(...asked)),
        }),
      },
    }),
  }
}

type Features = NonNullable<Configuration['features']>

/** The resource, whose access tokens are readable here, and signed by this secret if they are by one of the deployment. */
function withSecret(secret: Buffer, info: ResourceServer): ResourceServer {
  if (!info?.jwt) return info
  const { sign, encrypt } = info.jwt
  // Without a signature, the provider accepts a shared key for encryption only.
  if (!sign) return { ...info, jwt: encrypt ? { sign: { alg: 'HS256', key: secret } } : { sign } }
  // A value that cannot be a secret is left for the provider to refuse.
  const isSecret = 'key' in sign && (Reflect.get(Object(sign.key), 'type') ?? 'secret') === 'secret'
  return { ...info, jwt: { sign: isSecret ? { ...sign, key: secret } : sign } }
}

function encode(form: Readonly<Record<string, string | undefined>>): string {
  const encoded = new URLSearchParams()
  for (const [name, value] of Object.entries(form)) if (value !== undefined) encoded.set(name, value)
  return encoded.toString()
}

/** The deployment's own, but for the store. No one is asked for names, which no one reads. */
function optionsOf({ sessions, ...options }: ResolvedOptions): ImpersonationOptions {
  const { isAllowed, getCustomJwtClaims, managementResource, ...others } = options
  return {
    ...others,
    ...withoutUndefined({ isAllowed, getCustomJwtClaims, managementResource }),
    ...(sessions && {
      sessions: withoutUndefined({ ...sessions, door: sessions.door.href, nameOf: undefined }),
    }),
    store: createMemoryStore(),
  }
}

/** Where a backend issues here, wherever the deployment has mounted it. */
const API = '/api/subject-tokens'

interface Handlers {
  readonly api: NodeHandler
  readonly door: NodeHandler | undefined
}

/** The provider where its issuer is, and the door at its own path: as behind the proxy of the deployment. */
function listenerOf(provider: Provider, { api, door }: Handlers, { options }: Service): RequestListener {
  const serve = provider.callback()
  const mountedAt = new URL(provider.issuer).pathname.replace(/\/$/, '')
  const own = options.sessions?.door.pathname
  const atDoor = own === undefined ? [] : [own, `${own}/confirm`]
  return (incoming, response) => {
    const { url = '' } = incoming
    if (url === API) return api(incoming, response)
    if (door && atDoor.includes(url)) return door(incoming, response)
    Object.assign(incoming, { originalUrl: url, url: url.slice(mountedAt.length) })
    return void serve(incoming, response)
  }
}

/** As a client is registered, but with a secret that is known here and without a key that is not. */
export async function metadataOf(
  { configuration, provider }: Service,
  id: string,
): Promise<ClientMetadata | undefined> {
  const fixed = configuration.clients?.find(({ client_id }) => client_id === id)
  const registered = fixed ?? (await findRegisteredClient(provider, id))?.metadata()
  if (!registered) return undefined
  const { client_secret: _, ...metadata } = registered
  const { token_endpoint_auth_method: method } = { ...configuration.clientDefaults, ...metadata }
  return {
    ...metadata,
    ...(method !== 'none' && {
      client_secret: randomBytes(64).toString('base64url'),
      token_endpoint_auth_method: 'client_secret_post',
    }),
    dpop_bound_access_tokens: false,
    tls_client_certificate_bound_access_tokens: false,
  } as ClientMetadata
}

/** Nothing expires meanwhile. */
function memoryAdapter(): AdapterFactory {
  const stored = new Map<string, AdapterPayload>()
  return (model) => {
    const of = `${model}:`
    const findBy = async (member: 'uid' | 'userCode', value: string) =>
      [...stored].find(([key, payload]) => key.startsWith(of) && payload[member] === value)?.[1]
    return {
      upsert: async (id, payload) => void stored.set(of + id, payload),
      find: async (id) => stored.get(of + id),
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (userCode) => findBy('userCode', userCode),
      destroy: async (id) => void stored.delete(of + id),
      async consume(id) {
        const payload = stored.get(of + id)
        if (payload) stored.set(of + id, { ...payload, consumed: epochTime() })
      },
      async revokeByGrantId(grantId) {
        for (const [key, payload] of stored)
          if (key.startsWith(of) && payload.grantId === grantId) stored.delete(key)
      },
    }
  }
}
