/** The options of the client: which are taken, what the others are refused with, and what is derived from them. */
import { inspect } from 'node:util'
import { expect } from 'chai'
import { createImpersonationClient, type ImpersonationClientOptions } from '../src/index.ts'
import { connect, ID } from './calling.ts'

const valid = { issuer: 'https://id.example.com/oidc', clientId: 'backend', clientSecret: 'backend-secret' }

describe('client: options', () => {
  const create = (changes: object) =>
    createImpersonationClient({ ...valid, ...changes } as ImpersonationClientOptions)

  it('are taken', () => {
    for (const changes of [
      {},
      { issuer: 'http://localhost:3000/oidc' },
      { issuer: 'http://127.10.20.30:3000/oidc' },
      { issuer: 'http://[::1]:3000' },
      { managementResource: 'urn:management', managementUrl: 'https://internal.example.com/api' },
      { timeout: 60 },
      { fetch },
      { clientSecret: undefined, privateKey: { kty: 'AKP', alg: 'ML-DSA-44', pub: 'x', priv: 'y' } },
    ])
      expect(() => create(changes)).not.to.throw()
  })

  const protectedUrl = 'an https: URL without query and fragment (http: on loopback hosts only)'
  for (const [changes, message] of [
    ...[
      'http://id.example.com/oidc',
      'http://not-localhost/oidc',
      'http://localhost.example.com/oidc',
      'https://id.example.com:99999/oidc',
      'https://id.example.com/oidc?next=https://id.example.com/oidc',
      new URL('https://id.example.com/oidc'),
      undefined,
    ].map((issuer) => [{ issuer }, `option issuer must be ${protectedUrl}`] as const),
    [{ clientId: '' }, 'option clientId must be a non-empty string'],
    [{ clientSecret: '' }, 'option clientSecret must be a non-empty string'],
    ...[{ clientSecret: undefined }, { privateKey: { kty: 'EC', d: 'x' } }].map(
      (changes) =>
        [changes, 'give exactly one of the options clientSecret, privateKey, clientAuthentication'] as const,
    ),
    [
      { clientSecret: undefined, privateKey: { kty: 'EC', x: 'x' } },
      'option privateKey must be a private key as a JWK',
    ],
    [
      { clientSecret: undefined, clientAuthentication: 'none' },
      'option clientAuthentication must be a function of oauth4webapi',
    ],
    [{ managementResource: 'urn:management' }, `option managementUrl must be ${protectedUrl}`],
    [{ managementUrl: 'http://internal.example.com/api' }, `option managementUrl must be ${protectedUrl}`],
    [{ managementResource: 7 }, 'option managementResource must be a non-empty string'],
    ...[0, 61, 1.5].map(
      (timeout) => [{ timeout }, 'option timeout must be a whole number from 1 to 60'] as const,
    ),
    [{ fetch: 'fetch' }, 'option fetch must be a function'],
    [{ secret: 'x' }, 'unknown option: secret'],
  ] as const) {
    it(`are refused by name: ${inspect(changes)}`, () => {
      expect(() => create(changes))
        .to.throw(TypeError)
        .with.property('message', message)
    })
  }

  for (const [issuer, resource] of [
    ['https://id.example.com/oidc', 'https://id.example.com/api'],
    ['https://id.example.com/oidc/', 'https://id.example.com/api'],
    ['https://id.example.com', 'https://id.example.com/api'],
    ['https://id.example.com/oidc/tenant', 'https://id.example.com/oidc/tenant/api'],
  ] as const) {
    it(`have ${resource} as management resource of ${issuer}, if none is given`, async () => {
      const { client, sent } = connect({}, { issuer })
      await client.get(ID)
      const [, token, api] = sent
      expect([token?.form.resource, api?.url]).to.deep.equal([resource, `${resource}/subject-tokens/${ID}`])
    })
  }

  it('are an object', () => {
    for (const given of [null, undefined, 'https://id.example.com/oidc', () => valid])
      expect(() => createImpersonationClient(given as never)).to.throw(TypeError, 'takes an options object')
  })
})
