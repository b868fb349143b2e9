/** Opaque tokens: what the provider says of them (RFC 7662), and what it may say and is not believed. */
import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { dpopKey } from '../../../fixtures/dpop.ts'
import { assertInPerson, type Verifier } from '../src/index.ts'
import {
  AUDIENCE,
  type Changes,
  formOf,
  INTROSPECTION,
  METADATA,
  NOW,
  respond,
  respondJson,
  startIssuer,
  withBearer,
} from './issuer.ts'
import { expectInvalidToken, expectUnavailable, refusalOf } from './refusals.ts'
import { type StoppedIssuer, startStoppedIssuer } from './stopped-issuer.ts'

const introspection = { clientId: 'orders api', clientSecret: 'a:b+c/ü' }

describe('resource server: opaque tokens', () => {
  let issuer: StoppedIssuer
  let verify: Verifier
  let requests: { method?: string; headers: IncomingMessage['headers']; form: URLSearchParams }[]
  before(async () => {
    issuer = await startStoppedIssuer()
    verify = issuer.verifier({ introspection })
  })
  after(() => issuer.close())
  beforeEach(() => {
    requests = []
    respondWith({})
  })

  const active = () => ({
    active: true,
    token_type: 'Bearer',
    iss: issuer.issuer,
    aud: AUDIENCE,
    sub: 'alice',
    client_id: 'spa',
    scope: 'orders:read',
    iat: NOW,
    exp: NOW + 600,
  })
  const respondWith = (changes: Changes) => {
    issuer.routes.set(INTROSPECTION, async (request, response) => {
      requests.push({ method: request.method, headers: request.headers, form: await formOf(request) })
      respondJson(response, { ...active(), ...changes })
    })
  }

  it('asks the provider as the client, and shows whose token it is', async () => {
    respondWith({ ticket: 'T-1' })
    const caller = await verify(withBearer('an-opaque_token'))
    const { active: _, token_type: __, ...claims } = active()
    expect(caller).to.deep.equal({
      user: 'alice',
      actors: [],
      through: [],
      impersonated: false,
      clientId: 'spa',
      scopes: ['orders:read'],
      expiresAt: NOW + 600,
      claims: { ...claims, ticket: 'T-1' },
    })
    const [{ method, headers, form } = Object()] = requests
    expect(method).to.equal('POST')
    expect(headers['content-type']).to.match(/^application\/x-www-form-urlencoded/)
    expect(headers.accept).to.equal('application/json')
    expect(Object.fromEntries(form)).to.deep.equal({
      token: 'an-opaque_token',
      token_type_hint: 'access_token',
    })
    const basic = Buffer.from(String(headers.authorization).slice('Basic '.length), 'base64').toString()
    // RFC 6749 §2.3.1
    expect(basic).to.equal('orders+api:a%3Ab%2Bc%2F%C3%BC')
  })

  it('asks for every request anew', async () => {
    await verify(withBearer('opaque'))
    respondWith({ active: false })
    await expectInvalidToken(verify(withBearer('opaque')), 'not active')
    expect(requests).to.have.length(2)
  })

  it('recognises who acts, and an impersonation without actor by its status, which it does not look up', async () => {
    respondWith({ act: { sub: 'bob' } })
    expect(await verify(withBearer('opaque'))).to.deep.include({ impersonated: true, actor: { sub: 'bob' } })
    respondWith({ status: { status_list: { idx: 1, uri: `${issuer.base}/0` } } })
    expect(await verify(withBearer('opaque'))).to.deep.include({ impersonated: true, actors: [] })
    // At another base than the API expects, or in a form that cannot be looked up: it is a mark all the same.
    for (const status of [{ status_list: { idx: 1, uri: 'https://other.example.com/0' } }, {}]) {
      respondWith({ status })
      const caller = await verify(withBearer('opaque'))
      expect(caller).to.deep.include({ impersonated: true, actors: [] })
      expect((await refusalOf(() => assertInPerson(caller))).status).to.equal(403)
    }
    expect(issuer.asked.filter((path) => path.includes('status-lists'))).to.deep.equal([])
  })

  it('tells people from APIs, newest first', async () => {
    const act = {
      ...{ sub: 'billing', client_id: 'billing' },
      act: { sub: 'orders', client_id: 'orders', act: { sub: 'bob', act: { sub: 'carol' } } },
    }
    respondWith({ act })
    const caller = await verify(withBearer('opaque'))
    expect(caller).to.deep.include({
      user: 'alice',
      actor: { sub: 'bob' },
      actors: [{ sub: 'bob' }, { sub: 'carol' }],
      through: ['billing', 'orders'],
      impersonated: true,
    })
    expect((await refusalOf(() => assertInPerson(caller))).status).to.equal(403)
  })

  it('takes a user whose token came through an API for the user', async () => {
    respondWith({ act: { sub: 'orders', client_id: 'orders' } })
    const caller = await verify(withBearer('opaque'))
    expect(caller).to.deep.include({ actors: [], through: ['orders'], impersonated: false })
    expect(() => assertInPerson(caller)).not.to.throw()
    respondWith({
      act: { sub: 'orders', client_id: 'orders' },
      status: { status_list: { idx: 1, uri: `${issuer.base}/0` } },
    })
    const behind = await verify(withBearer('opaque'))
    expect(behind).to.deep.include({ actors: [], through: ['orders'], impersonated: true })
    expect((await refusalOf(() => assertInPerson(behind))).body.error).to.equal('access_denied')
  })

  it("takes a client's own token, which names no subject, for the client's", async () => {
    respondWith({ sub: undefined, client_id: 'batch' })
    expect(await verify(withBearer('opaque'))).to.include({ user: 'batch', clientId: 'batch' })
  })

  it('holds a bound token to its proof', async () => {
    respondWith({ token_type: 'DPoP', cnf: { jkt: (await dpopKey()).thumbprint } })
    await expectInvalidToken(verify(withBearer('opaque')), 'presented as Bearer')
    respondWith({ cnf: { 'x5t#S256': 'a-certificate' } })
    await expectInvalidToken(verify(withBearer('opaque')), 'cannot be proven')
  })

  it('does not ask for a status that JWTs need', async () => {
    respondWith({ act: { sub: 'bob' } })
    const strict = issuer.verifier({ introspection, requireStatus: true })
    expect(await strict(withBearer('opaque'))).to.include({ impersonated: true })
  })

  it('takes several audiences, and a response without issuer', async () => {
    respondWith({ aud: ['https://other.example.com', AUDIENCE], iss: undefined })
    expect(await verify(withBearer('opaque'))).to.include({ user: 'alice' })
  })

  const refused: [title: string, changes: Changes, reason: string][] = [
    ['that is not active', { active: false }, 'not active'],
    ['that is nearly active', { active: 'true' }, 'not active'],
    ['without word of it', { active: undefined }, 'not active'],
    ['that is a refresh token', { token_type: undefined }, 'not an access token'],
    ['of a type that is not known', { token_type: 'N_A' }, 'not an access token'],
    [
      'of another issuer',
      { iss: 'https://other.example.com' },
      'another issuer: expected .+ got "https://other.example.com"$',
    ],
    [
      'for another API',
      { aud: 'https://other.example.com' },
      'another API: expected .+ got "https://other.example.com"$',
    ],
    ['for other APIs', { aud: ['https://other.example.com'] }, 'another API'],
    ['for userinfo', { aud: undefined }, 'another API'],
    ['that has expired, by our clock', { exp: NOW }, 'expired'],
    ['without expiry', { exp: undefined }, 'expired'],
    ['whose expiry is text', { exp: '2999' }, 'expired'],
    ['that is not valid yet', { nbf: NOW + 1 }, 'not yet valid'],
    ['whose nbf is text', { nbf: 'now' }, 'not yet valid'],
    ['from the future', { iat: NOW + 61 }, 'iat'],
    ['without client', { client_id: undefined }, 'client_id'],
    ['with a malformed act', { act: {} }, 'act is malformed'],
    [
      'with an API that names itself twice, and differently',
      { act: { sub: 'bob', client_id: 'orders' } },
      'act is malformed',
    ],
    [
      'with a malformed person behind an API',
      { act: { sub: 'orders', client_id: 'orders', act: { sub: 'bob', iss: 'x' } } },
      'act is malformed',
    ],
  ]
  for (const [title, changes, reason] of refused) {
    it(`refuses one ${title}`, async () => {
      respondWith(changes)
      await expectInvalidToken(verify(withBearer('opaque')), reason)
    })
  }

  it('refuses all of them without the option, and asks no one', async () => {
    const asked = issuer.asked.length
    await expectInvalidToken(issuer.verifier()(withBearer('opaque')), 'no option introspection')
    expect(issuer.asked.length).to.equal(asked)
  })

  it('does not bother the provider with what is too long for a token', async () => {
    await expectInvalidToken(verify(withBearer('x'.repeat(2049))), 'too long')
    expect(requests).to.deep.equal([])
    expect(await verify(withBearer('x'.repeat(2048)))).to.include({ user: 'alice' })
  })

  it('never sends a JWT to introspection', async () => {
    await expectInvalidToken(verify(withBearer('a.b.c')))
    expect(requests).to.deep.equal([])
  })

  const broken: [
    title: string,
    respondTo: (response: Parameters<typeof respond>[0]) => void,
    reason: string,
  ][] = [
    ['an error', (response) => respond(response, '', { status: 500 }), 'HTTP status 500'],
    ['wrong credentials', (response) => respond(response, '{}', { status: 401 }), 'HTTP status 401'],
    ['no content', (response) => respond(response, '', { status: 204 }), 'HTTP status 204'],
    [
      'a redirect',
      (response) => respond(response, '', { status: 307, headers: { location: '/elsewhere' } }),
      'HTTP status 307',
    ],
    ['a page', (response) => respond(response, '<html>'), 'not a JSON object'],
    ['an array', (response) => respond(response, '[]'), 'not a JSON object'],
    ['null', (response) => respond(response, 'null'), 'not a JSON object'],
    ['nothing', (response) => respond(response, ''), 'not a JSON object'],
    ['bytes that are no text', (response) => respond(response, Buffer.from([0xff, 0xfe])), 'introspection: '],
    ['too much', (response) => respond(response, `{"a":"${'x'.repeat(300_000)}"}`), 'more than 262144 bytes'],
    [
      'half of it',
      (response) => response.writeHead(200, { 'content-length': 9 }).write('{', () => response.destroy()),
      'introspection: ',
    ],
    ['no response', (response) => response.destroy(), 'introspection: '],
  ]
  for (const [title, respondTo, reason] of broken) {
    it(`is unavailable, and the token not invalid, when the provider responds with ${title}`, async () => {
      issuer.routes.set(INTROSPECTION, (_, response) => respondTo(response))
      await expectUnavailable(verify(withBearer('opaque')), reason)
      expect(issuer.asked).not.to.include('/elsewhere')
    })
  }

  it('is unavailable where the provider has no introspection endpoint, or an unprotected one', async () => {
    for (const introspection_endpoint of [
      undefined,
      7,
      'http://id.example.com/introspection',
      'javascript:x',
      '/x',
    ]) {
      const own = await startIssuer()
      own.routes.set(METADATA, (_, response) =>
        respondJson(response, { issuer: own.issuer, jwks_uri: `${own.issuer}/jwks`, introspection_endpoint }),
      )
      await expectUnavailable(
        own.verifier({ introspection })(withBearer('opaque')),
        'discovery: no usable introspection_endpoint',
      )
      expect(await own.verifier({ introspection })(withBearer(await own.token()))).to.include({
        user: 'alice',
      })
      await own.close()
    }
  })
})
