/** The client against a provider that fails, waits and refuses as a test tells it to, and records what was sent. */
import { createServer, type ServerResponse } from 'node:http'
import { expect } from 'chai'
import { stopClock } from '../../../fixtures/clock.ts'
import { json, type StandIn, startStandIn } from '../../../fixtures/stand-in.ts'
import { createImpersonationClient, type ImpersonationClientOptions } from '../src/index.ts'
import { BACKEND, errorOf, ID, type Script, shownOf } from './calling.ts'

const ISSUED = { subjectToken: `sub_${'a'.repeat(43)}`, expiresIn: 600 }
const created = (response: ServerResponse) =>
  json(response, 201, ISSUED, { location: `https://id.example.com/api/subject-tokens/${ID}` })
const EXCHANGE = {
  subjectToken: ISSUED.subjectToken,
  actorToken: 'actor',
  resource: 'https://api.example.com',
}

describe('client: a stand-in', () => {
  let standIn: StandIn
  afterEach(() => standIn?.close())

  async function connect(script: Script = {}, options: Partial<ImpersonationClientOptions> = {}) {
    standIn = await startStandIn(script)
    return createImpersonationClient({ ...BACKEND, issuer: standIn.issuer, ...options })
  }

  describe('sends', () => {
    it('issue as it was given, to the address of the API, with a token for its name', async () => {
      const options = { managementResource: 'https://id.example.com/api' }
      standIn = await startStandIn({ api: created })
      const managementUrl = `${standIn.issuer.replace('/oidc', '/internal')}/`
      const client = createImpersonationClient({
        ...BACKEND,
        issuer: standIn.issuer,
        ...options,
        managementUrl,
      })
      const request = { userId: 'alice', context: { ticketId: 'T-1' }, actorId: undefined }
      expect(await client.issue(request)).to.deep.equal({ ...ISSUED, id: ID })
      expect(standIn.apiRequests).to.deep.equal([
        {
          method: 'POST',
          url: '/internal/subject-tokens',
          authorization: 'Bearer token-1',
          body: '{"userId":"alice","context":{"ticketId":"T-1"}}',
        },
      ])
      const [token] = standIn.tokenRequests
      expect(Object.fromEntries(new URLSearchParams(token?.body))).to.deep.equal({
        grant_type: 'client_credentials',
        resource: options.managementResource,
        scope: 'subject-tokens:create',
      })
      expect(token?.authorization).to.equal(`Basic ${btoa('backend:backend%2Dsecret')}`)
    })

    it('stop by id, with who and why, and the kill switches', async () => {
      const client = await connect({ api: (response) => json(response, 200, { revoked: 2 }) })
      for (const request of [
        { id: ID, by: 'dana', reason: 'ended by the customer' },
        { userId: 'alice' },
        { actorId: 'sam', by: 'dana' },
        { createdBy: 'backend' },
        { id: ID, cause: 'continued', continuedBy: ID },
      ])
        expect(await client.stop(request as { id: string })).to.deep.equal({ revoked: 2 })
      expect(standIn.apiRequests.map(({ method, url, body }) => [method, url, body])).to.deep.equal([
        [
          'POST',
          '/api/subject-tokens/revocations',
          `{"id":"${ID}","by":"dana","reason":"ended by the customer"}`,
        ],
        ['POST', '/api/subject-tokens/revocations', '{"userId":"alice"}'],
        ['POST', '/api/subject-tokens/revocations', '{"actorId":"sam","by":"dana"}'],
        ['POST', '/api/subject-tokens/revocations', '{"createdBy":"backend"}'],
        [
          'POST',
          '/api/subject-tokens/revocations',
          `{"id":"${ID}","cause":"continued","continuedBy":"${ID}"}`,
        ],
      ])
      expect(new URLSearchParams(standIn.tokenRequests[0]?.body).get('scope')).to.equal(
        'subject-tokens:revoke',
      )
    })

    it('acknowledge with who and what, and the replay that was seen, with a token that may revoke', async () => {
      const client = await connect({ api: (response) => void response.writeHead(204).end() })
      const says = { by: 'dana', note: 'a double click' }
      expect(await client.acknowledge(ID, says)).to.equal(undefined)
      for (const replayedAt of [1795429830, null]) await client.acknowledge(ID, { ...says, replayedAt })
      const url = `/api/subject-tokens/${ID}/acknowledgement`
      expect(standIn.apiRequests.map((request) => [request.method, request.url, request.body])).to.deep.equal(
        [
          ['POST', url, '{"by":"dana","note":"a double click"}'],
          ['POST', url, '{"by":"dana","note":"a double click","replayedAt":1795429830}'],
          ['POST', url, '{"by":"dana","note":"a double click","replayedAt":null}'],
        ],
      )
      const scope = new URLSearchParams(standIn.tokenRequests[0]?.body).get('scope')
      expect(scope).to.equal('subject-tokens:revoke')
    })

    it('what nothing could end, where the response says so', async () => {
      const client = await connect({ api: (response) => json(response, 200, { revoked: 2, kept: 1 }) })
      expect(await client.stop({ id: ID, cause: 'self' })).to.deep.equal({ revoked: 2, kept: 1 })
    })

    it('every filter of a list, and the cursor of the page before', async () => {
      const pages = [
        { items: [{ id: '1' }], nextCursor: 'c1' },
        { items: [], nextCursor: 'c2' },
        { items: [{ id: '2' }] },
      ]
      const client = await connect({ api: (response) => json(response, 200, pages.shift()) })
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
  })

  describe('after a 401', () => {
    it('requests another token, once, and then none for 30 seconds', async () => {
      const clock = stopClock()
      try {
        const refuse = (response: ServerResponse) => json(response, 401, { error: 'invalid_token' })
        const client = await connect({ api: refuse })
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
      } finally {
        clock.restore()
      }
    })

    it('uses the token that another call has requested meanwhile', async () => {
      const client = await connect({
        api: (response, { authorization }) =>
          authorization === 'Bearer token-1'
            ? json(response, 401, { error: 'invalid_token' })
            : created(response),
      })
      await Promise.all(Array.from({ length: 10 }, () => client.issue({ userId: 'alice' })))
      expect(standIn.tokenRequests).to.have.length(2)
    })
  })

  describe('when the response is lost', () => {
    it('does not repeat an issue or an exchange', async () => {
      const lose = (response: ServerResponse) => void response.destroy()
      const client = await connect({ api: lose })
      const issue = await errorOf(client.issue({ userId: 'alice' }))
      expect([issue.status, issue.code]).to.deep.equal([0, 'no_answer'])
      expect(standIn.apiRequests).to.have.length(1)
      await standIn.close()
      const other = await connect({ token: lose })
      const exchange = await errorOf(other.exchange(EXCHANGE))
      expect([exchange.status, exchange.code]).to.deep.equal([0, 'no_answer'])
      expect(standIn.tokenRequests).to.have.length(1)
    })

    it('gives up after the time limit, also in the middle of a body', async () => {
      const scripts: Script[] = [
        { api: () => {} },
        { api: (response) => void response.writeHead(201).write('{') },
        { token: () => {} },
      ]
      const errors = await Promise.all(
        scripts.map(async (script) => {
          const own = await startStandIn(script)
          const client = createImpersonationClient({ ...BACKEND, issuer: own.issuer, timeout: 1 })
          const error = await errorOf(client.issue({ userId: 'alice' }))
          await own.close()
          return [error.status, error.code, error.description]
        }),
      )
      expect(errors).to.deep.equal(Array(3).fill([0, 'timeout', 'no response within the time limit']))
      standIn = await startStandIn()
    })

    it('ends with the signal of the call, and sends nothing for one that has ended before', async () => {
      const leaving = new AbortController()
      const client = await connect({ api: () => leaving.abort() })
      const pending = client.issue({ userId: 'alice' }, { signal: leaving.signal })
      expect(await pending.catch((error: unknown) => error)).to.equal(leaving.signal.reason)
      const signal = AbortSignal.abort('late')
      expect(await client.exchange(EXCHANGE, { signal }).catch(String)).to.equal('late')
      expect([standIn.apiRequests.length, standIn.tokenRequests.length]).to.deep.equal([1, 1])
    })
  })

  it('waits for a token no longer than its signal, or the time limit, allows', async () => {
    const leaving = new AbortController()
    const client = await connect({ token: () => leaving.abort() })
    const pending = client.issue({ userId: 'alice' }, { signal: leaving.signal })
    // Not the error of the time limit.
    expect(await pending.catch((error: unknown) => error)).to.equal(leaving.signal.reason)
  })

  it('keeps no failure: the next call requests a token again', async () => {
    const responses = [503, 500]
    const client = await connect({
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
        const client = await connect({
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
        const client = await connect({ token: (response) => unavailable(response, retryAfter) })
        const error = await errorOf(client.exchange(EXCHANGE))
        expect(error).to.include({ status: 503, code: 'temporarily_unavailable', description: 'later' })
        expect(standIn.tokenRequests).to.have.length(requests)
      })
    }
  })

  describe('takes no', () => {
    it('secret of the request into an error, even if the response quotes it', async () => {
      const quote = (
        response: ServerResponse,
        { body, authorization }: { body: string; authorization?: string | undefined },
      ) =>
        json(response, 400, {
          error: 'invalid_request',
          error_description: `${body} ${authorization} backend-secret`,
        })
      const client = await connect({ api: quote })
      const shown = shownOf(await errorOf(client.issue({ userId: 'alice' })))
      expect(shown).to.include('alice').and.not.include('token-1')
      await standIn.close()
      const other = await connect({ token: quote })
      const exchange = shownOf(await errorOf(other.exchange(EXCHANGE)))
      expect(exchange).to.include('resource')
      for (const secret of [EXCHANGE.subjectToken, '=actor&', 'backend-secret'])
        expect(exchange).not.to.include(secret)
    })

    it('second management token into an error either', async () => {
      const client = await connect({
        api: (response, { authorization }) =>
          json(response, authorization === 'Bearer token-1' ? 401 : 403, {
            error: 'access_denied',
            error_description: `not with ${authorization} instead of token-1`,
          }),
      })
      const { status, description } = await errorOf(client.get(ID))
      expect([status, description]).to.deep.equal([403, 'not with Bearer … instead of …'])
    })

    it('redirect', async () => {
      let reached = 0
      const elsewhere = createServer((_request, response) => {
        reached += 1
        response.end()
      }).listen(0, '127.0.0.1')
      await new Promise((resolve) => elsewhere.once('listening', resolve))
      const { port } = elsewhere.address() as { port: number }
      const redirect = (response: ServerResponse) =>
        void response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end()
      const client = await connect({ api: redirect })
      expect((await errorOf(client.issue({ userId: 'alice' }))).status).to.equal(307)
      await standIn.close()
      const other = await connect({ token: redirect })
      expect((await errorOf(other.exchange(EXCHANGE))).status).to.equal(307)
      expect(reached).to.equal(0)
      elsewhere.close()
    })
  })
})
