/** The example as a newcomer runs it: real processes, the printed requests, and the demo. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { ordersApiClient, supportBackend, supportDesk } from '../../../example/clients.ts'
import { startExample } from '../../../example/deployment.ts'
import { STATUS_LIST_TTL } from '../../../example/impersonation.ts'
import { withActor } from '../../../fixtures/actor-tokens.ts'
import { whileStopped } from '../../../fixtures/clock.ts'
import { finished } from '../../../fixtures/commands.ts'
import { type Addresses, addressesOf } from '../../../fixtures/deployment.ts'
import { form, type Parameters, send } from '../../../fixtures/http.ts'
import { listen } from '../../../fixtures/listening.ts'
import { postRevocation } from '../../../fixtures/management.ts'
import { FROM_SOURCE } from '../../../fixtures/packed-package.ts'
import { managementToken, postSubjectToken, postToken } from '../../../fixtures/requests.ts'
import { exchangeOf, signIn, startEach, withToken } from './flow.ts'

const EXAMPLE = path.resolve(import.meta.dirname, '../../../example')
const A_SUBJECT_TOKEN = /(sub|ses)_[\w-]{65}/
const A_JWT = /eyJ[\w-]+\.[\w-]+/

describe('the example', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'impersonation-example-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  /** Runs one of its programs in an empty folder, where its temporary files go, too. */
  function run(program: string, { env = {}, node = [] as string[], args = [] as string[] } = {}) {
    const { DATABASE_URL: _, PORT: __, ...inherited } = process.env
    return spawn(process.execPath, [FROM_SOURCE, ...node, path.join(EXAMPLE, program), ...args], {
      cwd: folder,
      env: { ...inherited, TMPDIR: folder, ...env },
    })
  }

  describe('npm start', () => {
    it('prints requests that work when pasted into bash, and stops on request', async () => {
      const server = run('main.ts', { env: { PORT: '0' } })
      const ended = finished(server)
      try {
        const shell = spawn('bash', ['-euo', 'pipefail'])
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
      const npm = spawn('npm', ['start'], { cwd: folder, env: { ...process.env, PORT: '0' } })
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
      const taken = await listen(createServer())
      const { port } = new URL(taken.baseUrl)
      const said = await why(port)
      await taken.close()
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
      await once(demo.stdout, 'data')
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

  it('has no fault that check finds, and leaves no door open', async () => {
    const { close } = await startExample({ port: 0, storage: path.join(folder, 'example.sqlite') })
    await close()
    const [module = '', example = ''] = ['check.ts', 'check.json'].map((name) => path.join(EXAMPLE, name))
    const args = [module, '--example', example, '--json']
    const { stdout } = await finished(run('../packages/check/src/main.ts', { args }))
    const findings: { level: string; about: string }[] = JSON.parse(stdout)
    const inOrder = findings.filter(({ level }) => level === 'ok').map(({ about }) => about)
    expect(inOrder).to.include.members(['storage', 'rights', 'management API', 'clients', 'dry run'])
    expect(findings.filter(({ level }) => level !== 'ok')).to.deep.equal([])
  })

  describe('its APIs', () => {
    const example = startEach()
    const at = (path: string, token?: string, method = 'GET') =>
      send(`${example.baseUrl}${path}`, token === undefined ? { method } : withToken(token, { method }))
    const orders = (token?: string) => at('/orders-api/orders', token)
    const payments = (token?: string) => at('/billing-api/payments', token)
    const entry = (event: string) => example.log.find((one) => one.event === event)
    /** What the orders API does with a token that it received. */
    const passOn = (token: string, resource = `${example.baseUrl}/billing-api`) => {
      const request = { ...exchangeOf(example, token), resource, scope: 'payments:read' }
      return postToken(example, request, { client: ordersApiClient })
    }

    it('require an access token of their own, and let no browser keep what they show', async () => {
      const foreign = await tokenOfBackend(example)
      for (const path of ['/orders-api/orders', '/billing-api/payments']) {
        const bare = await at(path)
        expect([bare.status, bare.headers.get('cache-control')], path).to.deep.equal([401, 'no-store'])
        expect(bare.headers.get('www-authenticate'))
          .to.match(/^Bearer .*realm=/)
          .and.not.include('error')
        const { status, headers } = await at(path, foreign)
        expect(status, path).to.equal(401)
        expect(headers.get('www-authenticate')).to.include('error="invalid_token"')
      }
      const token = await impersonate(example, 'orders:read')
      for (const path of ['/orders', '/profile', '/orders/1001/invoice', '/orders/9999/invoice']) {
        const { headers } = await at(`/orders-api${path}`, token)
        expect(headers.get('cache-control'), path).to.equal('no-store')
      }
    })

    it('show the customer, and the invoices of the customer only, to those who may read orders', async () => {
      const token = await impersonate(example, 'orders:read')
      expect((await at('/orders-api/profile', token)).body).to.deep.equal({
        ...{ customer: 'alice', name: 'Alice Archer', email: 'alice@example.com' },
        ...{ plan: 'Plus', address: '4 Mill Lane, Ashford' },
      })
      const { body } = await at('/orders-api/orders/1001/invoice', token)
      expect(body).to.include({ number: 'R-2026-1001', cents: 3980 })
      for (const bobs of ['1003', '9999'])
        expect((await at(`/orders-api/orders/${bobs}/invoice`, token)).status, bobs).to.equal(404)
      expect((await orders(token)).body).not.to.have.property('billing')
      const writer = await impersonate(example, 'orders:write', TO_WRITE)
      for (const path of ['/orders', '/profile', '/orders/1001/invoice'])
        expect((await at(`/orders-api${path}`, writer)).status, path).to.equal(403)
    })

    it('change nothing for who only looks, and reserve for the customer what only the customer may do', async () => {
      const reader = await impersonate(example, 'orders:read orders:write')
      expect(decodeJwt(reader)).to.include({ read_only: true, scope: 'orders:read' })
      const writer = await impersonate(example, 'orders:read orders:write', TO_WRITE)
      const cancel = async (token: string) => {
        const { status, body } = await at('/orders-api/orders/1001', token, 'DELETE')
        return [status, body.error, body.error_description]
      }
      expect(await cancel(reader)).to.deep.equal([403, 'insufficient_scope', 'the token is read-only'])
      expect((await cancel(writer)).slice(0, 2)).to.deep.equal([403, 'access_denied'])
    })

    it('have no colleague as their customer, and let no one change things without a second reason', async () => {
      for (const request of [
        { ...ISSUE, userId: 'robin' },
        { ...TO_WRITE, context: ISSUE.context },
        { ...TO_WRITE, context: { ...TO_WRITE.context, writeReason: true } },
      ])
        expect((await postSubjectToken(example, request, await tokenOfBackend(example))).status).to.equal(403)
    })

    it('name their provider to a client that knows only the API (RFC 9728)', async () => {
      const audience = `${example.baseUrl}/orders-api`
      const challenge = (await orders()).headers.get('www-authenticate') ?? ''
      const [, address = ''] = /^Bearer resource_metadata="([^"]+)", realm=/.exec(challenge) ?? []
      expect(address).to.equal(`${example.baseUrl}/.well-known/oauth-protected-resource/orders-api`)
      const { headers, body } = await send(address)
      expect(headers.get('access-control-allow-origin')).to.equal('*')
      expect(body).to.deep.equal({
        resource: audience,
        authorization_servers: [`${example.baseUrl}/oidc`],
        scopes_supported: ['orders:read', 'orders:write', 'payments:read'],
        bearer_methods_supported: ['header'],
      })
    })

    it('log both people, the API in between, and the record', async () => {
      const token = await impersonate(example, 'orders:read payments:read')
      expect((await orders(token)).body.billing.payments).to.deep.equal([
        { order: '1001', paid: true },
        { order: '1002', paid: false },
      ])
      expect(entry('payments.read')).to.deep.include({
        ...{ customer: 'alice', actor: { sub: 'sam' }, through: ['orders-api'], client_id: 'orders-api' },
        impersonation: { id: entry('subject_token.issued')?.id, reason: 'a test', ticket_id: 'T-2' },
      })
      expect(example.log.map(({ event }) => event)).to.include('access_token.exchanged')
    })

    it('are for applications: none is for the backend, and billing is for the orders API, which goes nowhere else', async () => {
      const token = await impersonate(example, 'orders:read payments:read')
      expect((await payments(token)).status).to.equal(401)
      const { baseUrl } = example
      const toBilling = { ...(await exchangeOfAlice(example)), resource: `${baseUrl}/billing-api` }
      const asBackend = (api: string) =>
        postToken(
          example,
          { grant_type: 'client_credentials', resource: `${baseUrl}/${api}` },
          { client: supportBackend },
        )
      for (const { body } of [
        await asBackend('orders-api'),
        await asBackend('billing-api'),
        await postToken(example, toBilling, { client: supportDesk }),
        await passOn(token, `${baseUrl}/api`),
      ])
        expect(body.error).to.equal('invalid_target')
    })

    it('refuse what was stopped when their list is too old, and the exchange does at once', async () => {
      const token = await impersonate(example, 'orders:read payments:read')
      const passed = (await passOn(token)).body.access_token
      expect((await payments(passed)).status).to.equal(200)
      const may = await tokenOfBackend(example, 'subject-tokens:revoke')
      const revocation = { userId: 'alice', by: 'robin', reason: 'a test' }
      const stopped = await postRevocation(example, revocation, { token: may })
      expect(stopped.body).to.deep.equal({ revoked: 1 })
      // The orders API does not know yet, but the provider does.
      expect((await orders(token)).body)
        .to.include({ customer: 'alice' })
        .and.not.have.property('billing')
      expect(entry('payments.unavailable')).to.include({ code: 'invalid_request' })
      await whileStopped(async (clock) => {
        clock.tick(STATUS_LIST_TTL + 2)
        for (const { status } of [await payments(passed), await orders(token)]) expect(status).to.equal(401)
        expect((await orders(await impersonate(example, 'orders:read'))).status).to.equal(200)
      })
    })
  })
})

/** The text between the two sentences around the requests. */
async function printedRequests({ stdout }: ChildProcessWithoutNullStreams): Promise<string> {
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
  const body = form({
    ...(await exchangeOfAlice(addressesOf(baseUrl))),
    client_id: supportDesk.client_id,
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

const ISSUE = {
  ...{ userId: 'alice', actorId: 'sam', readOnly: true },
  context: { reason: 'a test', ticketId: 'T-2' },
}
const TO_WRITE = { ...ISSUE, readOnly: false, context: { ...ISSUE.context, writeReason: 'to test' } }

const tokenOfBackend = (example: Addresses, scope = 'subject-tokens:create'): Promise<string> =>
  managementToken(example, { client: supportBackend, scope })

async function exchangeOfAlice(example: Addresses, issue: object = ISSUE): Promise<Parameters> {
  const { body } = await postSubjectToken(example, issue, await tokenOfBackend(example))
  return { ...exchangeOf(example, body.subjectToken), ...withActor(await signIn(example)) }
}

async function impersonate(example: Addresses, scope: string, issue: object = ISSUE): Promise<string> {
  const request = { ...(await exchangeOfAlice(example, issue)), scope }
  return (await postToken(example, request, { client: supportDesk })).body.access_token
}
