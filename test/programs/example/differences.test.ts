/** The demo is only as good as the differences that it notices. */
import { expect } from 'chai'
import { differences } from '../../../example/demo/differences.ts'
import { accessToken, exchangeResponse, subjectTokenResponse } from '../../../example/demo/promises.ts'
import { shortened } from '../../../example/demo/shortened.ts'
import { ACCESS_TOKEN_TYPE } from '../../../src/index.ts'

const BASE = 'http://127.0.0.1:3000'
const SUBJECT_TOKEN = `sub_${'a'.repeat(65)}`
const BODY = {
  access_token: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl',
  issued_token_type: ACCESS_TOKEN_TYPE,
  token_type: 'Bearer',
  expires_in: 300,
  scope: 'orders:read payments:read',
}
const { scope: _, ...withoutScope } = BODY
const response = (body: object, other: object = {}) => ({
  ...{ status: 200, cacheControl: 'no-store', body },
  ...other,
})

describe('what the demo notices', () => {
  const ROWS: readonly [what: string, response: object | undefined, difference?: string][] = [
    ['nothing in the response that was promised', response(BODY)],
    ['a wrong value', response({ ...BODY, expires_in: 301 }), '.body.expires_in is 301: it should be 300'],
    ['a wrong type', response({ ...BODY, expires_in: '300' }), '.body.expires_in is "300": it should be 300'],
    [
      'a wrong form',
      response({ ...BODY, access_token: 'opaque' }),
      '.body.access_token is "opaque": it should be a JWT',
    ],
    ['a missing member', response(withoutScope), '.body.scope is missing'],
    ['an extra member', response({ ...BODY, id_token: 'x' }), '.body.id_token should not be there'],
    ['a wrong status', response(BODY, { status: 201 }), '.status is 201: it should be 200'],
    ['a missing header', { status: 200, body: BODY }, '.cacheControl is missing'],
  ]
  for (const [what, given, difference] of ROWS) {
    it(`is ${what}`, () => {
      const told = difference === undefined ? [] : [`exchange${difference}`]
      expect(differences('exchange', given, exchangeResponse)).to.deep.equal(told)
    })
  }

  it('is a response that never came', () => {
    const [said, ...others] = differences('exchange', undefined, exchangeResponse)
    expect(said).to.match(/^exchange is absent: it should be /)
    expect(others).to.deep.equal([])
  })

  it('is a wrong actor, and a token that lives too long', () => {
    const who = {
      baseUrl: BASE,
      userId: 'alice',
      actorId: 'sam',
      clientId: 'desk',
      reason: 'r',
      ticketId: 't',
    }
    const wrong = { life: 301, claims: { act: { sub: 'bob' } } }
    expect(differences('token', wrong, accessToken(who))).to.include.members([
      'token.claims.act.sub is "bob": it should be "sam"',
      'token.life is 301: it should be 300',
    ])
  })

  it('is a Location elsewhere, and no complete token is shown', () => {
    const body = { subjectToken: `x${SUBJECT_TOKEN}`, expiresIn: 600 }
    const wrong = response(body, { status: 201, location: `${BASE}/elsewhere/subject-tokens/1` })
    const found = differences('subject token', wrong, subjectTokenResponse(BASE))
    expect(found).to.have.length(2)
    expect(found.join()).to.include('subject token.location is').and.not.include(SUBJECT_TOKEN)
  })

  it('keeps enough of a token to recognise it, and all of URNs and URLs', () => {
    expect(shortened(`Bearer ${SUBJECT_TOKEN}`)).to.equal('Bearer sub_aaaaaaaa…')
    for (const text of [ACCESS_TOKEN_TYPE, `${BASE}/oidc/token`]) expect(shortened(text)).to.equal(text)
  })
})
