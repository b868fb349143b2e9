/** Opaque tokens: what the provider says of them (RFC 7662), and what it may say and is not believed. */
import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { dpopKey } from '../../../fixtures/dpop.ts'
import { AUDIENCE, type Changes, formOf, INTROSPECTION, NOW, respondJson, withBearer } from './issuer.ts'
import { expectInvalidToken, outcomeOf } from './refusals.ts'
import { useIssuer } from './stopped-issuer.ts'

const introspection = { clientId: 'orders api', clientSecret: 'a:b+c/ü' }

describe('resource server: opaque tokens', () => {
  const { issuer, verify } = useIssuer({ introspection })
  beforeEach(() => {
    issuer.asked.length = 0
    issuer.introspects()
  })

  it('asks the provider as the client', async () => {
    const requests: { method?: string; headers: IncomingMessage['headers']; form: URLSearchParams }[] = []
    issuer.routes.set(INTROSPECTION, async (request, response) => {
      requests.push({ method: request.method, headers: request.headers, form: await formOf(request) })
      respondJson(response, { active: false })
    })
    await expectInvalidToken(verify(withBearer('an-opaque_token')), 'not active')
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
    issuer.introspects({ active: false })
    await expectInvalidToken(verify(withBearer('opaque')), 'not active')
    expect(issuer.timesAsked(INTROSPECTION)).to.equal(2)
  })

  it("takes a client's own token, which names no subject, for the client's", async () => {
    issuer.introspects({ sub: undefined, client_id: 'batch' })
    expect(await verify(withBearer('opaque'))).to.include({ user: 'batch', clientId: 'batch' })
  })

  it('holds a bound token to its proof', async () => {
    issuer.introspects({ token_type: 'DPoP', cnf: { jkt: (await dpopKey()).thumbprint } })
    await expectInvalidToken(verify(withBearer('opaque')), 'presented as Bearer')
    issuer.introspects({ cnf: { 'x5t#S256': 'a-certificate' } })
    await expectInvalidToken(verify(withBearer('opaque')), 'cannot be proven')
  })

  it('does not ask for a status that JWTs need', async () => {
    issuer.introspects({ act: { sub: 'bob' } })
    const strict = issuer.verifier({ introspection, requireStatus: true })
    expect(await strict(withBearer('opaque'))).to.include({ impersonated: true })
  })

  it('lets the clocks differ as the option says', async () => {
    const tolerant = issuer.verifier({ introspection, clockTolerance: 30 })
    for (const [changes, outcome] of [
      [{ exp: NOW - 29 }, 'valid'],
      [{ exp: NOW - 30 }, 'expired'],
      [{ nbf: NOW + 30 }, 'valid'],
      [{ nbf: NOW + 31 }, 'not yet valid'],
    ] as const) {
      issuer.introspects(changes)
      expect(await outcomeOf(tolerant(withBearer('opaque')))).to.equal(outcome)
    }
  })

  const tokens: [title: string, changes: Changes, refused?: string][] = [
    ['for several APIs', { aud: ['https://other.example.com', AUDIENCE] }],
    ['without issuer', { iss: undefined }],
    ['valid from now on', { nbf: NOW }],
    ['of the type bearer', { token_type: 'bearer' }],
    ['of the type BEARER', { token_type: 'BEARER' }],
    ['that is not active', { active: false }, 'not active'],
    ['that is nearly active', { active: 'true' }, 'not active'],
    ['without word of it', { active: undefined }, 'not active'],
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
    ['whose nbf is null', { nbf: null }, 'not yet valid'],
    ['from the future', { iat: NOW + 61 }, 'iat'],
    ['without client', { client_id: undefined }, 'client_id'],
  ]
  for (const token_type of [undefined, '', 'Bearers', 'notbearer', 'N_A', 'dpop '])
    tokens.push([`of the type ${token_type}`, { token_type }, 'not an access token'])
  for (const [title, changes, refused] of tokens) {
    it(`${refused ? 'refuses' : 'takes'} one ${title}`, async () => {
      issuer.introspects(changes)
      const attempt = verify(withBearer('opaque'))
      if (refused) await expectInvalidToken(attempt, refused)
      else expect(await attempt).to.include({ user: 'alice' })
    })
  }

  it('refuses all of them without the option, and asks no one', async () => {
    await expectInvalidToken(issuer.verifier()(withBearer('opaque')), 'no option introspection')
    expect(issuer.asked).to.deep.equal([])
  })

  it('does not bother the provider with what is too long for a token', async () => {
    await expectInvalidToken(verify(withBearer('x'.repeat(2049))), 'too long')
    expect(issuer.timesAsked(INTROSPECTION)).to.equal(0)
    expect(await verify(withBearer('x'.repeat(2048)))).to.include({ user: 'alice' })
  })

  it('never sends a JWT to introspection', async () => {
    await expectInvalidToken(verify(withBearer('a.b.c')))
    expect(issuer.timesAsked(INTROSPECTION)).to.equal(0)
  })
})
