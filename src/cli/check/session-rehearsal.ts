/**
 * One sign-in as a user, from the subject token to the ID token, through a second provider in memory: of the same
 * configuration, with the deployment's own functions, and on an address of this machine. Nothing is stored or sent.
 */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, IncomingMessage, request, type Server, ServerResponse } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { decodeJwt } from 'jose'
import { type ClientMetadata, Provider } from 'oidc-provider'
import { epochTime } from '../../clock.ts'
import { createImpersonation, type Impersonation, insideOf } from '../../impersonation.ts'
import { isPlainObject } from '../../plain-json.ts'
import type { SubjectTokenStore } from '../../subject-tokens/store.ts'
import type { StoredSubjectToken } from '../../subject-tokens/subject-token.ts'
import { memoryAdapter } from './memory-adapter.ts'
import type { Deployment, Example } from './module.ts'

type Inside = Deployment['inside']
type SessionExample = Example & {
  readonly session: NonNullable<Example['session']>
  readonly actorId: string
}

/** @returns the `act` of the ID token. @throws {Error} that says at which step it was refused, and why. */
export async function rehearseSession(inside: Inside, example: SessionExample): Promise<unknown> {
  const stage = await setStage(inside, example.session.clientId)
  try {
    return await play(stage, example)
  } finally {
    stage.close()
  }
}

interface Stage {
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

async function setStage(inside: Inside, clientId: string): Promise<Stage> {
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

/** In the order of docs/protocol.md §10. */
async function play(stage: Stage, example: SessionExample): Promise<unknown> {
  const { impersonation, client, door } = stage
  const { userId, actorId, createdBy, context, session } = example
  const issued = await impersonation.records.issue({
    ...{ userId, actorId, createdBy, context: context as never, clientId: client.client_id },
    use: 'session',
  })
  await signIn(stage, actorId)
  const refused = (step: string, why: string) => new Error(`${step}: ${stage.reason() ?? why}`)

  await stage.send(door, { subject_token: issued.subjectToken })
  const page = await stage.send(door)
  const [, sealed] = /name="sealed" value="([^"]+)"/.exec(page.text) ?? []
  if (sealed === undefined) throw refused('the door', `it responded with ${page.status}`)
  const opened = await stage.send(`${door}/confirm`, { sealed })
  if (opened.status !== 200) throw refused('the button', `it responded with ${opened.status}`)

  const verifier = randomBytes(32).toString('base64url')
  const [redirectUri = ''] = client.redirect_uris ?? []
  const arrival = await stage.send(
    authorizationOf(stage, { scope: session.scope ?? 'openid', redirectUri, verifier }),
  )
  const answer = URL.parse(arrival.location)?.searchParams
  const code = answer?.get('code')
  if (!code)
    throw refused('the arrival', answer?.get('error_description') ?? `it responded with ${arrival.status}`)
  return redeem(stage, { code, redirectUri, verifier })
}

/** The engineer's own session, as the provider keeps it. */
async function signIn({ provider, impersonation, keep }: Stage, accountId: string): Promise<void> {
  const { configuration, door } = insideOf(impersonation)
  const [acr] = door?.sessions.acrValues ?? []
  const session = Object.assign(new provider.Session(), { accountId, loginTs: epochTime(), acr })
  await session.save(600)
  const incoming = new IncomingMessage(new Socket())
  const response = new ServerResponse(incoming)
  const { cookies } = provider.createContext(incoming, response)
  const { signed } = configuration.cookies?.long ?? {}
  Object.assign(cookies, { secure: true })
  cookies.set(provider.cookieName('session'), session.jti, signed === undefined ? {} : { signed })
  keep([response.getHeader('set-cookie') ?? []].flat().map(String))
}

interface Proof {
  readonly redirectUri: string
  readonly verifier: string
}

function authorizationOf(
  { provider, client }: Stage,
  { scope, redirectUri, verifier }: Proof & { scope: string },
) {
  const address = new URL(provider.urlFor('authorization'))
  address.search = new URLSearchParams({
    ...{ client_id: client.client_id, response_type: 'code', scope, redirect_uri: redirectUri },
    ...{ state: 'a-rehearsal', nonce: 'a-rehearsal', code_challenge_method: 'S256' },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  }).toString()
  return address.href
}

async function redeem(
  { provider, client, send }: Stage,
  { code, redirectUri, verifier }: Proof & { readonly code: string },
): Promise<unknown> {
  const { text } = await send(provider.urlFor('token'), {
    ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri },
    ...{ client_id: client.client_id, code_verifier: verifier },
  })
  const body: unknown = JSON.parse(text)
  const { id_token: idToken, error, error_description: why } = isPlainObject(body) ? body : {}
  if (typeof idToken !== 'string') throw new Error(`the code: ${why ?? error}`)
  return decodeJwt(idToken).act
}
