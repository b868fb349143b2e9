/** Options of the verifier: each is checked at start-up, by name. */
import { expect } from 'chai'
import { createVerifier } from '../src/index.ts'

const VALID = { issuer: 'https://id.example.com/oidc', audience: 'https://api.example.com' }

const words = (text: string): string[] => text.trim().split(/\s+/)

describe('resource server: options', () => {
  const accepted: object[] = [
    {},
    { issuer: 'https://id.example.com' },
    { issuer: 'https://id.example.com/' },
    { issuer: 'https://id.example.com:8443/tenants/a' },
    { issuer: 'http://localhost:3000/oidc' },
    { issuer: 'http://127.0.0.1:3000/oidc' },
    { issuer: 'http://127.80.90.10' },
    { issuer: 'http://[::1]:3000' },
    { audience: 'urn:orders' },
    { introspection: { clientId: 'api', clientSecret: 'secret' } },
    { statusLists: false },
    { statusLists: 'https://cdn.example.com/lists' },
    { statusLists: 'http://lists.internal/l' },
    { requireStatus: true },
    { requireStatus: false, statusLists: false },
    { clockTolerance: 0 },
    { clockTolerance: 300 },
    { timeout: 1 },
    { timeout: 60 },
    { fetch },
    { origin: 'https://api.example.com' },
    { origin: 'http://localhost:8080' },
    { onStatusList: () => {} },
    { onStatusList: undefined },
    { introspection: undefined, statusLists: undefined, requireStatus: undefined, clockTolerance: undefined },
    { timeout: undefined, fetch: undefined, origin: undefined },
  ]
  for (const options of accepted) {
    it(`takes ${JSON.stringify(options)}`, () => {
      expect(() => createVerifier({ ...VALID, ...options })).not.to.throw()
    })
  }

  const refused: readonly (readonly [option: string, mustBe: string, ...values: unknown[]])[] = [
    [
      'issuer',
      'an https: URL without query and fragment (http: on loopback hosts only)',
      ...[undefined, null, '', 7, ['https://id.example.com'], 'https://id.example.com/ '],
      ...words(`
        id.example.com ftp://id.example.com http://id.example.com/oidc http://localhost.example.com
        http://127.0.0.1.example.com http://notlocalhost http://10.0.0.1 http://[::2] http://0.0.0.0
        https://id.example.com/oidc?x https://id.example.com/oidc#x https://me@id.example.com
        https://id.example.com/" https://id.example.com/é https:// https://id.example.com:99999
      `),
    ],
    ['audience', 'a non-empty string', undefined, null, '', 7, [], ['https://api.example.com']],
    ['introspection', 'an object', null, true, 'api:secret'],
    [
      'introspection.clientId',
      'a non-empty string',
      {},
      { clientSecret: 'x' },
      { clientId: '', clientSecret: 'x' },
    ],
    [
      'introspection.clientSecret',
      'a non-empty string',
      { clientId: 'x' },
      { clientId: 'x', clientSecret: 7 },
    ],
    [
      'statusLists',
      'an http(s) URL without query and fragment, or false',
      ...[null, true, '', 7, ['https://x/lists']],
      ...words(`
        /lists ftp://x/lists shttps://x/lists https://x/lists?a https://x/lists# https://a@x/l
        https://x:99999/lists
      `),
    ],
    ['requireStatus', 'a boolean', null, 'yes', 1],
    ['clockTolerance', 'a whole number from 0 to 300', null, -1, 301, 1.5, '5', Number.NaN],
    ['timeout', 'a whole number from 1 to 60', null, 0, 61, 1.5, '5', Number.POSITIVE_INFINITY],
    ['fetch', 'a function', null, true, 'fetch', {}],
    [
      'origin',
      'an origin such as https://api.example.com',
      ...[null, '', 7],
      ...words('api.example.com https://api.example.com/ https://api.example.com/orders ws://x'),
    ],
  ]
  for (const [option, mustBe, ...values] of refused) {
    const [name = ''] = option.split('.')
    for (const value of values) {
      it(`names ${option} when it is ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`, () => {
        const create = () => createVerifier({ ...VALID, [name]: value } as never)
        expect(create).to.throw(TypeError).with.property('message', `option ${option} must be ${mustBe}`)
      })
    }
  }

  it('refuses to require a status that it may not look up', () => {
    const create = () => createVerifier({ ...VALID, requireStatus: true, statusLists: false })
    expect(create).to.throw(TypeError, /^option requireStatus must be false where statusLists is false$/)
  })

  it('names an option that it does not know', () => {
    const wrong = (options: object) => () => createVerifier({ ...VALID, ...options } as never)
    expect(wrong({ audiences: [] })).to.throw(TypeError, 'unknown option: audiences')
    const introspection = { clientId: 'x', clientSecret: 'y', endpoint: 'z' }
    expect(wrong({ introspection })).to.throw(TypeError, 'unknown option: introspection.endpoint')
  })

  for (const wrong of [undefined, null, 'https://id.example.com/oidc', 7]) {
    it(`takes ${String(wrong)} for no options`, () => {
      expect(() => createVerifier(wrong as never)).to.throw(
        TypeError,
        'createVerifier takes an options object',
      )
    })
  }
})
