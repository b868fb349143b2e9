/** A support desk, a provider with sessions and an application, each on a site of its own, as a real browser meets them. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { decodeJwt } from 'jose'
import type { ClientMetadata } from 'oidc-provider'
import { type Scene, shop, startScene, VERIFIER } from '../spec/arriving.ts'

type Given = NonNullable<Parameters<typeof startScene>[0]>

export interface Site {
  readonly scene: Scene
  /** The page of the desk with a button for this token. */
  desk(token: string): string
  /** What the application said to its callback, newest last. */
  readonly arrived: Record<string, unknown>[]
  close(): Promise<void>
}

const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

async function listen(listener: RequestListener, tls?: { key: Buffer; cert: Buffer }) {
  const server = tls ? createTlsServer(tls, listener) : createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const page = (response: ServerResponse, body: string) =>
  void response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(`<!doctype html><title>Page</title>${body}`)

/** A certificate for this machine, which no browser trusts. */
function certificate(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(path.join(tmpdir(), 'certificate-'))
  try {
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(folder, name)) as [string, string]
    const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
    const of = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    execFileSync('openssl', ['req', ...of, '-keyout', key, '-out', cert, ...name], { stdio: 'ignore' })
    return { key: readFileSync(key), cert: readFileSync(cert) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Ways {
  readonly given?: Given
  readonly client?: Partial<ClientMetadata>
  /** The application sends its authorization request by a form. */
  readonly posts?: boolean
  readonly https?: boolean
}

/** The desk and the application are at `localhost`, the provider at `127.0.0.1`: sites of their own for a browser. */
export async function startSite({
  given = {},
  client = {},
  posts = false,
  https = false,
}: Ways = {}): Promise<Site> {
  const arrived: Record<string, unknown>[] = []
  const tls = https ? certificate() : undefined
  const scheme = https ? 'https' : 'http'
  let scene: Scene
  const application = await listen((incoming, response) => void serveShop(incoming, response), tls)
  const origin = `${scheme}://localhost:${application.port}`

  async function serveShop(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '', origin)
    const address = `${scene.issuer}/auth`
    const parameters = {
      ...{ client_id: 'shop', response_type: 'code', scope: 'openid', redirect_uri: `${origin}/callback` },
      ...{ code_challenge: CHALLENGE, code_challenge_method: 'S256', state: 'a-state' },
    }
    if (url.pathname === '/sign-in' && posts) {
      const fields = Object.entries(parameters).map(
        ([name, value]) => `<input type="hidden" name="${name}" value="${value}">`,
      )
      page(
        response,
        `<form method="post" action="${address}">${fields.join('')}<button>Go on</button></form>`,
      )
      return
    }
    if (url.pathname === '/sign-in') {
      // Another hop, as applications have.
      response.writeHead(302, { location: `${origin}/hop` }).end()
      return
    }
    if (url.pathname === '/hop') {
      response.writeHead(302, { location: `${address}?${new URLSearchParams(parameters)}` }).end()
      return
    }
    // Browsers also ask for what no page names, such as /favicon.ico.
    if (url.pathname !== '/callback') {
      response.writeHead(404).end()
      return
    }
    const answer = { ...Object.fromEntries(url.searchParams) }
    const location = new URL(url)
    const redeemed = url.searchParams.has('code')
      ? await scene.redeem({ location } as never, { redirect_uri: `${origin}/callback` })
      : undefined
    const claims = redeemed?.body?.id_token ? decodeJwt(redeemed.body.id_token) : {}
    arrived.push({ ...answer, ...claims })
    page(response, `<h1>${claims.sub ?? answer.error}</h1>`)
  }

  const door = https
    ? await listen((incoming, response) => forward(incoming, response, scene.baseUrl), tls)
    : undefined
  const outside = door && `https://127.0.0.1:${door.port}`
  scene = await startScene({
    ...given,
    ...(outside && { issuer: `${outside}/oidc` }),
    clients: [
      shop({
        redirect_uris: [`${origin}/callback`],
        impersonation_sessions: `${origin}/sign-in`,
        ...client,
      }),
    ],
    sessions: { ...(outside && { door: `${outside}/impersonate` }), ...given.sessions },
    before: [
      async (ctx, next) => {
        ctx.app.proxy = true
        await next()
      },
    ],
  })
  scene.provider.proxy = true
  const action = outside ? `${outside}/impersonate` : scene.door
  const desk = await listen((incoming, response) => {
    const token = new URL(incoming.url ?? '', 'http://localhost').searchParams.get('token') ?? ''
    page(
      response,
      `<form method="post" action="${action}"><input type="hidden" name="subject_token" value="${token}">
<button>Open the shop as alice</button></form>`,
    )
  }, tls)
  return {
    scene,
    desk: (token) => `${scheme}://localhost:${desk.port}/?token=${token}`,
    arrived,
    async close() {
      await Promise.all([scene.close(), application.close(), desk.close(), door?.close()])
    },
  }
}

/** As a proxy that ends TLS. */
function forward(incoming: IncomingMessage, response: ServerResponse, to: string): void {
  const { method, headers, url } = incoming
  const { hostname, port } = new URL(to)
  const onward = request(
    { hostname, port, method, path: url, headers: { ...headers, 'x-forwarded-proto': 'https' } },
    (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    },
  )
  incoming.pipe(onward)
}
