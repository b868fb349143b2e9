/** What a route asks of its caller. */
import { expect } from 'chai'
import { assertInPerson, assertMayWrite, assertScope, type Caller } from '../src/index.ts'
import { sentFor } from './refusals.ts'

const caller = (changes: Partial<Caller> = {}): Caller => ({
  user: 'alice',
  actors: [],
  through: [],
  impersonated: false,
  readOnly: false,
  clientId: 'spa',
  scopes: ['orders:read'],
  expiresAt: 2_000_000_000,
  claims: {},
  ...changes,
})
const engineer = caller({ actor: { sub: 'bob' }, actors: [{ sub: 'bob' }], impersonated: true })
const throughApi = caller({ through: ['orders'] })
/** Schemes, by what a token says of a key. */
const SCHEMES = [
  ['Bearer', {}],
  ['DPoP', { cnf: { jkt: 'a-key' } }],
] as const

const insufficient = (scheme: string, error_description: string, scope = '') => ({
  ...{ name: 'Forbidden', status: 403 },
  body: { error: 'insufficient_scope', error_description },
  headers: {
    'www-authenticate': `${scheme} error="insufficient_scope", error_description="${error_description}"${scope}`,
  },
})

describe('resource server: guards', () => {
  it('assertScope lets a caller with the scope pass', () => {
    for (const one of [caller(), engineer]) expect(() => assertScope(one, 'orders:read')).not.to.throw()
  })

  it('assertScope names the scope that is missing, by the scheme of the token (RFC 6750 §3.1)', async () => {
    for (const [scheme, claims] of SCHEMES)
      for (const scope of ['orders:write', 'orders', 'Orders:read', 'orders:read:all']) {
        const text = `the access token lacks the scope ${scope}`
        const refused = sentFor(() => assertScope(caller({ claims }), scope))
        expect(await refused).to.deep.equal(insufficient(scheme, text, `, scope="${scope}"`))
      }
  })

  it('assertScope takes nothing but one scope name', () => {
    for (const scope of ['', 'a b', 'a"', 'a\\', 'a\r\nSet-Cookie: x', 'é', undefined, ['orders:read'], null])
      expect(() => assertScope(caller(), scope as never), String(scope)).to.throw(TypeError, 'one scope name')
  })

  it('assertInPerson lets the user pass, and the user through an API, and no one else', async () => {
    for (const one of [caller(), throughApi]) expect(() => assertInPerson(one)).not.to.throw()
    const nameless = caller({ impersonated: true })
    for (const one of [engineer, nameless, { ...throughApi, impersonated: true }])
      expect(await sentFor(() => assertInPerson(one))).to.deep.equal({
        ...{ name: 'Forbidden', status: 403, headers: {} },
        body: { error: 'access_denied', error_description: 'only the user can do this' },
      })
  })

  it('assertMayWrite refuses a read-only token alone, by the scheme of the token', async () => {
    for (const one of [caller(), engineer, throughApi]) expect(() => assertMayWrite(one)).not.to.throw()
    for (const [scheme, claims] of SCHEMES) {
      const refused = sentFor(() => assertMayWrite(caller({ readOnly: true, claims })))
      expect(await refused).to.deep.equal(insufficient(scheme, 'the token is read-only'))
    }
  })

  it('let nothing pass but a caller, so a forgotten await is found', () => {
    for (const guard of [(one: Caller) => assertScope(one, 'orders:read'), assertInPerson, assertMayWrite])
      for (const wrong of [
        undefined,
        null,
        {},
        Promise.resolve(caller()),
        'alice',
        { ...caller(), impersonated: 'no' },
        { ...caller(), readOnly: undefined },
        { ...caller(), scopes: '' },
      ])
        expect(() => guard(wrong as never)).to.throw(TypeError, 'the caller that verify() resolved to')
  })
})
