/** The demo is only as good as the differences that it notices. */
import { expect } from 'chai'
import { differences } from '../../../example/demo/differences.ts'
import {
  accessToken,
  exchangeResponse,
  refusedResponse,
  subjectTokenResponse,
} from '../../../example/demo/promises.ts'
import { shortened } from '../../../example/demo/shortened.ts'
import { ACCESS_TOKEN_TYPE } from '../../../src/index.ts'

const BASE = 'http://127.0.0.1:3000'
const SUBJECT_TOKEN = `sub_${'a'.repeat(65)}`

describe('what the demo notices', () => {
  const exchanged = {
    access_token: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl',
    issued_token_type: ACCESS_TOKEN_TYPE,
    token_type: 'Bearer',
    expires_in: 300,
    scope: 'orders:read payments:read',
  }
  const { scope: _, ...withoutScope } = exchanged
  const response = (body: object, other: object = {}) => ({
    status: 200,
    cacheControl: 'no-store',
    body,
    ...other,
  })

  it('passes the response that was promised', () => {
    expect(differences('exchange', response(exchanged), exchangeResponse)).to.deep.equal([])
  })

  for (const [title, wrong, difference] of [
    [
      'a wrong value',
      response({ ...exchanged, expires_in: 301 }),
      'exchange.body.expires_in is 301: it should be 300',
    ],
    [
      'a wrong type',
      response({ ...exchanged, expires_in: '300' }),
      'exchange.body.expires_in is "300": it should be 300',
    ],
    [
      'a wrong form',
      response({ ...exchanged, access_token: 'opaque' }),
      'exchange.body.access_token is "opaque": it should be a JWT',
    ],
    ['a missing member', response(withoutScope), 'exchange.body.scope is missing'],
    [
      'an extra member',
      response({ ...exchanged, id_token: 'x' }),
      'exchange.body.id_token should not be there',
    ],
    ['a wrong status', response(exchanged, { status: 201 }), 'exchange.status is 201: it should be 200'],
    ['a missing header', { status: 200, body: exchanged }, 'exchange.cacheControl is missing'],
  ] as const) {
    it(`notices ${title}`, () => {
      expect(differences('exchange', wrong, exchangeResponse)).to.deep.equal([difference])
    })
  }

  it('notices a response that never came', () => {
    expect(differences('exchange', undefined, refusedResponse)).to.have.length(1)
  })

  it('notices a wrong actor, and a token that lives too long', () => {
    const who = {
      baseUrl: BASE,
      userId: 'alice',
      actorId: 'sam',
      clientId: 'support-desk',
      reason: 'r',
      ticketId: 't',
    }
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: `${BASE}/oidc`,
      aud: `${BASE}/orders-api`,
      sub: 'alice',
      act: { sub: 'bob' },
      client_id: 'support-desk',
      scope: 'orders:read payments:read',
      impersonation: { id: '01980000000000000123456789abcdef', reason: 'r', ticket_id: 't' },
      status: { status_list: { idx: 7, uri: `${BASE}/api/status-lists/0` } },
      jti: '0123456789abcdef'.repeat(2),
      iat: now,
      exp: now + 301,
    }
    const header = { typ: 'at+jwt', alg: 'ES256', kid: 'abcdefgh' }
    expect(differences('token', { header, claims, life: 301 }, accessToken(who))).to.deep.equal([
      'token.claims.act.sub is "bob": it should be "sam"',
      'token.life is 301: it should be 300',
    ])
  })

  it('notices a Location elsewhere, and shows no complete token', () => {
    const wrong = {
      status: 201,
      cacheControl: 'no-store',
      location: `${BASE}/elsewhere/subject-tokens/1`,
      body: { subjectToken: `x${SUBJECT_TOKEN}`, expiresIn: 600 },
    }
    const found = differences('subject token', wrong, subjectTokenResponse(BASE))
    expect(found).to.have.length(2)
    expect(found.join()).to.include('subject token.location is').and.not.include(SUBJECT_TOKEN)
  })
})

describe('shortened', () => {
  it('keeps enough of a token to recognise it', () => {
    expect(shortened(`Bearer ${SUBJECT_TOKEN}`)).to.equal('Bearer sub_aaaaaaaa…')
  })

  it('does not change URNs and URLs', () => {
    expect(shortened(ACCESS_TOKEN_TYPE)).to.equal(ACCESS_TOKEN_TYPE)
    expect(shortened(`${BASE}/oidc/token`)).to.equal(`${BASE}/oidc/token`)
  })
})
