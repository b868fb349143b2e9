/** The example as a newcomer runs it: real processes, the printed requests, and the demo. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { deskCallback, ordersApiClient, supportBackend, supportDesk } from '../../../example/clients.ts'
import { type Example, startExample } from '../../../example/deployment.ts'
import { STATUS_LIST_TTL } from '../../../example/impersonation.ts'
import { withActor } from '../../../fixtures/actor-tokens.ts'
import { stopClock } from '../../../fixtures/clock.ts'
import { engineersToken } from '../../../fixtures/engineers-sign-in.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../../src/index.ts'

const EXAMPLE = path.resolve(import.meta.dirname, '../../../example')
const A_SUBJECT_TOKEN = /(sub|ses)_[\w-]{65}/
const A_JWT = /eyJ[\w-]+\.[\w-]+/

interface Run {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
}

async function finished(child: ChildProcess): Promise<Run> {
  const ended = once(child, 'close')
  const [stdout, stderr] = await Promise.all([read(child.stdout), read(child.stderr)])
  await ended
  return { stdout, stderr, code: child.exitCode }
}

const read = async (stream: NodeJS.ReadableStream | null): Promise<string> => (stream ? text(stream) : '')

describe('the example', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'impersonation-example-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  /** Runs one of its programs in an empty folder, where its temporary files go, too. */
  function run(program: string, { env = {}, node = [] as string[] } = {}): ChildProcess {
    const { DATABASE_URL: _, ...inherited } = process.env
    return spawn(process.execPath, [...node, path.join(EXAMPLE, program)], {
      cwd: folder,
      env: { ...inherited, TMPDIR: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  describe('npm start', () => {
    it('prints requests that work when pasted into bash, and stops on request', async () => {
      const server = run('main.ts', { env: { PORT: '0' } })
      const ended = finished(server)
      try {
        const shell = spawn('bash', ['-euo', 'pipefail'], { stdio: ['pipe', 'pipe', 'pipe'] })
        shell.stdin.end(await printedRequests(server))
        const { stdout, stderr, code } = await finished(shell)
        expect(code, stderr).to.equal(0)
        const said = JSON.parse(stdout)
        expect(said.impersonation.id).to.match(/^[0-9a-f]{32}$/)
        expect(said).to.deep.equal({
          customer: 'alice',
          actor: { sub: 'sam' },
          scope: 'orders:read',
          impersonation: { id: said.impersonation.id, reason: 'A teapot is missing', ticket_id: 'T-1' },
          orders: [
            { id: '1001', item: 'A teapot', placed: '2026-10-28', state: 'On its way', cents: 3490 },
            { id: '1002', item: 'Six cups', placed: '2026-10-12', state: 'Delivered', cents: 4200 },
          ],
        })
      } finally {
        server.kill('SIGTERM')
      }
      const { stdout, stderr, code } = await ended
      expect(code, stderr).to.equal(0)
      expect(stdout).to.include('"event":"subject_token.issued"').and.include('"event":"orders.read"')
      expect(stdout + stderr)
        .to.not.match(A_SUBJECT_TOKEN)
        .and.not.match(A_JWT)
    })

    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      it(`finishes the exchange that is under way when it is sent ${signal}, and takes no other`, async () => {
        const server = run('main.ts', { env: { PORT: '0' } })
        const ended = finished(server)
        const baseUrl = /http:\/\/127\.0\.0\.1:\d+/.exec(await printedRequests(server))?.[0] ?? ''
        const request = await exchangeUnderWay(baseUrl)
        server.kill(signal)
        await untilRefused(baseUrl)
        const response = await request.finish()
        expect([response.status, response.connection]).to.deep.equal([200, 'close'])
        const { code, stdout, stderr } = await ended
        expect(code, stderr).to.equal(0)
        expect(stdout).to.match(/\nStopping, [^\n]+\n(.+\n)*Stopped\.\n$/)
      })
    }

    it('ends with the npm that started it', async () => {
      const { start } = JSON.parse(readFileSync(path.join(EXAMPLE, '../package.json'), 'utf8')).scripts
      const scripts = { start: start.replace(/(\.\/tools|example)\//g, `${path.dirname(EXAMPLE)}/$1/`) }
      writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ scripts }))
      const env = { ...process.env, PORT: '0' }
      const npm = spawn('npm', ['start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
      const ended = finished(npm)
      await printedRequests(npm)
      npm.kill('SIGTERM')
      // Its output is open for as long as the server runs.
      expect((await ended).stdout).to.match(/\nStopped\.\n/)
    })

    it('says why it cannot start, and how to choose another port', async () => {
      const why = async (PORT: string) => {
        const { stderr, code } = await finished(run('main.ts', { env: { PORT } }))
        expect(code).to.equal(1)
        return stderr
      }
      expect(await why('three')).to.match(/^The example could not start: .*port/m)
      const taken = createServer().listen(0, '127.0.0.1')
      await once(taken, 'listening')
      const { port } = taken.address() as AddressInfo
      const said = await why(String(port))
      taken.close()
      expect(said).to.match(
        new RegExp(`^The example could not start: port ${port} is taken\\. .*PORT=\\d+ npm start`, 'm'),
      )
    })
  })

  describe('npm run demo', () => {
    it('runs the flow, shows no complete token, and leaves nothing behind', async () => {
      const { stdout, stderr, code } = await finished(run('demo.ts'))
      expect(code, stderr).to.equal(0)
      expect(stdout).to.match(/\nThe server of the demo has stopped\.\n\nEvery response was as promised\.\n/)
      for (const what of [
        'the shop',
        'record of the shop',
        'billing token',
        'payments response',
        'stopped token',
        'stopped billing token',
      ])
        expect(stdout).to.include(`✓ ${what}: as promised`)
      expect(stdout).to.include('alice ← sam ← orders-api')
      expect(stdout + stderr)
        .to.not.match(A_SUBJECT_TOKEN)
        .and.not.match(A_JWT)
      const [, passed, checks] = /^(\d+) of (\d+) checks in \d+\.\d s\.$/m.exec(stdout) ?? []
      expect(Number(checks)).to.equal(stdout.match(/✓/g)?.length).and.equal(Number(passed))
      expect(stdout).to.match(/^Next:\n {4}npm start /m)
      const marked = [...stdout.matchAll(/^ *(.*) {2}◀ /gm)].map(([, line]) => line)
      expect(marked).to.deep.equal(['← 200', '← 200', 'act: {"sub":"sam"}', 'sub: "alice"', '← 400'])
      expect(stdout)
        .to.include('✓ record: as promised')
        .and.match(/"by": "robin"/)
      expect(stdout, 'colours').to.not.include('\u001b[')
      expect(readdirSync(folder)).to.deep.equal([])
    })

    it('says that it was stopped before the end', async () => {
      const demo = run('demo.ts')
      const ended = finished(demo)
      await once(demo.stdout ?? expect.fail(), 'data')
      demo.kill('SIGINT')
      const { stderr, code } = await ended
      expect(stderr).to.equal('\nStopped before the end.\n')
      expect(code).to.equal(130)
      expect(readdirSync(folder)).to.deep.equal([])
    })

    it('fails and names what differs', async () => {
      const { stdout, stderr, code } = await finished(run('demo.ts', { node: ['--import', tampering()] }))
      expect(code).to.equal(1)
      const differing = ['exchange response', 'downstream response']
      for (const what of differing)
        expect(stderr).to.include(`  - ${what}.body.refresh_token should not be there`)
      expect(stdout).to.include('✓ subject token response').and.not.include('Every response was as promised.')
      const [, passed, checks] = /^(\d+) of (\d+) checks/m.exec(stdout) ?? []
      expect(Number(passed)).to.equal(Number(checks) - differing.length)
      expect(stdout).not.to.include('Next:')
      expect(readdirSync(folder)).to.deep.equal([])
    })
  })

  describe('the orders API', () => {
    let example: Example
    beforeEach(async () => {
      example = await startExample({ port: 0, storage: path.join(folder, 'test.sqlite') })
    })
    afterEach(() => example.close())

    it('requires an access token of its own', async () => {
      const bare = await fetch(`${example.baseUrl}/orders-api/orders`)
      expect(bare.status).to.equal(401)
      expect(bare.headers.get('www-authenticate'))
        .to.match(/^Bearer .*realm=/)
        .and.not.include('error')
      const foreign = await callApi(example, 'GET', '/orders', await managementToken(example))
      expect(foreign.status).to.equal(401)
      expect(foreign.headers.get('www-authenticate')).to.include('error="invalid_token"')
    })

    it('requires the scope of the route', async () => {
      const token = await impersonate(example, 'orders:write')
      expect((await callApi(example, 'GET', '/orders', token)).status).to.equal(403)
    })

    it('shows the customer, and the invoices of the customer only', async () => {
      const token = await impersonate(example, 'orders:read')
      const read = async (where: string) => {
        const response = await callApi(example, 'GET', where, token)
        return { status: response.status, body: Object(await response.json()) }
      }
      expect(await read('/profile')).to.deep.equal({
        status: 200,
        body: {
          customer: 'alice',
          name: 'Alice Archer',
          email: 'alice@example.com',
          plan: 'Plus',
          address: '4 Mill Lane, Ashford',
        },
      })
      const { status, body } = await read('/orders/1001/invoice')
      expect([status, body.number, body.cents]).to.deep.equal([200, 'R-2026-1001', 3980])
      for (const bobs of ['1003', '9999'])
        expect((await read(`/orders/${bobs}/invoice`)).status, bobs).to.equal(404)
      const writer = await impersonate(example, 'orders:write')
      for (const where of ['/profile', '/orders/1001/invoice'])
        expect((await callApi(example, 'GET', where, writer)).status, where).to.equal(403)
    })

    it('lets no browser keep what it shows', async () => {
      const token = await impersonate(example, 'orders:read')
      for (const where of ['/orders', '/profile', '/orders/1001/invoice', '/orders/9999/invoice']) {
        const { headers } = await callApi(example, 'GET', where, token)
        expect(headers.get('cache-control'), where).to.equal('no-store')
      }
      const payments = await fetch(`${example.baseUrl}/billing-api/payments`)
      expect(payments.headers.get('cache-control')).to.equal('no-store')
    })

    it('reserves for the customer what only the customer may do', async () => {
      const token = await impersonate(example, 'orders:read orders:write')
      expect((await callApi(example, 'GET', '/orders', token)).status).to.equal(200)
      const cancelled = await callApi(example, 'DELETE', '/orders/1001', token)
      expect(cancelled.status).to.equal(403)
      expect(await cancelled.json()).to.include({ error: 'access_denied' })
    })

    it('refuses a token that was stopped as soon as the list it has is too old', async () => {
      const token = await impersonate(example, 'orders:read')
      expect((await callApi(example, 'GET', '/orders', token)).status).to.equal(200)
      expect(await stopAll(example, 'alice')).to.deep.equal({ revoked: 1 })
      const clock = stopClock()
      try {
        clock.tick(STATUS_LIST_TTL + 2)
        expect((await callApi(example, 'GET', '/orders', token)).status).to.equal(401)
        const other = await impersonate(example, 'orders:read')
        expect((await callApi(example, 'GET', '/orders', other)).status).to.equal(200)
      } finally {
        clock.restore()
      }
    })

    it('names its provider to a client that knows only the API (RFC 9728)', async () => {
      const audience = `${example.baseUrl}/orders-api`
      const refused = await fetch(`${audience}/orders`)
      const [, address = ''] =
        /^Bearer resource_metadata="([^"]+)", realm=/.exec(refused.headers.get('www-authenticate') ?? '') ??
        []
      expect(address).to.equal(`${example.baseUrl}/.well-known/oauth-protected-resource/orders-api`)
      const response = await fetch(address)
      expect(response.headers.get('access-control-allow-origin')).to.equal('*')
      expect(await response.json()).to.deep.equal({
        resource: audience,
        authorization_servers: [`${example.baseUrl}/oidc`],
        scopes_supported: ['orders:read', 'orders:write', 'payments:read'],
        bearer_methods_supported: ['header'],
      })
    })

    it('is not for the backend itself, and neither is the billing API', async () => {
      for (const api of ['orders-api', 'billing-api']) {
        const resource = `${example.baseUrl}/${api}`
        const request = { grant_type: 'client_credentials', resource }
        const response = await postToken(example, request, supportBackend)
        expect(await response.json()).to.include({ error: 'invalid_target' })
      }
    })
  })

  describe('the billing API', () => {
    let example: Example
    const log: Record<string, unknown>[] = []
    beforeEach(async () => {
      log.length = 0
      example = await startExample({
        ...{ port: 0, storage: path.join(folder, 'test.sqlite') },
        log: (entry) => void log.push(entry as Record<string, unknown>),
      })
    })
    afterEach(() => example.close())

    const readOrders = async (token: string) => (await callApi(example, 'GET', '/orders', token)).json()
    const atBilling = (token: string) =>
      fetch(`${example.baseUrl}/billing-api/payments`, { headers: { authorization: `Bearer ${token}` } })
    /** What the orders API does with a token that it received. */
    const passOn = (token: string, changes: Record<string, string> = {}) =>
      postToken(
        example,
        {
          ...{ grant_type: TOKEN_EXCHANGE, subject_token: token, subject_token_type: ACCESS_TOKEN_TYPE },
          ...{ resource: `${example.baseUrl}/billing-api`, scope: 'payments:read', ...changes },
        },
        ordersApiClient,
      )

    it('shows the payments of the customer, and knows the API in between', async () => {
      const { billing } = Object(await readOrders(await impersonate(example, 'orders:read payments:read')))
      expect(billing).to.deep.equal({
        customer: 'alice',
        actor: { sub: 'sam' },
        through: ['orders-api'],
        payments: [
          { order: '1001', paid: true },
          { order: '1002', paid: false },
        ],
      })
      const [issued] = log.filter(({ event }) => event === 'subject_token.issued')
      expect(log.find(({ event }) => event === 'payments.read')).to.deep.include({
        ...{ customer: 'alice', through: ['orders-api'], client_id: 'orders-api' },
        impersonation: { id: issued?.id, reason: 'a test', ticket_id: 'T-2' },
      })
      expect(log.map(({ event }) => event)).to.include('access_token.exchanged')
    })

    it('is out of reach for a token that may not see payments, and for the token of the other API', async () => {
      expect(await readOrders(await impersonate(example, 'orders:read'))).not.to.have.property('billing')
      expect((await atBilling(await impersonate(example, 'orders:read payments:read'))).status).to.equal(401)
    })

    it('is out of reach for applications, and the orders API goes nowhere else', async () => {
      const token = await impersonate(example, 'orders:read payments:read')
      const direct = await postToken(
        example,
        {
          ...{ grant_type: TOKEN_EXCHANGE, subject_token_type: ACCESS_TOKEN_TYPE },
          subject_token: await member(await postSubjectToken(example, 'alice'), 'subjectToken'),
          resource: `${example.baseUrl}/billing-api`,
          ...withActor(await samsToken(example.baseUrl)),
        },
        supportDesk,
      )
      expect(await direct.json()).to.include({ error: 'invalid_target' })
      const elsewhere = await passOn(token, { resource: `${example.baseUrl}/api` })
      expect(await elsewhere.json()).to.include({ error: 'invalid_target' })
    })

    it('refuses when the impersonation is stopped, and so does the exchange at once', async () => {
      const token = await impersonate(example, 'orders:read payments:read')
      const passed = await member(await passOn(token), 'access_token')
      expect((await atBilling(passed)).status).to.equal(200)
      expect(await stopAll(example, 'alice')).to.deep.equal({ revoked: 1 })
      // The orders API does not know yet, but the provider does.
      expect(await readOrders(token))
        .to.include({ customer: 'alice' })
        .and.not.have.property('billing')
      expect(log.find(({ event }) => event === 'payments.unavailable')).to.include({
        code: 'invalid_request',
      })
      const clock = stopClock()
      try {
        clock.tick(STATUS_LIST_TTL + 2)
        for (const refused of [await atBilling(passed), await callApi(example, 'GET', '/orders', token)])
          expect(refused.status).to.equal(401)
      } finally {
        clock.restore()
      }
    })
  })

  it('lets no one become an engineer', async () => {
    const example = await startExample({ port: 0, storage: path.join(folder, 'test.sqlite') })
    try {
      expect((await postSubjectToken(example, 'robin')).status).to.equal(403)
    } finally {
      await example.close()
    }
  })
})

