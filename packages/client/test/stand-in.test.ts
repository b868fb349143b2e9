/** The client against a provider that fails, waits and refuses as a test tells it to, and records what was sent. */
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { whileStopped } from '../../../fixtures/clock.ts'
import { createImpersonationClient, type ImpersonationClient } from '../src/index.ts'
import { BACKEND, errorOf, ID, useStandIns } from './calling.ts'
import { json, type Script, type StandIn } from './stand-in.ts'

const ISSUED = { subjectToken: `sub_${'a'.repeat(43)}`, expiresIn: 600 }
const created = (response: ServerResponse) =>
  json(response, 201, ISSUED, { location: `https://id.example.com/api/subject-tokens/${ID}` })
const EXCHANGE = {
  subjectToken: ISSUED.subjectToken,
  actorToken: 'actor',
  resource: 'https://api.example.com',
}
const ON_BEHALF_OF = { subjectToken: 'eyJ.received.c2ln-_', resource: 'https://billing.example.com' }

describe('client: a stand-in', () => {
  const connect = useStandIns()

  describe('sends', () => {
    it('issue and issueSession as they were given, to the address of the API, with a token for its name', async () => {
      const { standIn } = await connect({ api: created })
      const { issuer } = standIn
      const managementResource = 'https://id.example.com/api'
      const managementUrl = `${issuer.replace('/oidc', '/internal')}/`
      const client = createImpersonationClient({ ...BACKEND, issuer, managementResource, managementUrl })
      const request = { userId: 'alice', context: { ticketId: 'T-1' }, actorId: undefined }
      expect(await client.issue(request)).to.deep.equal({ ...ISSUED, id: ID })
      const session = { userId: 'alice', actorId: 'bob', clientId: 'shop', scope: 'openid', expiresIn: 60 }
      expect(await client.issueSession(session)).to.deep.equal({ ...ISSUED, id: ID })
      const post = { method: 'POST', url: '/internal/subject-tokens', authorization: 'Bearer token-1' }
      const [exchange, ...sessions] = standIn.apiRequests
      expect(exchange).to.deep.equal({ ...post, body: '{"userId":"alice","context":{"ticketId":"T-1"}}' })
      expect(sessions.map(({ body, ...request }) => ({ ...request, body: JSON.parse(body) }))).to.deep.equal([
        { ...post, body: { ...session, use: 'session' } },
      ])
      const [token] = standIn.tokenRequests
      expect(Object.fromEntries(new URLSearchParams(token?.body))).to.deep.equal({
        grant_type: 'client_credentials',
        resource: managementResource,
        scope: 'subject-tokens:create',
      })
      expect(token?.authorization).to.equal(`Basic ${btoa('backend:backend%2Dsecret')}`)
    })

    const scopeOf = ([request]: StandIn['tokenRequests']) => new URLSearchParams(request?.body).get('scope')

    it('stop by id, with who and why, and the kill switches, and resolves to what nothing could end', async () => {
      const { client, standIn } = await connect({
        api: (response) => json(response, 200, { revoked: 2, kept: 1 }),
      })
      const requests = [
        { id: ID, by: 'dana', reason: 'ended by the customer' },
        { userId: 'alice' },
        { actorId: 'sam', by: 'dana' },
        { createdBy: 'backend' },
        { id: ID, cause: 'continued', continuedBy: ID },
      ]
      for (const request of requests)
        expect(await client.stop(request as { id: string })).to.deep.equal({ revoked: 2, kept: 1 })
      expect(standIn.apiRequests.map(({ method, url, body }) => [method, url, body])).to.deep.equal(
        requests.map((request) => ['POST', '/api/subject-tokens/revocations', JSON.stringify(request)]),
      )
      expect(scopeOf(standIn.tokenRequests)).to.equal('subject-tokens:revoke')
    })

    it('acknowledge with who and what, and the replay that was seen, with a token that may revoke', async () => {
      const { client, standIn } = await connect({ api: (response) => void response.writeHead(204).end() })
      const says = { by: 'dana', note: 'a double click' }
      const requests = [says, { ...says, replayedAt: 1795429830 }, { ...says, replayedAt: null }]
      for (const request of requests) expect(await client.acknowledge(ID, request)).to.equal(undefined)
      const url = `/api/subject-tokens/${ID}/acknowledgement`
      expect(standIn.apiRequests.map((sent) => [sent.method, sent.url, sent.body])).to.deep.equal(
        requests.map((request) => ['POST', url, JSON.stringify(request)]),
      )
      expect(scopeOf(standIn.tokenRequests)).to.equal('subject-tokens:revoke')
    })

    it('every filter of a list, and the cursor of the page before', async () => {
      const pages = [
        { items: [{ id: '1' }], nextCursor: 'c1' },
        { items: [], nextCursor: 'c2' },
        { items: [{ id: '2' }] },
      ]
      const { client, standIn } = await connect({ api: (response) => json(response, 200, pages.shift()) })
      const read: string[] = []
      const filters = { live: true, replayed: false, withoutActor: true, createdAfter: 1, createdBefore: 2 }
      const texts = { jti: ID, ticketId: 'T 1', unacknowledged: true } as const
      for await (const { id } of client.list({ actorId: 'sam', ...filters, ...texts })) read.push(id)
      expect(read).to.deep.equal(['1', '2'])
      const query = `/api/subject-tokens?actorId=sam&live=true&replayed=false&withoutActor=true&createdAfter=1&createdBefore=2&jti=${ID}&ticketId=T+1&unacknowledged=true`
      expect(standIn.apiRequests.map(({ url }) => url)).to.deep.equal([
        query,
        `${query}&cursor=c1`,
        `${query}&cursor=c2`,
      ])
    })

    it('onBehalfOf with the token that the API received, as itself, and no actor token (RFC 8693 §2.1)', async () => {
      const { client, standIn } = await connect({}, { clientId: 'orders-api', clientSecret: 'orders+secret' })
      const expected = { accessToken: 'token-1', expiresIn: 600 }
      expect(await client.onBehalfOf({ ...ON_BEHALF_OF, scope: 'invoices:read' })).to.deep.equal(expected)
      const [request] = standIn.tokenRequests
      expect([...new URLSearchParams(request?.body)]).to.have.deep.members([
        ['grant_type', 'urn:ietf:params:oauth:grant-type:token-exchange'],
        ['subject_token', ON_BEHALF_OF.subjectToken],
        ['subject_token_type', 'urn:ietf:params:oauth:token-type:access_token'],
        ['resource', ON_BEHALF_OF.resource],
        ['scope', 'invoices:read'],
      ])
      expect(request?.authorization).to.equal(`Basic ${btoa('orders%2Dapi:orders%2Bsecret')}`)
      expect(standIn.apiRequests).to.deep.equal([])
    })

    it('no scope unless one is given, and resolves to what was granted', async () => {
      const granted = { access_token: 'a', token_type: 'Bearer', expires_in: 5, scope: 'invoices:read' }
      const { client, standIn } = await connect({ token: (response) => json(response, 200, granted) })
      expect(await client.onBehalfOf({ ...ON_BEHALF_OF, scope: undefined })).to.deep.equal({
        accessToken: 'a',
        expiresIn: 5,
        scope: 'invoices:read',
      })
      expect(scopeOf(standIn.tokenRequests)).to.equal(null)
    })
  })

  it('requests another token after a 401, once, and then none for 30 seconds', async () => {
    await whileStopped(async (clock) => {
      const refuse = (response: ServerResponse) => json(response, 401, { error: 'invalid_token' })
      const { client, standIn } = await connect({ api: refuse })
      const counts = async () => {
        const error = await errorOf(client.get(ID))
        expect([error.status, error.code]).to.deep.equal([401, 'invalid_token'])
        return [standIn.tokenRequests.length, standIn.apiRequests.length]
      }
      expect(await counts()).to.deep.equal([2, 2])
      expect(standIn.apiRequests.map(({ authorization }) => authorization)).to.deep.equal([
        'Bearer token-1',
        'Bearer token-2',
      ])
      clock.tick(29)
      expect(await counts()).to.deep.equal([2, 3])
      clock.tick(1)
      expect(await counts()).to.deep.equal([3, 5])
    })
  })

  describe('when the response is lost', () => {
    const lose = (response: ServerResponse) => void response.destroy()
    for (const [title, script, call] of [
      ['an issue', { api: lose }, (client) => client.issue({ userId: 'alice' })],
      ['an exchange', { token: lose }, (client) => client.exchange(EXCHANGE)],
      ['one on behalf of a user', { token: lose }, (client) => client.onBehalfOf(ON_BEHALF_OF)],
    ] as const satisfies [string, Script, (client: ImpersonationClient) => unknown][]) {
      it(`does not repeat ${title}`, async () => {
        const { client, standIn } = await connect(script)
        expect(await errorOf(call(client))).to.include({ status: 0, code: 'no_answer' })
        const { apiRequests, tokenRequests } = standIn
        expect(title === 'an issue' ? apiRequests : tokenRequests).to.have.length(1)
      })
    }

    it('gives up after the time limit, also in the middle of a body, and with a signal of its own', async () => {
      const scripts: Script[] = [
        { api: () => {} },
        { api: (response) => void response.writeHead(201).write('{') },
        { token: () => {} },
      ]
      const { signal } = new AbortController()
      const errors = await Promise.all(
        [{}, { signal }].flatMap((options) =>
          scripts.map(async (script) => {
            const { client } = await connect(script, { timeout: 1 })
            return errorOf(client.issue({ userId: 'alice' }, options))
          }),
        ),
      )
      const description = 'no response within the time limit'
      for (const error of errors) expect(error).to.include({ status: 0, code: 'timeout', description })
    })

    it('ends with the signal of the call', async () => {
      const leaving = new AbortController()
      const { client, standIn } = await connect({ api: () => leaving.abort() })
      const pending = client.issue({ userId: 'alice' }, { signal: leaving.signal })
      expect(await pending.catch((error: unknown) => error)).to.equal(leaving.signal.reason)
      expect([standIn.apiRequests.length, standIn.tokenRequests.length]).to.deep.equal([1, 1])
    })
  })

  it('waits for a token no longer than its signal, or the time limit, allows', async () => {
    const leaving = new AbortController()
    const { client } = await connect({ token: () => leaving.abort() })
    const pending = client.issue({ userId: 'alice' }, { signal: leaving.signal })
    // Not the error of the time limit.
    expect(await pending.catch((error: unknown) => error)).to.equal(leaving.signal.reason)
  })

  it('keeps no failure: the next call requests a token again', async () => {
    const responses = [503, 500]
    const { client } = await connect({
      api: created,
      token: (response) => {
        const status = responses.shift()
        if (status) json(response, status, { error: 'server_error' })
        else json(response, 200, { access_token: 'token', token_type: 'Bearer', expires_in: 60 })
      },
    })
    expect((await errorOf(client.issue({ userId: 'alice' }))).status).to.equal(503)
    expect((await errorOf(client.issue({ userId: 'alice' }))).status).to.equal(500)
    expect(await client.issue({ userId: 'alice' })).to.have.property('id', ID)
  })

  describe('when the provider says when to come back', () => {
    const unavailable = (response: ServerResponse, retryAfter?: string, status = 503) =>
      json(
        response,
        status,
        { error: 'temporarily_unavailable', error_description: 'later' },
        retryAfter === undefined ? {} : { 'retry-after': retryAfter },
      )

    for (const [title, retryAfter, status] of [
      ['in no time', '0', 503],
      ['in no time, in two digits', '00', 503],
      ['in a second', '1', 503],
      ['by a date', new Date().toUTCString(), 503],
      ['by a date in the first of the obsolete forms', 'Sunday, 06-Nov-94 08:49:37 GMT', 503],
      ['by a date in the second of them', 'Sun Nov  6 08:49:37 1994', 503],
      ['because there were too many requests', '0', 429],
    ] as const) {
      it(`${title}, comes back once`, async () => {
        let first = true
        const { client, standIn } = await connect({
          api: (response) => {
            if (!first) return created(response)
            first = false
            unavailable(response, retryAfter, status)
          },
        })
        const start = performance.now()
        expect(await client.issue({ userId: 'alice' })).to.have.property('id', ID)
        expect(performance.now() - start).to.be.at.least(Number(retryAfter) >= 1 ? 990 : 0)
        expect(standIn.apiRequests).to.have.length(2)
      })
    }

    it('does not repeat a stop, of which some may be done, except after a 429, before which nothing was', async () => {
      const statuses = [503, 429]
      const { client, standIn } = await connect({
        api: (response) => {
          const status = statuses.shift()
          if (status) unavailable(response, '0', status)
          else json(response, 200, { revoked: 3 })
        },
      })
      expect(await errorOf(client.stop({ userId: 'alice' }))).to.include({ status: 503 })
      expect(await client.stop({ userId: 'alice' })).to.deep.equal({ revoked: 3 })
      expect(standIn.apiRequests).to.have.length(3)
    })

    for (const [title, retryAfter, requests] of [
      ['a second time', '0', 2],
      ['after the time limit', '10', 1],
      ['after the time limit, by a date', new Date(Date.now() + 3_600_000).toUTCString(), 1],
      ...['soon', '0.0', '-1', '1.5', '1.5 GMT'].map(
        (text) => [`in no form of the protocol (${text})`, text, 1] as const,
      ),
      ['nothing at all, because no one knows the outcome', undefined, 1],
    ] as const) {
      it(`${title}, passes the refusal on`, async () => {
        const { client, standIn } = await connect({ token: (response) => unavailable(response, retryAfter) })
        const error = await errorOf(client.exchange(EXCHANGE))
        expect(error).to.include({ status: 503, code: 'temporarily_unavailable', description: 'later' })
        expect(standIn.tokenRequests).to.have.length(requests)
      })
    }
  })

  describe('takes no', () => {
    for (const first of [401, 403]) {
      it(`management token into an error, the second one neither, after ${first}`, async () => {
        const { client } = await connect({
          api: (response, { authorization }) =>
            json(response, authorization === 'Bearer token-1' ? first : 403, {
              error: 'access_denied',
              error_description: `not with ${authorization} instead of token-1`,
            }),
        })
        const description = 'not with Bearer … instead of …'
        expect(await errorOf(client.get(ID))).to.include({ status: 403, description })
      })
    }

    it('redirect', async () => {
      const { standIn: elsewhere } = await connect()
      const redirect = (response: ServerResponse) =>
        void response.writeHead(307, { location: `${elsewhere.issuer}/token` }).end()
      for (const script of [{ api: redirect }, { token: redirect }]) {
        const { client } = await connect(script)
        expect((await errorOf(client.issue({ userId: 'alice' }))).status).to.equal(307)
      }
      expect(elsewhere.tokenRequests).to.deep.equal([])
    })
  })
})
