/** What the errors of the client say, for a log. */
import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { json, startStandIn } from '../../../fixtures/stand-in.ts'
import { createImpersonationClient, type ImpersonationClient, ImpersonationError } from '../src/index.ts'

type Script = Parameters<typeof startStandIn>[0]
type Try = (client: ImpersonationClient) => Promise<unknown>

const ID = '0'.repeat(32)
const credentials = { clientId: 'backend', clientSecret: 'backend-secret' }

const get: Try = (client) => client.get(ID)
const issue: Try = (client) => client.issue({ userId: 'alice' })
const exchange: Try = (client) => client.exchange({ subjectToken: 'sub_x' })

const respond =
  (status: number, body: unknown, headers = {}) =>
  (response: ServerResponse) =>
    json(response, status, body, headers)
const page = (response: ServerResponse) => void response.writeHead(200).end('<html>')

async function errorOf(promise: Promise<unknown>): Promise<ImpersonationError> {
  const error = await promise.catch((thrown: unknown) => thrown)
  expect(error).to.be.instanceOf(ImpersonationError)
  return error as ImpersonationError
}

const told: [title: string, call: Try, script: Script, status: number, message: string][] = [
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
  [
    'the same page again',
    async (client) => {
      for await (const _ of client.list()) expect.fail('a record')
    },
    { api: respond(200, { items: [], nextCursor: 'c' }) },
    200,
    'invalid_response: a list without end',
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
  ['no token', exchange, { token: respond(200, {}) }, 200, 'invalid_response: not a token'],
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
    'invalid_response: discovery at {issuer}/.well-known/openid-configuration: another issuer: expected "{issuer}", got "https://id.example.com/oidc/"',
  ],
  [
    'metadata with the issuer in another spelling',
    exchange,
    { metadata: (issuer) => ({ issuer: issuer.replace('http', 'HTTP') }) },
    200,
    'invalid_response: discovery at {issuer}/.well-known/openid-configuration: another issuer: expected "{issuer}", got "HTTP{rest}"',
  ],
]

describe('client: errors', () => {
  for (const [title, call, script, status, message] of told) {
    it(`name what is wrong with a response: ${title}`, async () => {
      const standIn = await startStandIn(script)
      try {
        const error = await errorOf(
          call(createImpersonationClient({ issuer: standIn.issuer, ...credentials })),
        )
        const text = message
          .replaceAll('{issuer}', standIn.issuer)
          .replace('{rest}', standIn.issuer.replace('http', ''))
        expect([error.status, String(error)]).to.deep.equal([status, `ImpersonationError: ${text}`])
      } finally {
        await standIn.close()
      }
    })
  }

  it('pass on what the metadata are refused with', async () => {
    const refusal = { error: 'temporarily_unavailable', error_description: 'later' }
    const client = createImpersonationClient({
      ...{ issuer: 'https://id.example.com/oidc', ...credentials },
      fetch: async () => Response.json(refusal, { status: 503 }),
    })
    const error = await errorOf(exchange(client))
    const description = 'discovery at https://id.example.com/oidc/.well-known/openid-configuration: later'
    expect(error).to.include({ status: 503, code: refusal.error, description })
  })

  it('name the code of a connection that failed', async () => {
    const standIn = await startStandIn()
    await standIn.close()
    const error = await errorOf(
      exchange(createImpersonationClient({ issuer: standIn.issuer, ...credentials })),
    )
    const url = `${standIn.issuer}/.well-known/openid-configuration`
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
      const client = createImpersonationClient({
        ...{ issuer: 'https://id.example.com/oidc', ...credentials },
        fetch: () => Promise.reject(thrown),
      })
      expect(await errorOf(exchange(client))).to.include({
        status: 0,
        code: 'no_answer',
        description: `discovery at https://id.example.com/oidc/.well-known/openid-configuration: ${description}`,
      })
    })
  }
})