/** The text between the two sentences around the requests. */
async function printedRequests({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('its output is not read')
  let printed = ''
  return new Promise((resolve, reject) => {
    stdout.on('data', (chunk) => {
      printed += chunk
      const [, requests] = /in another terminal:\n([\s\S]*)Every line below/.exec(printed) ?? []
      if (requests) resolve(requests)
    })
    stdout.on('end', () => reject(new Error(`no requests in: ${printed}`)))
  })
}

/** An exchange that the server has begun to read: it has asked for the body. */
async function exchangeUnderWay(baseUrl: string) {
  const body = new URLSearchParams({
    grant_type: TOKEN_EXCHANGE,
    subject_token: await member(await postSubjectToken({ baseUrl }, 'alice'), 'subjectToken'),
    subject_token_type: ACCESS_TOKEN_TYPE,
    resource: `${baseUrl}/orders-api`,
    client_id: supportDesk.client_id,
    ...withActor(await samsToken(baseUrl)),
  }).toString()
  const sent = request(`${baseUrl}/oidc/token`, {
    method: 'POST',
    agent: new Agent({ keepAlive: true }),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': body.length,
      expect: '100-continue',
    },
  })
  sent.flushHeaders()
  await once(sent, 'continue')
  return {
    async finish() {
      const responded = once(sent, 'response')
      sent.end(body)
      const [response] = await responded
      response.resume()
      return { status: response.statusCode, connection: response.headers.connection }
    },
  }
}

