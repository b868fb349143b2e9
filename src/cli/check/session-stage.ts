/**
 * A second provider of a deployment's configuration, in memory and on an address of this machine, and a browser in front of it:
 * where a sign-in is rehearsed. Nothing is stored or sent.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ClientMetadata, Provider } from 'oidc-provider'
import { createImpersonation, type Impersonation, insideOf } from '../../impersonation.ts'
import type { SubjectTokenStore } from '../../subject-tokens/store.ts'
import type { StoredSubjectToken } from '../../subject-tokens/subject-token.ts'
import { memoryAdapter } from './memory-adapter.ts'
import type { Deployment } from './module.ts'

type Inside = Deployment['inside']

export interface Stage {
  readonly impersonation: Impersonation
  readonly provider: Provider
  readonly client: ClientMetadata
  readonly door: string
  /** Of the last refusal that was told. */
  readonly reason: () => string | undefined
  send(to: string, form?: Readonly<Record<string, string>>): Promise<Shown>
  /** The browser has this cookie from now on. */
  keep(cookies: readonly string[]): void
  close(): void
}

interface Shown {
  readonly status: number
  readonly text: string
  readonly location: string
}

export async function setStage(inside: Inside, clientId: string): Promise<Stage> {
  const { configuration, options, provider: own, door } = inside
  if (!door) throw new Error('sessions are off')
  const client = await metadataOf(inside, clientId)
  const { nameOf: _, ...sessions } = door.sessions
  const impersonation = createImpersonation({
    ...options,
    store: memoryStore(options.store),
    sessions: { ...sessions, door: sessions.door.href },
  })
  const provider = new Provider(
    own.issuer,
    impersonation.configure({
      ...configuration,
      adapter: memoryAdapter(),
      clients: [client],
      fetch: noFetch,
    }),
  )
  impersonation.attach(provider)
  insideOf(impersonation).door?.stopWatching()
  provider.proxy = true
  let reason: string | undefined
  provider.on('subject_token.refused', (told) => {
    reason = `${told.check}: ${told.reason}`
  })
  const server = await serve(impersonation, provider, sessions.door)
  const jar = new Map<string, string>()
  const keep = (cookies: readonly string[]) => {
    for (const [, name = '', value = ''] of cookies.map((line) => /^([^=]+)=([^;]*)/.exec(line) ?? []))
      jar.set(name, value)
  }
  return {
    ...{ impersonation, provider, client, keep },
    door: sessions.door.href,
    reason: () => reason,
    send: (to, form) => send(server, new URL(to), { jar, keep, form }),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const noFetch = async () => {
  throw new Error('nothing is sent')
}

/** As it is registered, but public: the browser's proof (PKCE) stands for its secret, which no one has here. */
async function metadataOf({ configuration, provider }: Inside, clientId: string): Promise<ClientMetadata> {
  const fixed = configuration.clients?.find(({ client_id: id }) => id === clientId)
  const registered = fixed ?? (await provider.Client.find(clientId))?.metadata()
  if (!registered) throw new Error(`there is no client ${clientId}`)
  return {
    ...(registered as ClientMetadata),
    token_endpoint_auth_method: 'none',
    dpop_bound_access_tokens: false,
    tls_client_certificate_bound_access_tokens: false,
  }
}

/** One record. All else is the deployment's own, and is not called. */
function memoryStore(own: SubjectTokenStore): SubjectTokenStore {
  let record: StoredSubjectToken | undefined
  return {
    ...own,
    insert: async (token) => {
      record = { ...token, statusIndex: 0 }
    },
    find: async () => record,
    async consume(_token, _now, use) {
      if (!record || record.use) return false
      record = { ...record, use }
      return true
    },
    sessions: { findDue: async () => [], claim: async () => false, settle: async () => {} },
  }
}

/** As behind the proxy that the issuer is served by. */
async function serve(
  impersonation: Impersonation,
  provider: Provider,
  { pathname: door }: URL,
): Promise<Server> {
  const [atDoor, atProvider] = [impersonation.handler({ only: 'door' }), provider.callback()]
  const mountedAt = new URL(provider.issuer).pathname.replace(/\/$/, '')
  const server = createServer((incoming, response) => {
    const { url = '' } = incoming
    if (url.split('?')[0]?.startsWith(door)) return atDoor(incoming, response)
    Object.assign(incoming, { originalUrl: url, url: url.slice(mountedAt.length) })
    return void atProvider(incoming, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

interface Sending {
  readonly jar: ReadonlyMap<string, string>
  readonly keep: Stage['keep']
  readonly form: Readonly<Record<string, string>> | undefined
}

async function send(server: Server, to: URL, { jar, keep, form }: Sending): Promise<Shown> {
  const sent = request({
    ...{ host: '127.0.0.1', port: (server.address() as AddressInfo).port, path: to.pathname + to.search },
    method: form ? 'POST' : 'GET',
    headers: {
      host: to.host,
      'x-forwarded-proto': to.protocol.slice(0, -1),
      'sec-fetch-site': 'same-origin',
      cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
      ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
    },
  })
  sent.end(form && new URLSearchParams(form).toString())
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  keep(response.headers['set-cookie'] ?? [])
  return {
    status: response.statusCode ?? 0,
    text: await text(response),
    location: response.headers.location ?? '',
  }
}
