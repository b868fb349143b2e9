/** The integrator's backend of the example, called directly: who may call it, for what, and how it refuses. */
import path from 'node:path'
import { expect } from 'chai'
import Koa from 'koa'
import { supportBackendRouter } from '../../../example/backend/router.ts'
import { supportBackend, supportDesk } from '../../../example/clients.ts'
import { startExample } from '../../../example/deployment.ts'
import { withActor } from '../../../fixtures/actor-tokens.ts'
import { whileStopped } from '../../../fixtures/clock.ts'
import { type HttpResponse, send } from '../../../fixtures/http.ts'
import { whileListening } from '../../../fixtures/listening.ts'
import { postToken } from '../../../fixtures/requests.ts'
import { createImpersonationClient } from '../../../packages/client/src/index.ts'
import { exchangeOf, signIn, startEach, withToken } from './flow.ts'

const VALID = { userId: 'alice', reason: 'A teapot is missing', ticketId: 'T-1' }
const VIEW = 'request-impersonation'
const SHOP = 'request-session'
const NO_ONE = 'x'.repeat(43)

interface Change {
  readonly path?: string
  readonly baseUrl?: string
  readonly authorization?: string
  /** In place of `Bearer`. */
  readonly scheme?: string
  readonly cookie?: string
  readonly type?: string
  readonly body?: string
}

const asking = (change: object): Change => ({ body: JSON.stringify({ ...VALID, ...change }) })
const cookieOf = ({ headers }: HttpResponse): string => headers.getSetCookie()[0]?.split(';')[0] ?? ''

