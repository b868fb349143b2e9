/** What the errors of the client say, for a log. */
import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { json } from '../../../fixtures/stand-in.ts'
import type { ImpersonationClient } from '../src/index.ts'
import { connect, errorOf, ID, METADATA, type Script, withStandIn } from './calling.ts'

type Try = (client: ImpersonationClient) => Promise<unknown>

const get: Try = (client) => client.get(ID)
const issue: Try = (client) => client.issue({ userId: 'alice' })
const exchange: Try = (client) => client.exchange({ subjectToken: 'sub_x' })
const onBehalfOf: Try = (client) => client.onBehalfOf({ subjectToken: 'sub_x', resource: 'urn:billing' })

const respond =
  (status: number, body: unknown, headers = {}) =>
  (response: ServerResponse) =>
    json(response, status, body, headers)
const page = (response: ServerResponse) => void response.writeHead(200).end('<html>')

const ISSUED = { subjectToken: `sub_${'a'.repeat(65)}`, expiresIn: 600 }
const read = async (client: ImpersonationClient, cursor?: string) => {
  for await (const _ of client.list({ cursor })) expect.fail('a record')
}
/** Pages without records, each with its next cursor. */
const pages = (...cursors: unknown[]): Script => ({
  api: (response) => json(response, 200, { items: [], nextCursor: cursors.shift() }),
})
const DISCOVERY = 'invalid_response: discovery at {issuer}/.well-known/openid-configuration:'

/** What comes, the call, and what its error says after so many requests of the management API. */
const told: readonly (readonly [
  title: string,
  call: Try,
  script: Script,
  status: number,
  message: string,
  requests?: number,
])[] = [
  [
    'the page of something that stands between',
    get,
    { api: (response) => void response.writeHead(502).end('<html>') },
    502,
    'invalid_response: HTTP status 502',
  ],
  [
    'a refusal without a code',
    get,
    { api: respond(400, { error: '', error_description: 'no' }) },
    400,
    'invalid_response: HTTP status 400',
  ],
  [
    'a refusal without a description',
    get,
    { api: respond(500, { error: 'server_error' }) },
    500,
    'server_error: HTTP status 500',
  ],
  ['a page instead of a record', get, { api: page }, 200, 'invalid_response: not JSON'],
  [
    'another record',
    get,
    { api: respond(200, { id: '1'.repeat(32) }) },
    200,
    'invalid_response: not this record',
  ],
  [
    'no records',
    (client) => client.listPage(),
    { api: respond(200, { items: 'none' }) },
    200,
    'invalid_response: not a page of records',
  ],
  ...[5, '', null].map(
    (cursor) =>
      [
        `${JSON.stringify(cursor)} as cursor`,
        read,
        pages(cursor),
        200,
        'invalid_response: not a page of records',
      ] as const,
  ),
  ['the cursor that was sent', read, pages('c1', 'c1'), 200, 'invalid_response: a list without end', 2],
  ['an earlier cursor', read, pages('c1', 'c2', 'c1'), 200, 'invalid_response: a list without end', 3],
  [
    'the first cursor again',
    (client) => read(client, 'c0'),
    pages('c0'),
    200,
    'invalid_response: a list without end',
  ],
  ...[
    undefined,
    ID,
    `/x/${ID}?y#z`,
    '/x/',
    `/x/a%2F${ID}`,
    `/x/${ID}0`,
    '/x/summary',
    `/x/${'A'.repeat(32)}`,
  ].map(
    (location) =>
      [
        `a subject token at ${location}`,
        issue,
        { api: respond(201, ISSUED, location === undefined ? {} : { location }) },
        201,
        'invalid_response: not a subject token',
      ] as const,
  ),
  [
    'an issue without a subject token',
    issue,
    { api: respond(201, { expiresIn: 1 }, { location: `/x/${ID}` }) },
    201,
    'invalid_response: not a subject token',
  ],
  [
    'a subject token and something behind it',
    issue,
    { api: (response) => void response.writeHead(201).end(`${JSON.stringify(ISSUED)}x`) },
    201,
    'invalid_response: not JSON',
  ],
  [
    'a list as a refusal',
    issue,
    { api: respond(400, ['invalid_request']) },
    400,
    'invalid_response: HTTP status 400',
  ],
  [
    'a subject token without its life in seconds',
    issue,
    { api: respond(201, { subjectToken: 'sub_x', expiresIn: '600' }, { location: `/${ID}` }) },
    201,
    'invalid_response: not a subject token',
  ],
  [
    'no number of what was stopped',
    (client) => client.stop({ id: ID }),
    { api: respond(200, { revoked: '1' }) },
    200,
    'invalid_response: not a number of records',
  ],
  ...[exchange, onBehalfOf].flatMap(
    (call) =>
      [
        [
          'no token',
          call,
          { token: respond(200, { quoted: 'sub_x' }) },
          200,
          'invalid_response: not a token',
        ],
        [
          'no refusal',
          call,
          { token: respond(502, { quoted: 'sub_x' }) },
          502,
          'invalid_response: HTTP status 502',
        ],
      ] as const,
  ),
  [
    'a token without its life',
    exchange,
    { token: respond(200, { access_token: 'a', token_type: 'Bearer' }) },
    200,
    'invalid_response: a token without expires_in',
  ],
  [
    'metadata of another issuer',
    exchange,
    { metadata: () => ({ issuer: 'https://id.example.com/oidc/' }) },
    200,
    `${DISCOVERY} another issuer: expected "{issuer}", got "https://id.example.com/oidc/"`,
  ],
  [
    'metadata with the issuer in another spelling',
    exchange,
    { metadata: (issuer) => ({ issuer: issuer.replace('http', 'HTTP') }) },
    200,
    `${DISCOVERY} another issuer: expected "{issuer}", got "HTTP{rest}"`,
  ],
]

