/** Who calls, for whom, and through what (RFC 8693 §4.1). */
import { expect } from 'chai'
import { assertInPerson, type Verifier } from '../src/index.ts'
import {
  type Changes,
  claimsOf,
  INTROSPECTION,
  respondJson,
  signAnything,
  startIssuer,
  type TestIssuer,
  withBearer,
} from './issuer.ts'
import { expectInvalidToken, refusalOf } from './refusals.ts'

const person = (sub: string, act?: object) => ({ sub, ...(act && { act }) })
const api = (id: string, act?: object) => ({ sub: id, client_id: id, ...(act && { act }) })

const KINDS = ['JWT', 'opaque token'] as const

describe('resource server: the caller', () => {
  let issuer: TestIssuer
  let verify: Verifier
  before(async () => {
    issuer = await startIssuer()
    verify = issuer.verifier({ introspection: { clientId: 'api', clientSecret: 'secret' } })
    await issuer.publish()
  })
  after(() => issuer.close())

  /** The caller by a token that says so itself, or of which introspection says so. */
  const callerOf = async (claims: Changes, kind: (typeof KINDS)[number] = 'JWT') => {
    if (kind === 'JWT') return verify(withBearer(await issuer.token(claims)))
    issuer.routes.set(INTROSPECTION, (_, response) =>
      respondJson(response, { ...claimsOf(issuer.issuer), active: true, token_type: 'Bearer', ...claims }),
    )
    return verify(withBearer('opaque'))
  }
  const statusAt = (uri: string) => ({ status_list: { idx: 7, uri } })

  interface Row {
    readonly title: string
    readonly act?: object
    readonly people?: readonly string[]
    readonly through?: readonly string[]
    readonly hasStatus?: boolean
    readonly impersonated: boolean
  }
  const rows: readonly Row[] = [
    { title: 'the user', impersonated: false },
    { title: 'an engineer', act: person('bob'), people: ['bob'], impersonated: true },
    {
      title: 'an engineer for another one',
      act: person('bob', person('carol', person('dave'))),
      people: ['bob', 'carol', 'dave'],
      impersonated: true,
    },
    { title: 'the user through an API', act: api('orders'), through: ['orders'], impersonated: false },
    {
      title: 'the user through two APIs',
      act: api('billing', api('orders')),
      through: ['billing', 'orders'],
      impersonated: false,
    },
    {
      title: 'an engineer through two APIs',
      act: api('billing', api('orders', person('bob'))),
      people: ['bob'],
      through: ['billing', 'orders'],
      impersonated: true,
    },
    { title: 'an impersonation without actor', hasStatus: true, impersonated: true },
    {
      title: 'an impersonation without actor through an API',
      act: api('orders'),
      through: ['orders'],
      hasStatus: true,
      impersonated: true,
    },
    {
      title: 'people and APIs in turn',
      act: person('bob', api('orders', person('carol', api('billing')))),
      people: ['bob', 'carol'],
      through: ['orders', 'billing'],
      impersonated: true,
    },
  ]
  for (const kind of KINDS) {
    for (const { title, act, people = [], through = [], hasStatus, impersonated } of rows) {
      it(`recognises ${title}, by the ${kind}`, async () => {
        const status = hasStatus && statusAt(`${issuer.base}/0`)
        const caller = await callerOf({ act, status }, kind)
        const actors = people.map((sub) => ({ sub }))
        const [actor] = actors
        expect(caller).to.deep.include({ user: 'alice', actors, through, impersonated })
        expect('actor' in caller ? caller.actor : 'absent').to.deep.equal(actor ?? 'absent')
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
    let act: object | undefined
    for (let link = 0; link < 500; link += 1) act = person(`p${link}`, act)
    const { actors, actor } = await callerOf({ act })
    expect(actors).to.have.length(500)
    expect(actor).to.deep.equal({ sub: 'p499' })
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
    ['nested in an API and malformed', api('orders', { sub: '' })],
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