/** Waits until the server takes no new connections. */
async function untilRefused(baseUrl: string): Promise<void> {
  for (;;) {
    const connected = await fetch(`${baseUrl}/oidc/jwks`).then(
      (response) => response.body?.cancel().then(() => true) ?? true,
      () => false,
    )
    if (!connected) return
  }
}

/** A module that adds a refresh token to the response of the exchange, as a careless provider would. */
function tampering(): string {
  const source = `
    const send = globalThis.fetch
    globalThis.fetch = async (...request) => {
      const response = await send(...request)
      const type = response.headers.get('content-type') ?? ''
      if (!type.startsWith('application/json')) return response
      const body = await response.json()
      if (body.issued_token_type) body.refresh_token = 'never'
      return Response.json(body, { status: response.status, headers: response.headers })
    }`
  return `data:text/javascript,${encodeURIComponent(source)}`
}

interface Sender {
  readonly client_id: string
  readonly client_secret?: string
}

function postToken(
  { baseUrl }: Address,
  parameters: Record<string, string>,
  sender: Sender,
): Promise<Response> {
  const { client_id, client_secret } = sender
  const basic = Buffer.from(`${client_id}:${client_secret}`).toString('base64')
  return fetch(`${baseUrl}/oidc/token`, {
    method: 'POST',
    headers: client_secret ? { authorization: `Basic ${basic}` } : {},
    body: new URLSearchParams(client_secret ? parameters : { ...parameters, client_id }),
  })
}