describe('client: errors', () => {
  for (const [title, call, script, status, message, requests] of told) {
    it(`name what is wrong with a response: ${title}`, () =>
      withStandIn(script, async (client, { issuer, apiRequests }) => {
        const error = await errorOf(call(client))
        const text = message.replaceAll('{issuer}', issuer).replace('{rest}', issuer.replace('http', ''))
        expect([error.status, String(error)]).to.deep.equal([status, `ImpersonationError: ${text}`])
        if (requests !== undefined) expect(apiRequests).to.have.length(requests)
      }))
  }

  it('come of a token endpoint that is not protected, which is sent nothing', async () => {
    for (const token_endpoint of [
      undefined,
      'http://id.example.com/oidc/token',
      'http://127.0.0.1:9/token',
      'https://user:password@id.example.com/token',
    ]) {
      const { client, sent } = connect({ metadata: { token_endpoint } })
      expect(await errorOf(exchange(client))).to.include({ status: 200, code: 'invalid_response' })
      expect(sent.map(({ url }) => url)).to.deep.equal([METADATA])
    }
  })

  it('pass on what the metadata are refused with', async () => {
    const refusal = { error: 'temporarily_unavailable', error_description: 'later' }
    const { client } = connect({}, { fetch: async () => Response.json(refusal, { status: 503 }) })
    const description = `discovery at ${METADATA}: later`
    expect(await errorOf(exchange(client))).to.include({ status: 503, code: refusal.error, description })
  })

  it('name the code of a connection that failed', async () => {
    const [client, { issuer }] = await withStandIn({}, async (...both) => both)
    const error = await errorOf(exchange(client))
    const url = `${issuer}/.well-known/openid-configuration`
    expect(String(error)).to.equal(
      `ImpersonationError: no_answer: discovery at ${url}: the request failed with ECONNREFUSED`,
    )
    expect(error.status).to.equal(0)
  })

  for (const [thrown, description] of [
    [{ code: 'EPROTO' }, 'the request failed with EPROTO'],
    [{ code: 'EPIPE', cause: { code: 'EPROTO' } }, 'the request failed with EPIPE'],
    [{ code: 7, cause: { code: 'UND_ERR_SOCKET' } }, 'the request failed with UND_ERR_SOCKET'],
    ...[undefined, 'sub_x', {}, { message: 'EPROTO' }].map(
      (thrown) => [thrown, 'the request failed'] as const,
    ),
    // None of these is a code of the system, and each may quote what was sent.
    ...['sub_x', 'EPROTO for sub_x', 'sub_x: EPROTO', '', ['EPROTO']].map(
      (code) => [{ code }, 'the request failed'] as const,
    ),
  ] as const) {
    it(`repeat the code of the system only, of ${inspect(thrown)}`, async () => {
      const { client } = connect({}, { fetch: () => Promise.reject(thrown) })
      expect(await errorOf(exchange(client))).to.include({
        status: 0,
        code: 'no_answer',
        description: `discovery at ${METADATA}: ${description}`,
      })
    })
  }
})
