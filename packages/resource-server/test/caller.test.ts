/** Who calls, for whom, and through what (RFC 8693 §4.1). */
import { expect } from 'chai'
import { assertInPerson } from '../src/index.ts'
import { type Changes, claimsOf, INTROSPECTION, NOW, signAnything, withBearer } from './issuer.ts'
import { expectInvalidToken, refusalOf } from './refusals.ts'
import { useIssuer } from './stopped-issuer.ts'

/** The `act` of these, newest first. The names of APIs end with their kind. */
const actOf = ([sub, ...earlier]: readonly string[]): object | undefined =>
  sub === undefined ? undefined : { sub, ...(isApi(sub) && { client_id: sub }), act: actOf(earlier) }
const isApi = (name: string) => name.endsWith('-api')

const KINDS = ['JWT', 'opaque token'] as const

describe('resource server: the caller', () => {
  const { issuer, verify } = useIssuer({ introspection: { clientId: 'api', clientSecret: 'secret' } })
  before(() => issuer.publish())

  /** The caller by a token that says so itself, or of which introspection says so. */
  const callerOf = async (claims: Changes, kind: (typeof KINDS)[number] = 'JWT') => {
    if (kind === 'JWT') return verify(withBearer(await issuer.token(claims)))
    issuer.introspects(claims)
    return verify(withBearer('opaque'))
  }
  const statusAt = (uri: string) => ({ status_list: { idx: 7, uri } })

  const rows: [title: string, links: readonly string[], hasStatus?: boolean][] = [
    ['the user', []],
    ['an engineer', ['bob']],
    ['an engineer for another one', ['bob', 'carol', 'dave']],
    ['the user through an API', ['orders-api']],
    ['the user through two APIs', ['billing-api', 'orders-api']],
    ['an engineer through two APIs', ['billing-api', 'orders-api', 'bob']],
    ['an impersonation without actor', [], true],
    ['an impersonation without actor through an API', ['orders-api'], true],
    ['people and APIs in turn', ['bob', 'orders-api', 'carol', 'billing-api']],
  ]
  for (const kind of KINDS) {
    it(`is whose token it is, by the ${kind}`, async () => {
      const { jti: _, ...claims } = { ...claimsOf(issuer.issuer), ticket: 'T-1' }
      const id = kind === 'JWT' ? { jti: 'a-token' } : {}
      expect(await callerOf({ ticket: 'T-1', ...id }, kind)).to.deep.equal({
        user: 'alice',
        actors: [],
        through: [],
        impersonated: false,
        readOnly: false,
        clientId: 'spa',
        scopes: ['orders:read', 'orders:write'],
        expiresAt: NOW + 600,
        ...(kind === 'JWT' && { tokenId: 'a-token' }),
        claims: { ...claims, ...id },
      })
    })

    for (const [title, links, hasStatus = false] of rows) {
      it(`recognises ${title}, by the ${kind}`, async () => {
        const status = hasStatus ? statusAt(`${issuer.base}/0`) : undefined
        const caller = await callerOf({ act: actOf(links), status }, kind)
        const actors = links.filter((name) => !isApi(name)).map((sub) => ({ sub }))
        const impersonated = hasStatus || actors.length > 0
        expect(caller).to.deep.include({ user: 'alice', actors, through: links.filter(isApi), impersonated })
        expect('actor' in caller ? caller.actor : 'absent').to.deep.equal(actors[0] ?? 'absent')
        if (impersonated) expect((await refusalOf(() => assertInPerson(caller))).status).to.equal(403)
        else expect(() => assertInPerson(caller)).not.to.throw()
      })
    }
  }

  it('is impersonated by the status of an opaque token, which is not looked up: its list may be anywhere, or none', async () => {
    const asked = issuer.asked.length
    for (const status of [statusAt(`${issuer.base}/1`), statusAt('https://other.example.com/0'), {}])
      expect(await callerOf({ status }, 'opaque token')).to.deep.include({ impersonated: true, actors: [] })
    expect(issuer.asked.slice(asked).filter((path) => path !== INTROSPECTION)).to.deep.equal([])
  })

  it('follows a chain as long as a token can hold', async () => {
    const people = Array.from({ length: 500 }, (_, link) => `p${link}`)
    const { actors } = await callerOf({ act: actOf(people) })
    expect(actors).to.deep.equal(people.map((sub) => ({ sub })))
  })

  const malformed: [title: string, act: unknown][] = [
    ['null', null],
    ['text', 'bob'],
    ['an array', [{ sub: 'bob' }]],
    ['false', false],
    ['empty', {}],
    ['without sub', { act: { sub: 'bob' } }],
    ['with an empty sub', { sub: '' }],
    ['whose sub is a number', { sub: 7 }],
    ['with a member that is not known', { sub: 'bob', iss: 'https://other.example.com' }],
    ['with claims that are none of an actor', { sub: 'bob', exp: 1 }],
    ['with a client that is another', { sub: 'bob', client_id: 'orders' }],
    ['with an empty client', { sub: 'bob', client_id: '' }],
    ['whose client is null', { sub: 'bob', client_id: null }],
    ['whose client is an object', { sub: 'bob', client_id: {} }],
    ['nested and null', { sub: 'bob', act: null }],
    ['nested and malformed', { sub: 'bob', act: { sub: 'carol', act: {} } }],
    ['nested in an API and malformed', { sub: 'orders', client_id: 'orders', act: { sub: '' } }],
  ]
  for (const [title, act] of malformed) {
    it(`refuses an act that is ${title}`, async () => {
      for (const kind of KINDS) await expectInvalidToken(callerOf({ act }, kind), 'act is malformed')
    })
  }

  it('refuses an act with a member of a prototype', async () => {
    const text = JSON.stringify({ ...claimsOf(issuer.issuer), act: { sub: 'bob' } })
    const [before, after] = text.split('"sub":"bob"')
    const jwt = signAnything({}, `${before}"__proto__":{"sub":"carol"},"sub":"bob"${after}`)
    await expectInvalidToken(verify(withBearer(jwt)), 'act is malformed')
  })

  it('refuses times that are no finite numbers', async () => {
    for (const member of ['exp', 'iat']) {
      const text = JSON.stringify({ ...claimsOf(issuer.issuer), [member]: 1 })
      const jwt = signAnything({}, text.replace(`"${member}":1`, `"${member}":1e999`))
      await expectInvalidToken(verify(withBearer(jwt)), member)
    }
  })
})
