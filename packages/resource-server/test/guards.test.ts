/** What a route asks of its caller. */
import { expect } from 'chai'
import { assertInPerson, assertMayWrite, assertScope, type Caller, Forbidden } from '../src/index.ts'
import { refusalOf } from './refusals.ts'

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

describe('resource server: guards', () => {
  it('assertScope lets a caller with the scope pass', () => {
    for (const one of [caller(), engineer]) expect(() => assertScope(one, 'orders:read')).not.to.throw()
  })

  it('assertScope names the scope that is missing, by the scheme of the token (RFC 6750 §3.1)', async () => {
    for (const [scope, cnf, scheme] of [
      ...['orders:write', 'orders', 'Orders:read', 'orders:read:all'].map(
        (name) => [name, undefined, 'Bearer'] as const,
      ),
      ['x', { jkt: 'a-key' }, 'DPoP'],
    ] as const) {
      const refusal = await refusalOf(() => assertScope(caller({ claims: { ...(cnf && { cnf }) } }), scope))
      expect(refusal).to.be.instanceOf(Forbidden).with.property('name', 'Forbidden')
      const { status, body, headers } = refusal
      const text = `the access token lacks the scope ${scope}`
      expect({ status, body, headers }).to.deep.equal({
        status: 403,
        body: { error: 'insufficient_scope', error_description: text },
        headers: {
          'www-authenticate': `${scheme} error="insufficient_scope", error_description="${text}", scope="${scope}"`,
        },
      })
    }
  })

  it('assertScope takes nothing but one scope name', () => {
    for (const scope of ['', 'a b', 'a"', 'a\\', 'a\r\nSet-Cookie: x', 'é', undefined, ['orders:read'], null])
      expect(() => assertScope(caller(), scope as never), String(scope)).to.throw(TypeError, 'one scope name')
  })

  const denied = async (attempt: () => void, error_description: string) => {
    const { status, body, headers } = await refusalOf(attempt)
    expect({ status, body, headers }).to.deep.equal({
      status: 403,
      body: { error: 'access_denied', error_description },
      headers: {},
    })
  }
  const nameless = caller({ impersonated: true })

  it('assertInPerson lets the user pass, and the user through an API, and no one else', async () => {
    for (const one of [caller(), throughApi]) expect(() => assertInPerson(one)).not.to.throw()
    for (const one of [engineer, nameless, { ...throughApi, impersonated: true }])
      await denied(() => assertInPerson(one), 'only the user can do this')
  })

  it('assertMayWrite refuses a read-only token alone, by the scheme of the token', async () => {
    for (const one of [caller(), engineer, throughApi]) expect(() => assertMayWrite(one)).not.to.throw()
    for (const [claims, scheme] of [
      [{}, 'Bearer'],
      [{ cnf: { jkt: 'a-key' } }, 'DPoP'],
    ] as const) {
      const refusal = await refusalOf(() => assertMayWrite(caller({ readOnly: true, claims })))
      expect(refusal).to.be.instanceOf(Forbidden)
      const { status, body, headers } = refusal
      expect({ status, body, headers }).to.deep.equal({
        status: 403,
        body: { error: 'insufficient_scope', error_description: 'the token is read-only' },
        headers: {
          'www-authenticate': `${scheme} error="insufficient_scope", error_description="the token is read-only"`,
        },
      })
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
