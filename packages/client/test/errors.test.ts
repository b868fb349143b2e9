/** What the errors of the client say, for a log. */
import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { freePort } from '../../../fixtures/server-process.ts'
import type { ImpersonationClient } from '../src/index.ts'
import { connect, errorOf, ID, ISSUER, METADATA, useStandIns } from './calling.ts'

type Try = (client: ImpersonationClient) => Promise<unknown>

const get: Try = (client) => client.get(ID)
const issue: Try = (client) => client.issue({ userId: 'alice' })
const stop: Try = (client) => client.stop({ id: ID })
const acknowledge: Try = (client) => client.acknowledge(ID, { by: 'dora', note: 'a double click' })
const exchange: Try = (client) => client.exchange({ subjectToken: 'sub_x' })
const onBehalfOf: Try = (client) => client.onBehalfOf({ subjectToken: 'sub_x', resource: 'urn:billing' })

/** A status, a body (a text as it is, all else as JSON), and headers. */
type Reply = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>]

const ISSUED = { subjectToken: `sub_${'a'.repeat(65)}`, expiresIn: 600 }
const issuedAt = (location?: string): Reply => [201, ISSUED, location === undefined ? {} : { location }]
const listPage: Try = (client) => client.listPage()
const read = async (client: ImpersonationClient, cursor?: string) => {
  for await (const _ of client.list({ cursor })) expect.fail('a record')
}
const readOn: Try = (client) => read(client, 'c0')
/** Pages without records, each with its next cursor. */
const pages = (...cursors: unknown[]): Reply[] =>
  cursors.map((nextCursor) => [200, { items: [], nextCursor }])

/** What comes, to which call, one reply after the other; and what its error says is wrong with the last one. */
const told: readonly (readonly [title: string, call: Try, replies: readonly Reply[], wrong: string])[] = [
  ['the page of something that stands between', get, [[502, '<html>']], 'HTTP status 502'],
  ['a refusal without a code', get, [[400, { error: '', error_description: 'no' }]], 'HTTP status 400'],
  ['a list as a refusal', issue, [[400, ['invalid_request']]], 'HTTP status 400'],
  ['a page instead of a record', get, [[200, '<html>']], 'not JSON'],
  ['another record', get, [[200, { id: '1'.repeat(32) }]], 'not this record'],
  ['no records', listPage, [[200, { items: 'none' }]], 'not a page of records'],
  ['a number as cursor', read, pages(5), 'not a page of records'],
  ['an empty cursor', read, pages(''), 'not a page of records'],
  ['null as cursor', read, pages(null), 'not a page of records'],
  ['the cursor that was sent', read, pages('c1', 'c1'), 'a list without end'],
  ['an earlier cursor', read, pages('c1', 'c2', 'c1'), 'a list without end'],
  ['the first cursor again', readOn, pages('c0'), 'a list without end'],
  ['a subject token at no address', issue, [issuedAt()], 'not a subject token'],
  ...[ID, `/x/${ID}?y#z`, '/x/', `/x/a%2F${ID}`, `/x/${ID}0`, '/x/summary', `/x/${'A'.repeat(32)}`].map(
    (location) =>
      [`a subject token at ${location}`, issue, [issuedAt(location)], 'not a subject token'] as const,
  ),
  ['no subject token', issue, [[201, { expiresIn: 1 }, { location: `/x/${ID}` }]], 'not a subject token'],
  [
    'a subject token whose life is text',
    issue,
    [[201, { ...ISSUED, expiresIn: '600' }, { location: `/${ID}` }]],
    'not a subject token',
  ],
  ['a subject token and something behind it', issue, [[201, `${JSON.stringify(ISSUED)}x`]], 'not JSON'],
  ['a record in place of nothing', acknowledge, [[200, { id: ID }]], 'not an acknowledgement'],
  ['no number of what was stopped', stop, [[200, { revoked: '1' }]], 'not a number of records'],
  [
    'a token without its life',
    exchange,
    [[200, { access_token: 'a', token_type: 'Bearer' }]],
    'a token without expires_in',
  ],
  ...[exchange, onBehalfOf].flatMap(
    (call) =>
      [
        ['no token', call, [[200, { quoted: 'sub_x' }]], 'not a token'],
        ['no refusal', call, [[502, { quoted: 'sub_x' }]], 'HTTP status 502'],
      ] as const,
  ),
]

describe('client: errors', () => {
  const connectTo = useStandIns()
  for (const [title, call, replies, wrong] of told) {
    it(`name what is wrong with a response: ${title}`, async () => {
      const left = [...replies]
      const reply = (response: ServerResponse) => {
        const [status, body, headers] = left.shift() ?? [500, '']
        response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
      }
      const isOfToken = call === exchange || call === onBehalfOf
      const { client } = await connectTo(isOfToken ? { token: reply } : { api: reply })
      const error = await errorOf(call(client))
      expect(String(error)).to.equal(`ImpersonationError: invalid_response: ${wrong}`)
      expect(error.status).to.equal(replies.at(-1)?.[0])
      expect(left).to.deep.equal([])
    })
  }

  it('name the code of a refusal without a description', async () => {
    const { client } = connect({ api: () => Response.json({ error: 'server_error' }, { status: 500 }) })
    const error = await errorOf(get(client))
    expect([error.status, String(error)]).to.deep.equal([
      500,
      'ImpersonationError: server_error: HTTP status 500',
    ])
  })

  for (const issuer of [`${ISSUER}/`, ISSUER.replace('https', 'HTTPS')]) {
    it(`name the issuer of the metadata, which is another: ${issuer}`, async () => {
      const { client } = connect({ metadata: { issuer } })
      const wrong = `another issuer: expected "${ISSUER}", got "${issuer}"`
      const error = await errorOf(exchange(client))
      expect(error.status).to.equal(200)
      expect(String(error)).to.equal(
        `ImpersonationError: invalid_response: discovery at ${METADATA}: ${wrong}`,
      )
    })
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
    const issuer = `http://127.0.0.1:${await freePort()}/oidc`
    const { client } = connect({}, { issuer, fetch })
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
