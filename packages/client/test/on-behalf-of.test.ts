/** `onBehalfOf` of the client: what an API sends for the token it received, and what its errors hold. */
import { inspect } from 'node:util'
import { expect } from 'chai'
import { json, type StandIn, startStandIn } from '../../../fixtures/stand-in.ts'
import { createImpersonationClient, ImpersonationError } from '../src/index.ts'

const RECEIVED = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl-_'
const REQUEST = { subjectToken: RECEIVED, resource: 'https://billing.example.com' }
const SECRET = 'orders+secret'

describe('client: onBehalfOf', () => {
  let standIn: StandIn
  afterEach(() => standIn.close())

  async function connect(script: Parameters<typeof startStandIn>[0] = {}) {
    standIn = await startStandIn(script)
    return createImpersonationClient({
      issuer: standIn.issuer,
      clientId: 'orders-api',
      clientSecret: SECRET,
    })
  }

  const refusal = async (promise: Promise<unknown>): Promise<ImpersonationError> => {
    const error = await promise.catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(ImpersonationError)
    return error as ImpersonationError
  }

  it('sends the token that the API received, as itself, and no actor token (RFC 8693 §2.1)', async () => {
    const client = await connect()
    expect(await client.onBehalfOf({ ...REQUEST, scope: 'invoices:read' })).to.deep.equal({
      accessToken: 'token-1',
      expiresIn: 600,
    })
    const [request] = standIn.tokenRequests
    expect([...new URLSearchParams(request?.body)]).to.have.deep.members([
      ['grant_type', 'urn:ietf:params:oauth:grant-type:token-exchange'],
      ['subject_token', RECEIVED],
      ['subject_token_type', 'urn:ietf:params:oauth:token-type:access_token'],
      ['resource', REQUEST.resource],
      ['scope', 'invoices:read'],
    ])
    expect(request?.authorization).to.equal(`Basic ${btoa('orders%2Dapi:orders%2Bsecret')}`)
    expect(standIn.apiRequests).to.deep.equal([])
  })

  it('sends no scope unless one is given, and resolves to what was granted', async () => {
    const answer = { access_token: 'a', token_type: 'Bearer', expires_in: 5, scope: 'invoices:read' }
    const client = await connect({ token: (response) => json(response, 200, answer) })
    expect(await client.onBehalfOf({ ...REQUEST, scope: undefined })).to.deep.equal({
      accessToken: 'a',
      expiresIn: 5,
      scope: 'invoices:read',
    })
    expect(new URLSearchParams(standIn.tokenRequests[0]?.body).has('scope')).to.equal(false)
  })

  it('asks anew each time, because another request may be for another user', async () => {
    const client = await connect()
    const tokens = [await client.onBehalfOf(REQUEST), await client.onBehalfOf(REQUEST)]
    expect(tokens.map(({ accessToken }) => accessToken)).to.deep.equal(['token-1', 'token-2'])
  })

  it('rejects with what the provider says, without the token and the secret, however they are quoted', async () => {
    const client = await connect({
      token: (response, { body, authorization }) =>
        json(response, 400, {
          error: 'invalid_request',
          error_description: `${authorization} and ${body} and ${decodeURIComponent(body)} of ${RECEIVED}`,
        }),
    })
    const error = await refusal(client.onBehalfOf(REQUEST))
    expect([error.status, error.code]).to.deep.equal([400, 'invalid_request'])
    const shown = inspect(error, { depth: 9, showHidden: true })
    expect(shown).to.include('subject_token=…')
    const basic = btoa(`orders%2Dapi:${encodeURIComponent(SECRET)}`)
    for (const secret of [RECEIVED, encodeURIComponent(RECEIVED), SECRET, basic])
      expect(shown).not.to.include(secret)
    expect(shown).not.to.include('eyJ').and.not.include('c2lnbmF0dXJl')
    expect(error).not.to.have.property('cause')
  })

  it('rejects without the token when the response is none, or no token', async () => {
    const script: { status: number; body: object }[] = [
      { status: 502, body: { quoted: RECEIVED } },
      { status: 200, body: { quoted: RECEIVED } },
      { status: 200, body: { access_token: 'a', token_type: 'Bearer' } },
    ]
    for (const { status, body } of script) {
      const client = await connect({ token: (response) => json(response, status, body) })
      const error = await refusal(client.onBehalfOf(REQUEST))
      expect([error.status, error.code]).to.deep.equal([status, 'invalid_response'])
      expect(inspect(error, { depth: 9 })).not.to.include(RECEIVED)
      await standIn.close()
    }
    const client = await connect({ token: (response) => void response.destroy() })
    const error = await refusal(client.onBehalfOf(REQUEST))
    expect([error.status, error.code]).to.deep.equal([0, 'no_answer'])
    expect(inspect(error, { depth: 9 })).not.to.include(RECEIVED)
  })

  it('ends with the signal of the request that it serves', async () => {
    const client = await connect({ token: () => {} })
    const controller = new AbortController()
    const call = client.onBehalfOf(REQUEST, { signal: controller.signal }).catch((thrown: unknown) => thrown)
    controller.abort('the caller has gone')
    expect(await call).to.equal('the caller has gone')
  })

  it('waits and asks once more when the provider says when to', async () => {
    const statuses = [503, 200]
    const client = await connect({
      token: (response) => {
        const status = statuses.shift() ?? 500
        const token = { access_token: 'a', token_type: 'Bearer', expires_in: 5 }
        json(response, status, status === 200 ? token : { error: 'temporarily_unavailable' }, {
          'retry-after': '0',
        })
      },
    })
    expect(await client.onBehalfOf(REQUEST)).to.include({ accessToken: 'a' })
    expect(standIn.tokenRequests).to.have.length(2)
  })
})
