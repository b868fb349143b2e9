/** The integrator's backend of the example, called directly: who may call it, for what, and how it refuses. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import Koa from 'koa'
import * as client from 'openid-client'
import { supportBackendRouter } from '../../../example/backend/router.ts'
import { clientsFor, supportBackend } from '../../../example/clients.ts'
import { Browser } from '../../../example/demo/browser.ts'
import { type Example, startExample } from '../../../example/deployment.ts'
import { stopClock } from '../../../fixtures/clock.ts'
import { type HttpResponse, send } from '../../../fixtures/http.ts'
import { createImpersonationClient } from '../../../packages/client/src/index.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../../src/index.ts'

const VALID = { userId: 'alice', reason: 'A teapot is missing', ticketId: 'T-1' }

describe('the backend of the example', () => {
  let folder: string
  let example: Example
  let log: object[]
  let engineer: string

  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'impersonation-backend-'))
    log = []
    example = await startExample({
      port: 0,
      storage: path.join(folder, 'test.sqlite'),
      log: (entry) => log.push(entry),
    })
    engineer = accessToken(await signIn(example, { account: 'sam' }))
  })
  afterEach(async () => {
    await example.close()
    rmSync(folder, { recursive: true })
  })

  interface Change {
    readonly path?: string
    readonly baseUrl?: string
    readonly authorization?: string | undefined
    readonly cookie?: string
    readonly type?: string
    readonly body?: string
  }

  /** One valid request, with one thing changed. */
  function request(change: Change = {}): Promise<HttpResponse> {
    const { path, baseUrl, authorization, cookie, type, body } = {
      path: 'request-impersonation',
      baseUrl: example.baseUrl,
      authorization: `Bearer ${engineer}`,
      cookie: undefined,
      type: 'application/json',
      body: JSON.stringify(VALID),
      ...change,
    }
    return send(`${baseUrl}/backend/api/${path}`, {
      method: 'POST',
      headers: {
        'content-type': type,
        ...(authorization !== undefined && { authorization }),
        ...(cookie !== undefined && { cookie }),
      },
      body,
    })
  }

  const asked = (change: object): Promise<HttpResponse> =>
    request({ body: JSON.stringify({ ...VALID, ...change }) })

  function record(query = ''): Promise<HttpResponse> {
    const headers = { authorization: `Bearer ${engineer}` }
    return send(`${example.baseUrl}/backend/api/impersonations${query}`, { headers })
  }

  function stop(
    id: string,
    body: object = { reason: 'The ticket is closed' },
    token = engineer,
  ): Promise<HttpResponse> {
    return send(`${example.baseUrl}/backend/api/impersonations/${id}/stop`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  }

  const colleague = async (): Promise<string> => accessToken(await signIn(example, { account: 'robin' }))

  async function expectNothingIssued(): Promise<void> {
    expect((await record()).body).to.deep.equal({ items: [] })
  }

  it('returns the subject token, its life and nothing else, and the address of its record', async () => {
    const { status, headers, body } = await request()
    expect(status).to.equal(200)
    expect(body).to.have.all.keys('subjectToken', 'expiresIn')
    expect(body.subjectToken).to.match(/^sub_[\w-]{65}$/)
    expect(body.expiresIn).to.equal(60)
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(headers.get('location')).to.match(/^\/backend\/api\/impersonations\/[\w-]+$/)
  })

  it('binds the token to the engineer, to the desk and to both APIs', async () => {
    const { subjectToken } = (await request()).body
    const [item] = (await record()).body.items
    expect(item).to.deep.include({
      userId: 'alice',
      actorId: 'sam',
      resource: [`${example.baseUrl}/orders-api`, `${example.baseUrl}/billing-api`],
      scope: 'orders:read payments:read',
      context: { reason: VALID.reason, ticketId: VALID.ticketId },
      state: 'active',
    })
    const robin = await colleague()
    const changes: Record<string, string>[] = [
      { actor_token: robin },
      { actor_token: '', actor_token_type: '' },
    ]
    for (const change of [...changes, { scope: 'orders:write' }]) {
      expect((await exchange(example, { subjectToken, actorToken: engineer, change })).status).to.equal(400)
    }
    const scope = 'orders:read payments:read'
    const { status, body } = await exchange(example, {
      subjectToken,
      actorToken: engineer,
      change: { scope },
    })
    expect(status).to.equal(200)
    const headers = { authorization: `Bearer ${body.access_token}` }
    const orders = await send(`${example.baseUrl}/orders-api/orders`, { headers })
    expect(orders.body.billing).to.include({ customer: 'alice' })
  })

  it('shows the record without a token, and without what the page does not need', async () => {
    const { subjectToken } = (await request()).body
    const { access_token } = (await exchange(example, { subjectToken, actorToken: engineer })).body
    const { text, body, headers } = await record()
    expect(headers.get('cache-control')).to.equal('no-store')
    for (const token of [subjectToken, access_token, engineer]) expect(text).to.not.include(token.slice(-20))
    expect(body.items[0]).to.not.have.any.keys('createdBy', 'clientId', 'usedBy')
  })

  describe('the shop, as a customer', () => {
    const path = 'request-session'

    it('is opened by a token that is bound to the engineer and to the shop, and good for nothing else', async () => {
      const { status, headers, body } = await request({ path })
      expect(status).to.equal(200)
      expect(body).to.have.all.keys('subjectToken', 'expiresIn')
      expect(body.subjectToken).to.match(/^ses_[\w-]{65}$/)
      expect(body.expiresIn).to.equal(300)
      expect(headers.get('cache-control')).to.equal('no-store')
      const [issued] = log.map(Object).filter(({ event }) => event === 'subject_token.issued')
      expect(issued).to.include({ userId: 'alice', actorId: 'sam', clientId: 'corner-shop', use: 'session' })
      const [item] = (await record()).body.items
      expect(item).to.deep.include({
        use: 'session',
        context: { reason: VALID.reason, ticketId: VALID.ticketId },
      })
      const { subjectToken } = body
      expect((await exchange(example, { subjectToken, actorToken: engineer })).status).to.equal(400)
    })

    for (const [what, change, expected] of [
      ['a protected account', { body: JSON.stringify({ ...VALID, userId: 'carol' }) }, 403],
      ['a colleague', { body: JSON.stringify({ ...VALID, userId: 'robin' }) }, 403],
      ['the engineer', { body: JSON.stringify({ ...VALID, userId: 'sam' }) }, 403],
      ['someone unknown', { body: JSON.stringify({ ...VALID, userId: 'nemo' }) }, 404],
      ['no reason', { body: JSON.stringify({ ...VALID, reason: ' ' }) }, 400],
      ['another application', { body: JSON.stringify({ ...VALID, clientId: 'support-desk' }) }, 400],
      ['a request without a token', { authorization: undefined }, 401],
      ['another token', { authorization: `Bearer ${'x'.repeat(43)}` }, 401],
      ['a form', { type: 'application/x-www-form-urlencoded' }, 415],
    ] as const) {
      it(`is refused to ${what}`, async () => {
        expect((await request({ path, ...change })).status).to.equal(expected)
        await expectNothingIssued()
      })
    }

    it('is ended by its engineer without a reason, and ends the view that was open', async () => {
      const viewed = await request()
      const cookie = viewed.headers
        .getSetCookie()
        .map((line) => line.split(';')[0])
        .join('; ')
      await request({ path, cookie })
      const [opened, former] = (await record()).body.items
      expect(former).to.deep.include({ state: 'revoked' })
      expect(former.revocation).to.include({ cause: 'self', by: 'sam' })
      const { status, body } = await stop(opened.id, {})
      expect([status, body.state, body.revocation.cause]).to.deep.equal([200, 'revoked', 'self'])
    })

    it('is not ended by a colleague without a reason', async () => {
      await request({ path })
      const [opened] = (await record()).body.items
      expect((await stop(opened.id, {}, await colleague())).status).to.equal(400)
    })
  })

  describe('who may call it', () => {
    it('refuses a request without a token with a bare challenge', async () => {
      const { status, headers, body } = await request({ authorization: undefined })
      expect([status, body.error]).to.deep.equal([401, 'invalid_token'])
      expect(headers.get('www-authenticate')).to.equal('Bearer')
      await expectNothingIssued()
    })

    async function expectInvalidToken(authorization: string): Promise<void> {
      const { status, headers, body } = await request({ authorization })
      expect([status, body.error]).to.deep.equal([401, 'invalid_token'])
      expect(headers.get('www-authenticate')).to.match(/^Bearer error="invalid_token"/)
      expect(headers.get('cache-control')).to.equal('no-store')
      await expectNothingIssued()
    }

    it('refuses anything but a Bearer token', () => expectInvalidToken(`Basic ${engineer}`))
    it('refuses a token that is malformed', () => expectInvalidToken('Bearer a b'))
    it('refuses a token that was never issued', () => expectInvalidToken(`Bearer ${'x'.repeat(43)}`))

    it('refuses an access token of another application', async () => {
      const foreign = accessToken(await signIn(example, { account: 'sam', by: 'support-portal' }))
      await expectInvalidToken(`Bearer ${foreign}`)
    })

    it('refuses an ID token', async () => {
      const { id_token } = await signIn(example, { account: 'sam' })
      await expectInvalidToken(`Bearer ${id_token}`)
    })

    it("refuses the backend's own management token", async () => {
      const backend = await connect(example, supportBackend.client_id)
      const { access_token } = await client.clientCredentialsGrant(backend, {
        resource: `${example.baseUrl}/api`,
        scope: supportBackend.scope,
      })
      await expectInvalidToken(`Bearer ${access_token}`)
    })

    it('refuses an access token that has expired', async () => {
      const clock = stopClock()
      try {
        clock.tick(601)
        const { status, headers } = await request()
        expect(status).to.equal(401)
        expect(headers.get('www-authenticate')).to.include('invalid_token')
      } finally {
        clock.restore()
      }
      await expectNothingIssued()
    })

    it('refuses the token of an impersonation: no one gets from one customer to the next', async () => {
      const { subjectToken } = (await request()).body
      const { access_token } = (await exchange(example, { subjectToken, actorToken: engineer })).body
      const { status, body } = await request({ authorization: `Bearer ${access_token}` })
      expect([status, body.error]).to.deep.equal([401, 'invalid_token'])
      expect((await record()).body.items).to.have.lengthOf(1)
    })

    it('refuses a customer, for the list and the record, too', async () => {
      const customer = accessToken(await signIn(example, { account: 'alice' }))
      const headers = { authorization: `Bearer ${customer}` }
      const { status, body } = await request(headers)
      expect([status, body.error]).to.deep.equal([403, 'access_denied'])
      expect(body.error_description).to.include('for support engineers')
      for (const where of ['users', 'impersonations', 'impersonations/unknown', 'session']) {
        expect((await send(`${example.baseUrl}/backend/api/${where}`, { headers })).status, where).to.equal(
          403,
        )
      }
      await expectNothingIssued()
    })
  })

  describe('what may be requested', () => {
    const refused = (response: HttpResponse, status: number, error: string) => {
      expect([response.status, response.body?.error], response.text).to.deep.equal([status, error])
      expect(response.headers.get('cache-control')).to.equal('no-store')
      return expectNothingIssued()
    }

    for (const [what, change] of [
      ['an unknown member', { scope: 'orders:write' }],
      ['a resource, which the page may not choose', { resource: 'https://elsewhere.example' }],
      ['no user', { userId: undefined }],
      ['a reason of nothing but spaces', { reason: '   ' }],
      ['a ticket that is a number', { ticketId: 7 }],
      ['a reason that is too long', { reason: 'x'.repeat(201) }],
    ] as const) {
      it(`refuses ${what}`, async () => refused(await asked(change), 400, 'invalid_request'))
    }

    for (const body of ['', '{', 'null', '[]', '"alice"']) {
      it(`refuses the body ${JSON.stringify(body)}`, async () =>
        refused(await request({ body }), 400, 'invalid_request'))
    }

    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      it(`refuses ${type}`, async () => refused(await request({ type }), 415, 'invalid_request'))
    }

    it('refuses a body of more than 4 KiB', async () =>
      refused(await asked({ reason: 'x'.repeat(4097) }), 413, 'invalid_request'))

    it('reports a user who does not exist', async () =>
      refused(await asked({ userId: 'unknown' }), 404, 'not_found'))

    it('refuses a protected customer, and names the person to ask', async () => {
      const response = await asked({ userId: 'carol' })
      expect(response.body.error_description).to.include('Mara Moss')
      await refused(response, 403, 'access_denied')
      expect(log.at(-1)).to.deep.equal({
        event: 'backend.denied',
        userId: 'carol',
        actorId: 'sam',
        ticketId: 'T-1',
      })
    })

    it('refuses a colleague', async () => refused(await asked({ userId: 'robin' }), 403, 'access_denied'))
  })

  describe('the people', () => {
    const users = (query = '') =>
      send(`${example.baseUrl}/backend/api/users${query}`, {
        headers: { authorization: `Bearer ${engineer}` },
      })
    const idsOf = ({ body }: HttpResponse): string[] => body.users.map(({ id }: { id: string }) => id)

    it('come page by page, each with the reason why they may not be viewed', async () => {
      const first = await users()
      expect(first.body.total).to.equal(24)
      expect(first.body.users[0]).to.deep.equal({
        id: 'alice',
        name: 'Alice Archer',
        role: 'customer',
        email: 'alice@example.com',
        plan: 'Plus',
        viewable: true,
      })
      expect(first.body.users[2]).to.include({ id: 'carol', viewable: false })
      expect(first.body.users[2].whyNot).to.include('Mara Moss')
      const second = await users(`?after=${first.body.next}`)
      const last = await users(`?after=${second.body.next}`)
      expect([first, second, last].map((page) => idsOf(page).length)).to.deep.equal([10, 10, 4])
      expect(last.body).to.not.have.property('next')
      expect(new Set([first, second, last].flatMap(idsOf)).size).to.equal(24)
    })

    it('are found by a part of a name, an id or an e-mail address, and by what they do', async () => {
      expect(idsOf(await users('?q=ARCH'))).to.deep.equal(['alice'])
      expect(idsOf(await users('?q=dora.dean@'))).to.deep.equal(['dora.dean'])
      expect(idsOf(await users('?role=support'))).to.deep.equal(['sam', 'robin'])
      expect((await users('?q=nothing-like-it')).body).to.deep.equal({ users: [], total: 0 })
    })

    it('are not listed for a query that makes no sense', async () => {
      for (const query of ['?q=a&q=b', `?q=${'x'.repeat(101)}`, '?role=admin', '?after=unknown', '?page=2']) {
        expect((await users(query)).status, query).to.equal(400)
      }
    })
  })

  describe('what is open', () => {
    async function openView(cookie = '', token = engineer): Promise<HttpResponse> {
      return send(`${example.baseUrl}/backend/api/session`, {
        headers: { authorization: `Bearer ${token}`, cookie },
      })
    }

    it('is found again by the browser that has started it, for the same engineer, until it ends', async () => {
      expect((await openView()).body).to.deep.equal({})
      const { headers, body } = await request()
      const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
      expect((await openView(cookie)).body.open).to.include({ userId: 'alice', state: 'active' })
      expect((await openView()).body).to.deep.equal({})
      const robin = await colleague()
      expect((await openView(cookie, robin)).body).to.deep.equal({})

      await exchange(example, { subjectToken: body.subjectToken, actorToken: engineer })
      const { open } = (await openView(cookie)).body
      expect(open).to.deep.include({ state: 'consumed', names: { alice: 'Alice Archer', sam: 'Sam Sawyer' } })
      const clock = stopClock()
      try {
        clock.tick(301)
        expect((await openView(cookie)).body).to.deep.equal({})
      } finally {
        clock.restore()
      }
      await stop(open.id)
      expect((await openView(cookie)).body).to.deep.equal({})
    })

    it('is known by a new cookie after every start and stop, for the backend alone, and not by the old one', async () => {
      const { headers } = await request()
      const [line = ''] = headers.getSetCookie()
      expect(line).to.match(/^support-backend=[\w-]{22,};/)
      expect(line.toLowerCase())
        .to.match(/path=\/backend;/)
        .and.include('httponly')
        .and.include('samesite=strict')
      const first = line.split(';')[0] ?? ''
      const { headers: again } = await request({ cookie: first })
      const second = again.getSetCookie()[0]?.split(';')[0] ?? ''
      expect(second)
        .to.match(/^support-backend=/)
        .and.not.equal(first)
      expect((await openView(first)).body).to.deep.equal({})
      const { open } = (await openView(second)).body
      const stopped = await request({ path: `impersonations/${open.id}/stop`, cookie: second, body: '{}' })
      const third = stopped.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      expect(third)
        .to.match(/^support-backend=/)
        .and.not.equal(second)
    })
  })

  describe('the record', () => {
    it('shows one, with the names of its people, and reports one that does not exist', async () => {
      await request()
      const [item] = (await record()).body.items
      const one = (id: string) =>
        send(`${example.baseUrl}/backend/api/impersonations/${id}`, {
          headers: { authorization: `Bearer ${engineer}` },
        })
      expect((await one(item.id)).body).to.deep.equal(item)
      expect(item.names).to.deep.equal({ alice: 'Alice Archer', sam: 'Sam Sawyer' })
      for (const id of ['unknown', 'summary', '%2e%2e', 'a%2Fb', 'x'.repeat(65), '0'.repeat(32)])
        for (const { status } of [await one(id), await stop(id)]) expect(status, id).to.equal(404)
    })

    it('shows the reason and the ticket as text, whatever another backend has sent, and nothing else of it', async () => {
      const { client_id: clientId, client_secret: clientSecret } = supportBackend
      const other = createImpersonationClient({ issuer: `${example.baseUrl}/oidc`, clientId, clientSecret })
      const context = { reason: { toString: 1, valueOf: 1 }, ticketId: ['T-1'], notes: 'private' }
      await other.issue({ userId: 'alice', actorId: 'sam', context })
      const [item] = (await record()).body.items
      expect(item.context).to.deep.equal({ reason: '{"toString":1,"valueOf":1}', ticketId: '["T-1"]' })
    })

    it('names each id, by itself where it knows no one, so that the page needs no other name for it', async () => {
      const { client_id: clientId, client_secret: clientSecret } = supportBackend
      const other = createImpersonationClient({ issuer: `${example.baseUrl}/oidc`, clientId, clientSecret })
      const { id } = await other.issue({
        ...{ userId: 'alice', actorId: 'sam' },
        context: { reason: 'A test', ticketId: 'T-1' },
      })
      // A member that every object inherits.
      await other.stop({ id, by: 'constructor', reason: 'A test' })
      const [item] = (await record()).body.items
      expect(Object.entries(item.names)).to.have.deep.members([
        ['alice', 'Alice Archer'],
        ['sam', 'Sam Sawyer'],
        ['constructor', 'constructor'],
      ])
    })

    it('lists what is live, and what was started in a time', async () => {
      const { subjectToken } = (await request()).body
      const { createdAt } = (await record()).body.items[0]
      const found = async (query: string) => (await record(query)).body.items.length
      expect(await found('?live=true')).to.equal(0)
      await exchange(example, { subjectToken, actorToken: engineer })
      expect(await found('?live=true')).to.equal(1)
      expect(await found(`?createdAfter=${createdAt}&createdBefore=${createdAt + 1}`)).to.equal(1)
      expect(await found(`?createdAfter=${createdAt + 1}`)).to.equal(0)
    })

    it('refuses a filter that it does not offer', async () => {
      for (const query of ['?clientId=support-desk', '?state=lost', '?limit=0', '?userId=a&userId=b']) {
        const { status, body } = await record(query)
        expect([status, body.error], query).to.deep.equal([400, 'invalid_request'])
      }
    })

    it('reports a record that does not exist, whatever its id looks like', async () => {
      for (const id of ['unknown', '%2e%2e', 'a%2Fb', '%3FuserId=alice', 'x'.repeat(65)]) {
        expect((await stop(id)).status, id).to.equal(404)
      }
    })

    it('stops a view, says by whom and why, and keeps that when it is stopped again', async () => {
      const { subjectToken } = (await request()).body
      const [{ id }] = (await record()).body.items
      const stopped = {
        state: 'revoked',
        revocation: { cause: 'api', by: 'robin', reason: 'A wrong customer' },
      }
      const robin = await colleague()
      expect((await stop(id, { reason: 'A wrong customer' }, robin)).body).to.deep.include({ id, ...stopped })
      expect((await stop(id, { reason: 'Again' })).body).to.deep.include({ id, ...stopped })
      expect((await record()).body.items[0]).to.deep.include({ id, ...stopped })
      expect((await exchange(example, { subjectToken, actorToken: engineer })).status).to.equal(400)
    })

    it("ends the engineer's own view without a reason, in whatever browser", async () => {
      for (const body of [{}, { reason: 'Found it' }]) {
        await request()
        const [{ id }] = (await record()).body.items
        expect((await stop(id, body)).body.revocation).to.deep.equal({ cause: 'self', by: 'sam', ...body })
      }
    })

    it("stops no one else's without a reason, and none in the name of another", async () => {
      await request()
      const [{ id }] = (await record()).body.items
      const robin = await colleague()
      for (const body of [{}, { reason: ' ' }, { reason: 'Because', by: 'dana' }, { cause: 'self' }]) {
        expect((await stop(id, body, robin)).status, JSON.stringify(body)).to.equal(400)
      }
      expect((await record()).body.items[0].state).to.equal('active')
    })

    const cookieOf = ({ headers }: HttpResponse): string => headers.getSetCookie()[0]?.split(';')[0] ?? ''

    it('says of a view which one of the same customer continues it, and of that one which it continues', async () => {
      await request({ cookie: cookieOf(await request()) })
      const [next, former] = (await record()).body.items
      expect(former.revocation).to.deep.equal({ cause: 'continued', by: 'sam', continuedBy: next.id })
      expect(next.context.continues).to.equal(former.id)
    })

    it('continues none by a view of another customer: the engineer has ended it', async () => {
      const cookie = cookieOf(await request())
      await request({ cookie, body: JSON.stringify({ ...VALID, userId: 'bob' }) })
      const [next, former] = (await record()).body.items
      expect(former.revocation).to.deep.equal({ cause: 'self', by: 'sam' })
      expect(next.context).to.not.have.property('continues')
    })

    it('continues none that has ended before', async () => {
      const cookie = cookieOf(await request())
      const clock = stopClock()
      try {
        clock.tick(61)
        await request({ cookie })
        const [next, former] = (await record()).body.items
        expect(former.state).to.equal('expired')
        expect(next.context).to.not.have.property('continues')
      } finally {
        clock.restore()
      }
    })

    it('does not say that someone stopped what has ended by itself', async () => {
      await request()
      const [{ id }] = (await record()).body.items
      const clock = stopClock()
      try {
        clock.tick(61)
        expect((await stop(id)).body.state).to.equal('expired')
        expect((await record()).body.items[0]).to.not.have.property('revocation')
      } finally {
        clock.restore()
      }
    })
  })

  describe('when the provider is down', () => {
    /** A backend of its own, with a provider that can be taken down. */
    async function apart(walk: (baseUrl: string, takeDown: () => Promise<void>) => Promise<void>) {
      const provider = await startExample({ port: 0, storage: path.join(folder, 'provider.sqlite') })
      const { baseUrl } = provider
      engineer = accessToken(await signIn(provider, { account: 'sam' }))
      const app = new Koa()
      const apis = { ordersApi: `${baseUrl}/orders-api`, billingApi: `${baseUrl}/billing-api` }
      const addresses = { issuer: `${baseUrl}/oidc`, console: `${baseUrl}/impersonations`, ...apis }
      app.use(supportBackendRouter(app, { ...addresses, log: (entry) => log.push(entry) }).routes())
      const server = createServer(app.callback()).listen(0, '127.0.0.1')
      await once(server, 'listening')
      let down = false
      const takeDown = async () => {
        if (!down) await provider.close()
        down = true
      }
      try {
        const address = server.address()
        if (typeof address !== 'object' || !address) throw new Error('not listening on a port')
        await walk(`http://127.0.0.1:${address.port}`, takeDown)
      } finally {
        await takeDown()
        server.close()
        await once(server, 'close')
      }
    }

    async function expectUnavailable(baseUrl: string): Promise<void> {
      const { status, headers, body } = await request({ baseUrl })
      expect([status, body.error]).to.deep.equal([503, 'temporarily_unavailable'])
      expect(headers.get('retry-after')).to.match(/^\d+$/)
      expect(log.at(-1)).to.include({ event: 'backend.provider_unavailable' })
      expect(JSON.stringify(log)).to.not.include(engineer)
    }

    it('lets no one in', () =>
      apart(async (baseUrl, takeDown) => {
        await takeDown()
        await expectUnavailable(baseUrl)
      }))

    it('lets no one in on the strength of an earlier check', () =>
      apart(async (baseUrl, takeDown) => {
        expect((await request({ baseUrl })).status).to.equal(200)
        await takeDown()
        await expectUnavailable(baseUrl)
      }))
  })
})

