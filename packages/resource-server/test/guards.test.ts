/** What a route asks of its caller. */
import { expect } from 'chai'
import { assertInPerson, assertReadOnly, assertScope, type Caller, Forbidden } from '../src/index.ts'
import { refusalOf } from './refusals.ts'

const caller = (changes: Partial<Caller> = {}): Caller => ({
  user: 'alice',
  actors: [],
  through: [],
  impersonated: false,
  clientId: 'spa',
  scopes: ['orders:read'],
  expiresAt: 2_000_000_000,
  claims: {},
  ...changes,
})
const engineer = caller({ actor: { sub: 'bob' }, actors: [{ sub: 'bob' }], impersonated: true })
const throughApi = caller({ through: ['orders'] })

describe('resource server: guards', () => {
  describe('assertScope', () => {
    it('lets a caller with the scope pass', () => {
      expect(() => assertScope(caller(), 'orders:read')).not.to.throw()
      expect(() => assertScope(engineer, 'orders:read')).not.to.throw()
    })

    for (const scope of ['orders:write', 'orders', 'Orders:read', 'orders:read:all']) {
      it(`refuses without ${scope}, and names it (RFC 6750 §3.1)`, async () => {
        const refusal = await refusalOf(() => assertScope(caller(), scope))
        expect(refusal).to.be.instanceOf(Forbidden).with.property('name', 'Forbidden')
        expect(refusal.status).to.equal(403)
        expect(refusal.body).to.deep.equal({
          error: 'insufficient_scope',
          error_description: `the access token lacks the scope ${scope}`,
        })
        expect(refusal.headers).to.deep.equal({
          'www-authenticate': `Bearer error="insufficient_scope", error_description="the access token lacks the scope ${scope}", scope="${scope}"`,
        })
      })
    }

    it('names the scheme of a bound token', async () => {
      const bound = caller({ claims: { cnf: { jkt: 'a-key' } } })
      const { headers } = await refusalOf(() => assertScope(bound, 'x'))
      expect(headers['www-authenticate']).to.match(/^DPoP error="insufficient_scope"/)
    })

    for (const scope of [
      '',
      'a b',
      'a"',
      'a\\',
      'a\r\nSet-Cookie: x',
      'é',
      undefined,
      ['orders:read'],
      null,
    ]) {
      it(`takes ${JSON.stringify(scope)} for no scope name`, () => {
        expect(() => assertScope(caller(), scope as never)).to.throw(TypeError, 'one scope name')
      })
    }
  })

  describe('assertInPerson', () => {
    it('lets the user pass, and the user through an API', () => {
      for (const one of [caller(), throughApi]) expect(() => assertInPerson(one)).not.to.throw()
    })

    it('refuses an engineer, and an impersonation that names no one', async () => {
      for (const one of [engineer, caller({ impersonated: true }), { ...throughApi, impersonated: true }]) {
        const refusal = await refusalOf(() => assertInPerson(one))
        expect(refusal.status).to.equal(403)
        expect(refusal.body).to.deep.equal({
          error: 'access_denied',
          error_description: 'only the user can do this',
        })
        expect(refusal.headers).to.deep.equal({})
      }
    })
  })

  describe('assertReadOnly', () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      it(`lets everyone ${method}`, () => {
        for (const one of [caller(), engineer, throughApi])
          expect(() => assertReadOnly(one, method)).not.to.throw()
      })
    }

    for (const method of [
      'POST',
      'PUT',
      'PATCH',
      'DELETE',
      'TRACE',
      'CONNECT',
      'PROPFIND',
      'get',
      '',
      undefined,
    ]) {
      it(`lets the user, and no one else, ${JSON.stringify(method)}`, async () => {
        for (const one of [caller(), throughApi])
          expect(() => assertReadOnly(one, method as never)).not.to.throw()
        const refusal = await refusalOf(() => assertReadOnly(engineer, method as never))
        expect([refusal.status, refusal.body.error]).to.deep.equal([403, 'access_denied'])
        expect(refusal.body.error_description).to.equal('only the user can change this')
      })
    }
  })

  const guards = {
    assertScope: (one: Caller) => assertScope(one, 'orders:read'),
    assertInPerson,
    assertReadOnly: (one: Caller) => assertReadOnly(one, 'DELETE'),
  }
  for (const [name, guard] of Object.entries(guards)) {
    it(`has an ${name} that lets nothing pass but a caller, so a forgotten await is found`, () => {
      for (const wrong of [
        undefined,
        null,
        {},
        Promise.resolve(caller()),
        'alice',
        { impersonated: 'no', scopes: [] },
      ])
        expect(() => guard(wrong as never)).to.throw(TypeError, 'the caller that verify() resolved to')
    })
  }
})