describe('the backend of the example', () => {
  const example = startEach()
  let engineer: string
  beforeEach(async () => {
    engineer = await signIn(example)
  })

  /** One valid request, with one thing changed. */
  const request = ({
    path = VIEW,
    baseUrl = example.baseUrl,
    ...change
  }: Change = {}): Promise<HttpResponse> =>
    send(`${baseUrl}/backend/api/${path}`, {
      method: 'POST',
      headers: {
        'content-type': change.type ?? 'application/json',
        authorization: change.authorization ?? `${change.scheme ?? 'Bearer'} ${engineer}`,
        ...(change.cookie && { cookie: change.cookie }),
      },
      body: change.body ?? JSON.stringify(VALID),
    })
  const get = (path: string, { token = engineer, cookie = '' } = {}): Promise<HttpResponse> =>
    send(`${example.baseUrl}/backend/api/${path}`, withToken(token, { headers: { cookie } }))
  const record = async () => (await get('impersonations')).body.items
  const openView = async (cookie?: string, token?: string) => (await get('session', { cookie, token })).body
  const stop = (id: string, body: object = { reason: 'The ticket is closed' }, token = engineer) =>
    request({
      path: `impersonations/${id}/stop`,
      authorization: `Bearer ${token}`,
      body: JSON.stringify(body),
    })
  const exchange = (subjectToken: string): Promise<HttpResponse> =>
    postToken(
      example,
      { ...exchangeOf(example, subjectToken), ...withActor(engineer) },
      { client: supportDesk },
    )
  /** Another backend, with the same client. */
  const other = () => {
    const { client_id: clientId, client_secret: clientSecret } = supportBackend
    return createImpersonationClient({ issuer: example.issuer, clientId, clientSecret })
  }

  for (const [path, token, life] of [
    [VIEW, /^sub_[\w-]{65}$/, 60],
    [SHOP, /^ses_[\w-]{65}$/, 300],
  ] as const) {
    it(`${path} returns the subject token, its life and nothing else, and the address of its record`, async () => {
      const { status, headers, body } = await request({ path })
      expect(status).to.equal(200)
      expect(body).to.have.all.keys('subjectToken', 'expiresIn')
      expect(body.subjectToken).to.match(token)
      expect(body.expiresIn).to.equal(life)
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('location')).to.match(/^\/backend\/api\/impersonations\/[\w-]+$/)
    })
  }

  it('binds the token to the engineer, and to the desk and both APIs, or to the shop', async () => {
    for (const path of [VIEW, SHOP]) await request({ path })
    const issued = example.log.filter(({ event }) => event === 'subject_token.issued')
    expect(
      issued.map(({ userId, actorId, clientId, use }) => [userId, actorId, clientId, use]),
    ).to.deep.equal([
      ['alice', 'sam', 'support-desk', undefined],
      ['alice', 'sam', 'corner-shop', 'session'],
    ])
    const [session, view] = await record()
    const context = { reason: VALID.reason, ticketId: VALID.ticketId }
    expect(session).to.deep.include({ use: 'session', readOnly: true, context })
    expect(view).to.deep.include({
      readOnly: true,
      resource: [`${example.baseUrl}/orders-api`, `${example.baseUrl}/billing-api`],
      scope: 'orders:read payments:read',
      context,
    })
  })

  it('lets an engineer change things in the shop who says why, and in the desk no one', async () => {
    const writeReason = 'The address must be corrected'
    expect((await request({ path: SHOP, ...asking({ writeReason }) })).status).to.equal(200)
    const [session] = await record()
    expect(session).not.to.have.property('readOnly')
    expect(session).to.have.nested.property('context.writeReason', writeReason)
    for (const refused of [
      { path: VIEW, ...asking({ writeReason }) },
      { path: SHOP, ...asking({ writeReason: ' ' }) },
      { path: SHOP, ...asking({ writeReason: true }) },
      { path: SHOP, ...asking({ readOnly: false }) },
    ])
      expect((await request(refused)).status, JSON.stringify(refused)).to.equal(400)
    expect(await record()).to.have.length(1)
  })

  it('shows the record without a token, and without what the page does not need', async () => {
    const { subjectToken } = (await request()).body
    const { access_token } = (await exchange(subjectToken)).body
    const { text, body, headers } = await get('impersonations')
    expect(headers.get('cache-control')).to.equal('no-store')
    for (const token of [subjectToken, access_token, engineer]) expect(text).to.not.include(token.slice(-20))
    expect(body.items[0]).to.not.have.any.keys('createdBy', 'clientId', 'usedBy')
  })

  const REFUSED: readonly (readonly [what: string, change: Change, status: number, error: string])[] = [
    ['an unknown member', asking({ scope: 'orders:write' }), 400, 'invalid_request'],
    [
      'a resource, which the page may not choose',
      asking({ resource: 'https://a.example' }),
      400,
      'invalid_request',
    ],
    ['an application, which it may not choose', asking({ clientId: 'support-desk' }), 400, 'invalid_request'],
    ['no user', asking({ userId: undefined }), 400, 'invalid_request'],
    ['a reason of nothing but spaces', asking({ reason: '   ' }), 400, 'invalid_request'],
    ['a ticket that is a number', asking({ ticketId: 7 }), 400, 'invalid_request'],
    ['a reason that is too long', asking({ reason: 'x'.repeat(201) }), 400, 'invalid_request'],
    ...['', '{', 'null', '[]', '"alice"'].map(
      (body) => [`the body ${JSON.stringify(body)}`, { body }, 400, 'invalid_request'] as const,
    ),
    ...['text/plain', 'application/x-www-form-urlencoded'].map(
      (type) => [type, { type }, 415, 'invalid_request'] as const,
    ),
    ['a body of more than 4 KiB', asking({ reason: 'x'.repeat(4097) }), 413, 'invalid_request'],
    ['a user who does not exist', asking({ userId: 'unknown' }), 404, 'not_found'],
    ['a protected customer', asking({ userId: 'carol' }), 403, 'access_denied'],
    ['a colleague', asking({ userId: 'robin' }), 403, 'access_denied'],
    ['the engineer', asking({ userId: 'sam' }), 403, 'access_denied'],
    ['no token', { authorization: '' }, 401, 'invalid_token'],
    ['a token that is not sent as Bearer', { scheme: 'Basic' }, 401, 'invalid_token'],
    ['a token that is malformed', { authorization: 'Bearer a b' }, 401, 'invalid_token'],
    ['a token that was never issued', { authorization: `Bearer ${NO_ONE}` }, 401, 'invalid_token'],
  ]
  for (const path of [VIEW, SHOP]) {
    it(`refuses at ${path}, in its own words, and issues nothing`, async () => {
      for (const [what, change, status, error] of REFUSED) {
        const response = await request({ path, ...change })
        expect([response.status, response.body?.error], what).to.deep.equal([status, error])
        expect(response.headers.get('cache-control'), what).to.equal('no-store')
        const challenge = change.authorization === '' ? /^Bearer$/ : /^Bearer error="invalid_token"/
        if (status === 401) expect(response.headers.get('www-authenticate'), what).to.match(challenge)
      }
      expect(await record()).to.deep.equal([])
    })
  }

  it('names the person to ask about a protected customer, and logs who asked', async () => {
    expect((await request(asking({ userId: 'carol' }))).body.error_description).to.include('Mara Moss')
    const denied = { userId: 'carol', actorId: 'sam', ticketId: 'T-1' }
    expect(example.log.at(-1)).to.deep.equal({ event: 'backend.denied', ...denied })
  })

  it('refuses the token of an impersonation: no one gets from one customer to the next', async () => {
    const { access_token } = (await exchange((await request()).body.subjectToken)).body
    const { status, body } = await request({ authorization: `Bearer ${access_token}` })
    expect([status, body.error]).to.deep.equal([401, 'invalid_token'])
    expect(await record()).to.have.lengthOf(1)
  })

  it('refuses a customer, for the lists and the record, too', async () => {
    const token = await signIn(example, 'alice')
    const { status, body } = await request({ authorization: `Bearer ${token}` })
    expect([status, body.error]).to.deep.equal([403, 'access_denied'])
    expect(body.error_description).to.include('for support engineers')
    for (const where of ['users', 'impersonations', 'impersonations/unknown', 'session'])
      expect((await get(where, { token })).status, where).to.equal(403)
    expect(await record()).to.deep.equal([])
  })

  describe('the people', () => {
    const users = (query = '') => get(`users${query}`)
    const idsOf = ({ body }: HttpResponse): string[] => body.users.map(({ id }: { id: string }) => id)

    it('come page by page, each with the reason why they may not be viewed', async () => {
      const first = await users()
      expect(first.body.total).to.equal(24)
      expect(first.body.users[0]).to.deep.equal({
        ...{ id: 'alice', name: 'Alice Archer', role: 'customer', email: 'alice@example.com', plan: 'Plus' },
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
      for (const query of ['?q=a&q=b', `?q=${'x'.repeat(101)}`, '?role=admin', '?after=unknown', '?page=2'])
        expect((await users(query)).status, query).to.equal(400)
    })
  })

  describe('what is open', () => {
    it('is found again by the browser that has started it, for the same engineer, until it ends', async () => {
      expect(await openView()).to.deep.equal({})
      const started = await request()
      const cookie = cookieOf(started)
      expect((await openView(cookie)).open).to.include({ userId: 'alice', state: 'active' })
      expect(await openView()).to.deep.equal({})
      expect(await openView(cookie, await signIn(example, 'robin'))).to.deep.equal({})

      await exchange(started.body.subjectToken)
      const { open } = await openView(cookie)
      expect(open).to.deep.include({ state: 'consumed', names: { alice: 'Alice Archer', sam: 'Sam Sawyer' } })
      await whileStopped(async (clock) => {
        clock.tick(301)
        expect(await openView(cookie)).to.deep.equal({})
      })
      await stop(open.id)
      expect(await openView(cookie)).to.deep.equal({})
    })

    it('is known by a new cookie after every start and stop, for the backend alone, and not by the old one', async () => {
      const started = await request()
      const [line = ''] = started.headers.getSetCookie()
      expect(line).to.match(/^support-backend=[\w-]{22,};/)
      expect(line.toLowerCase())
        .to.match(/path=\/backend;/)
        .and.include('httponly')
        .and.include('samesite=strict')
      const first = cookieOf(started)
      const second = cookieOf(await request({ cookie: first }))
      expect(await openView(first)).to.deep.equal({})
      const { open } = await openView(second)
      const path = `impersonations/${open.id}/stop`
      const third = cookieOf(await request({ path, cookie: second, body: '{}' }))
      expect(new Set([first, second, third]).size).to.equal(3)
      for (const cookie of [second, third]) expect(cookie).to.match(/^support-backend=/)
    })
  })

  describe('the record', () => {
    it('shows one, with the names of its people, and reports one that does not exist', async () => {
      await request()
      const [item] = await record()
      expect((await get(`impersonations/${item.id}`)).body).to.deep.equal(item)
      expect(item.names).to.deep.equal({ alice: 'Alice Archer', sam: 'Sam Sawyer' })
      for (const id of [
        'unknown',
        'summary',
        '%2e%2e',
        'a%2Fb',
        '%3FuserId=a',
        'x'.repeat(65),
        '0'.repeat(32),
      ])
        for (const { status } of [await get(`impersonations/${id}`), await stop(id)])
          expect(status, id).to.equal(404)
    })

    it('shows what another backend has sent as text, and names an id that it does not know by itself', async () => {
      const context = { reason: { toString: 1, valueOf: 1 }, ticketId: ['T-1'], notes: 'private' }
      const { id } = await other().issue({ userId: 'alice', actorId: 'sam', readOnly: true, context })
      // A member that every object inherits.
      await other().stop({ id, by: 'constructor', reason: 'A test' })
      const [item] = await record()
      expect(item.context).to.deep.equal({ reason: '{"toString":1,"valueOf":1}', ticketId: '["T-1"]' })
      expect(Object.entries(item.names)).to.have.deep.members([
        ['alice', 'Alice Archer'],
        ['sam', 'Sam Sawyer'],
        ['constructor', 'constructor'],
      ])
    })

    it('lists what is live, and what was started in a time, and refuses a filter that it does not offer', async () => {
      const { subjectToken } = (await request()).body
      const [{ createdAt }] = await record()
      const found = async (query: string) => (await get(`impersonations${query}`)).body.items.length
      expect(await found('?live=true')).to.equal(0)
      await exchange(subjectToken)
      expect(await found('?live=true')).to.equal(1)
      expect(await found(`?createdAfter=${createdAt}&createdBefore=${createdAt + 1}`)).to.equal(1)
      expect(await found(`?createdAfter=${createdAt + 1}`)).to.equal(0)
      for (const query of ['?clientId=support-desk', '?state=lost', '?limit=0', '?userId=a&userId=b']) {
        const { status, body } = await get(`impersonations${query}`)
        expect([status, body.error], query).to.deep.equal([400, 'invalid_request'])
      }
    })

    it('stops a view, says by whom and why, and keeps that when it is stopped again', async () => {
      await request()
      const [{ id }] = await record()
      const reason = 'A wrong customer'
      const stopped = { state: 'revoked', revocation: { cause: 'api', by: 'robin', reason } }
      expect((await stop(id, { reason }, await signIn(example, 'robin'))).body).to.deep.include(stopped)
      expect((await stop(id, { reason: 'Again' })).body).to.deep.include({ id, ...stopped })
      expect((await record())[0]).to.deep.include({ id, ...stopped })
    })

    it("ends the engineer's own without a reason, in whatever browser", async () => {
      for (const [path, body] of [
        [VIEW, {}],
        [VIEW, { reason: 'Found it' }],
        [SHOP, {}],
      ] as const) {
        await request({ path })
        const [{ id }] = await record()
        expect((await stop(id, body)).body.revocation).to.deep.equal({ cause: 'self', by: 'sam', ...body })
      }
    })

    it("stops no one else's without a reason, and none in the name of another", async () => {
      const robin = await signIn(example, 'robin')
      for (const path of [VIEW, SHOP]) {
        await request({ path })
        const [{ id }] = await record()
        for (const body of [{}, { reason: ' ' }, { reason: 'Because', by: 'dana' }, { cause: 'self' }])
          expect((await stop(id, body, robin)).status, JSON.stringify(body)).to.equal(400)
        expect((await record())[0].state).to.equal('active')
      }
    })

    it('says of a view which one of the same customer continues it, and of that one which it continues', async () => {
      await request({ cookie: cookieOf(await request()) })
      const [next, former] = await record()
      expect(former.revocation).to.deep.equal({ cause: 'continued', by: 'sam', continuedBy: next.id })
      expect(next.context.continues).to.equal(former.id)
      expect([former.readOnly, next.readOnly]).to.deep.equal([true, true])
    })

    for (const [what, change] of [
      ['a view of another customer', asking({ userId: 'bob' })],
      ['the shop', { path: SHOP }],
    ] as const) {
      it(`continues none by ${what}: the engineer has ended it`, async () => {
        await request({ cookie: cookieOf(await request()), ...change })
        const [next, former] = await record()
        expect(former.revocation).to.deep.equal({ cause: 'self', by: 'sam' })
        expect(next.context).to.not.have.property('continues')
      })
    }

    it('continues none that has ended before, and does not say that someone stopped that', async () => {
      const cookie = cookieOf(await request())
      await whileStopped(async (clock) => {
        clock.tick(61)
        await request({ cookie })
        const [next, former] = await record()
        expect(next.context).to.not.have.property('continues')
        expect((await stop(former.id)).body.state).to.equal('expired')
        expect((await record())[1]).to.not.have.property('revocation')
      })
    })
  })

  for (const isKnown of [false, true]) {
    it(`lets no one in when the provider is down${isKnown ? ', on the strength of an earlier check' : ''}`, async () => {
      const provider = await startExample({ port: 0, storage: path.join(example.folder, 'provider.sqlite') })
      const { baseUrl } = provider
      engineer = await signIn(provider)
      const app = new Koa()
      const apis = { ordersApi: `${baseUrl}/orders-api`, billingApi: `${baseUrl}/billing-api` }
      const addresses = { issuer: `${baseUrl}/oidc`, console: `${baseUrl}/impersonations`, ...apis }
      const log: object[] = []
      app.use(supportBackendRouter(app, { ...addresses, log: (entry) => log.push(entry) }).routes())
      const { status, headers, body } = await whileListening(app.callback(), async (own) => {
        try {
          if (isKnown) expect((await request({ baseUrl: own })).status).to.equal(200)
        } finally {
          await provider.close()
        }
        return request({ baseUrl: own })
      })
      expect([status, body.error]).to.deep.equal([503, 'temporarily_unavailable'])
      expect(headers.get('retry-after')).to.match(/^\d+$/)
      expect(log.at(-1)).to.include({ event: 'backend.provider_unavailable' })
      expect(JSON.stringify(log)).to.not.include(engineer)
    })
  }
})