interface SignIn {
  readonly account: string
  /** The application that signs the person in. */
  readonly by?: string
}

async function connect({ baseUrl, shop }: Example, clientId: string): Promise<client.Configuration> {
  const found = clientsFor({
    ...{ baseUrl, shop },
    ordersApi: `${baseUrl}/orders-api`,
    billingApi: `${baseUrl}/billing-api`,
  }).find((one) => one.client_id === clientId)
  const secret = found?.client_secret
  const authentication = secret ? client.ClientSecretBasic(secret) : client.None()
  return client.discovery(new URL(`${baseUrl}/oidc`), clientId, undefined, authentication, {
    execute: [client.allowInsecureRequests],
  })
}

/** Signs in and consents. */
async function signIn(
  example: Example,
  { account, by = 'support-desk' }: SignIn,
): Promise<client.TokenEndpointResponse> {
  const { baseUrl, shop } = example
  const config = await connect(example, by)
  const registered = clientsFor({ baseUrl, shop, ordersApi: '', billingApi: '' }).find(
    ({ client_id }) => client_id === by,
  )
  const redirectUri = registered?.redirect_uris?.[0] ?? ''
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const browser = new Browser(fetch, () => {}, redirectUri)
  const consent = await browser.visit(await browser.visit(url), { account })
  const callback = await browser.visit(consent, { decision: 'allow' })
  return client.authorizationCodeGrant(config, callback, { pkceCodeVerifier })
}

const accessToken = ({ access_token }: client.TokenEndpointResponse): string => access_token

interface Exchange {
  readonly subjectToken: string
  readonly actorToken: string
  readonly change?: Readonly<Record<string, string>>
}

function exchange(
  { baseUrl }: Example,
  { subjectToken, actorToken, change }: Exchange,
): Promise<HttpResponse> {
  const parameters = {
    grant_type: TOKEN_EXCHANGE,
    client_id: 'support-desk',
    subject_token: subjectToken,
    subject_token_type: ACCESS_TOKEN_TYPE,
    actor_token: actorToken,
    actor_token_type: ACCESS_TOKEN_TYPE,
    resource: `${baseUrl}/orders-api`,
    scope: 'orders:read',
    ...change,
  }
  return send(`${baseUrl}/oidc/token`, { method: 'POST', body: new URLSearchParams(parameters) })
}
