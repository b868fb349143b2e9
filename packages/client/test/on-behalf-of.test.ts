/** `onBehalfOf` of the client: what an API sends for the token it received, and what its errors hold. */
import { expect } from 'chai'
import { json, type StandIn, startStandIn } from '../../../fixtures/stand-in.ts'
import { createImpersonationClient } from '../src/index.ts'
import { errorOf, type Script, shownOf, withStandIn } from './calling.ts'

const RECEIVED = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl-_'
const REQUEST = { subjectToken: RECEIVED, resource: 'https://billing.example.com' }
const SECRET = 'orders+secret'

describe('client: onBehalfOf', () => {
  let standIn: StandIn
  const opened: StandIn[] = []
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close()
  })

  async function connect(script: Script = {}) {
    standIn = await startStandIn(script)
    opened.push(standIn)
    return createImpersonationClient({
      issuer: standIn.issuer,
      clientId: 'orders-api',
      clientSecret: SECRET,
    })
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
    const error = await errorOf(client.onBehalfOf(REQUEST))
    expect([error.status, error.code]).to.deep.equal([400, 'invalid_request'])
    const shown = shownOf(error)
    expect(shown).to.include('subject_token=…')
    const basic = btoa(`orders%2Dapi:${encodeURIComponent(SECRET)}`)
    for (const secret of [RECEIVED, encodeURIComponent(RECEIVED), SECRET, basic])
      expect(shown).not.to.include(secret)
    expect(shown).not.to.include('eyJ').and.not.include('c2lnbmF0dXJl')
    expect(error).not.to.have.property('cause')
  })

  it('rejects without the token when the response is none, or no token', async () => {
    const scripts: [script: Script, status: number, code: string][] = [
      [{ token: (response) => json(response, 502, { quoted: RECEIVED }) }, 502, 'invalid_response'],
      [{ token: (response) => json(response, 200, { quoted: RECEIVED }) }, 200, 'invalid_response'],
      [{ token: (response) => void response.destroy() }, 0, 'no_answer'],
    ]
    for (const [script, status, code] of scripts) {
      const error = await withStandIn(script, (client) => errorOf(client.onBehalfOf(REQUEST)))
      expect([error.status, error.code]).to.deep.equal([status, code])
      expect(shownOf(error)).not.to.include(RECEIVED)
    }
  })
})