type Address = Pick<Example, 'baseUrl'>

async function managementToken(example: Address, scope = 'subject-tokens:create'): Promise<string> {
  const resource = `${example.baseUrl}/api`
  const request = { grant_type: 'client_credentials', resource, scope }
  return member(await postToken(example, request, supportBackend), 'access_token')
}

async function stopAll(example: Address, userId: string): Promise<unknown> {
  const token = await managementToken(example, 'subject-tokens:revoke')
  const response = await fetch(`${example.baseUrl}/api/subject-tokens/revocations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ userId, by: 'robin', reason: 'a test' }),
  })
  return response.json()
}

async function postSubjectToken(example: Address, userId: string): Promise<Response> {
  return fetch(`${example.baseUrl}/api/subject-tokens`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await managementToken(example)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ userId, actorId: 'sam', context: { reason: 'a test', ticketId: 'T-2' } }),
  })
}

async function impersonate(example: Example, scope: string): Promise<string> {
  const request = {
    grant_type: TOKEN_EXCHANGE,
    subject_token: await member(await postSubjectToken(example, 'alice'), 'subjectToken'),
    subject_token_type: ACCESS_TOKEN_TYPE,
    resource: `${example.baseUrl}/orders-api`,
    scope,
    ...withActor(await samsToken(example.baseUrl)),
  }
  return member(await postToken(example, request, supportDesk), 'access_token')
}

const samsToken = (baseUrl: string): Promise<string> =>
  engineersToken(`${baseUrl}/oidc`, {
    clientId: supportDesk.client_id,
    callback: deskCallback(baseUrl),
    answers: [{ account: 'sam' }, { decision: 'allow' }],
  })

async function member(response: Response, name: string): Promise<string> {
  const body: unknown = await response.json()
  const value: unknown = Reflect.get(Object(body), name)
  if (typeof value !== 'string') throw new Error(`no ${name} in ${JSON.stringify(body)}`)
  return value
}

function callApi({ baseUrl }: Example, method: string, where: string, token: string): Promise<Response> {
  return fetch(`${baseUrl}/orders-api${where}`, { method, headers: { authorization: `Bearer ${token}` } })
}
