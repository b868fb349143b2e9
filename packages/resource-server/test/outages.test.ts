/** Whatever the provider responds with, or does not: the token is neither valid nor invalid, and works again afterwards. */
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { ProviderUnavailable, type VerifierOptions } from '../src/index.ts'
import {
  type Changes,
  INTROSPECTION,
  JWKS,
  LIST,
  METADATA,
  respond,
  respondJson,
  startIssuer,
  type TestIssuer,
  withBearer,
} from './issuer.ts'
import { expectUnavailable } from './refusals.ts'
import { useIssuer } from './stopped-issuer.ts'

type Break = (response: ServerResponse, issuer: TestIssuer) => unknown

/** What is asked for, and what is said of it. */
const ASKED = {
  [METADATA]: 'discovery at http://127.0.0.1:\\d+/oidc/.well-known/openid-configuration',
  [JWKS]: 'keys',
  [INTROSPECTION]: 'introspection',
  [LIST]: 'status list',
}
type Path = keyof typeof ASKED
const EVERY = Object.keys(ASKED) as Path[]
const JSON_ONLY: readonly Path[] = [METADATA, JWKS, INTROSPECTION]

const status =
  (code: number): Break =>
  (response) =>
    respond(response, '', { status: code, headers: { location: '/elsewhere' } })
const text =
  (body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Break =>
  (response) =>
    respond(response, body, { headers })
const json =
  (body: (issuer: TestIssuer) => unknown): Break =>
  (response, issuer) =>
    respondJson(response, body(issuer))
const metadata = (changes: Changes): Break =>
  json(({ issuer }) => ({
    ...{ issuer, jwks_uri: `${issuer}/jwks`, introspection_endpoint: `${issuer}/token/introspection` },
    ...changes,
  }))
const keys = (...all: unknown[]): Break => json(() => ({ keys: all }))

type Row = readonly [title: string, paths: readonly Path[], broken: Break, reason: string]
const RESPONSES: readonly Row[] = [
  ...[204, 301, 302, 303, 304, 307, 308, 401, 404, 500, 503].map(
    (code): Row => [`status ${code}, not followed`, EVERY, status(code), `HTTP status ${code}$`],
  ),
  ['no response', EVERY, (response) => response.destroy(), '(ECONNRESET|UND_ERR_SOCKET|the request failed)$'],
  [
    'half of it',
    EVERY,
    (response) => response.writeHead(200, { 'content-length': 9 }).write('{', () => response.destroy()),
    '',
  ],
  ['bytes that are no text', EVERY, text(Buffer.from([0xff, 0xfe])), 'ERR_ENCODING_INVALID_ENCODED_DATA$'],
  ['a byte too much', EVERY, text('x'.repeat(262_145)), 'more than 262144 bytes$'],
  [
    'too much once decompressed',
    EVERY,
    text(gzipSync(Buffer.alloc(50_000_000)), { 'content-encoding': 'gzip' }),
    'more than 262144 bytes$',
  ],
  ...['', '<html>', '[]', 'null'].map(
    (body): Row => [`"${body}"`, JSON_ONLY, text(body), 'not a JSON object$'],
  ),
  [
    'another issuer',
    [METADATA],
    metadata({ issuer: 'https://other.example.com' }),
    'another issuer: expected .+ got ',
  ],
  ['no issuer', [METADATA], metadata({ issuer: undefined }), 'another issuer'],
  ...[undefined, 'http://id.example.com/jwks', 'file:///etc/passwd'].map(
    (jwks_uri): Row => [`jwks_uri ${jwks_uri}`, [METADATA], metadata({ jwks_uri }), 'no usable jwks_uri$'],
  ),
  ['no set', [JWKS], json(() => ({ keys: {} })), 'not a key set$'],
  ['no keys', [JWKS], keys('key'), 'not a key set$'],
  ['one that is no key', [JWKS], keys(SIGNING_KEY, 'key'), 'not a key set$'],
  ['half a key', [JWKS], keys({ kty: 'EC', crv: 'P-256', kid: SIGNING_KEY.kid, x: 'x' }), 'cannot be used$'],
  ['a private key', [JWKS], keys(SIGNING_KEY), 'cannot be used$'],
]

describe('resource server: an outage', () => {
  const introspection = { clientId: 'api', clientSecret: 'secret' }
  const { issuer, verify } = useIssuer({ each: true, introspection })
  beforeEach(async () => {
    await issuer.publish()
    recovers()
  })

  const recovers = () => {
    issuer.routes.clear()
    issuer.introspects()
  }
  /** A token for which this is asked. */
  const requestFor = async (path: string) =>
    withBearer(path === INTROSPECTION ? 'opaque' : await issuer.tokenWithStatus(0, { exp: 2_000_000_000 }))

  for (const [title, paths, broken, reason] of RESPONSES)
    for (const path of paths)
      it(`by ${title} at ${path}`, async () => {
        issuer.routes.set(path, (_, response) => void broken(response, issuer))
        await expectUnavailable(verify(await requestFor(path)), `^(${ASKED[path]}|discovery): .*${reason}`)
        expect(issuer.asked).not.to.include('/elsewhere')
        recovers()
        issuer.clock.tick(600)
        await issuer.publish()
        expect(await verify(await requestFor(path))).to.include({ user: 'alice' })
      })

  it('does not come of an introspection endpoint that is missing or unprotected, where no opaque token comes', async () => {
    for (const introspection_endpoint of [undefined, 7, 'http://id.example.com/x', 'javascript:x', '/x']) {
      const verify = issuer.verifier({ introspection })
      issuer.routes.set(METADATA, (_, response) => metadata({ introspection_endpoint })(response, issuer))
      const unusable = '^discovery: no usable introspection_endpoint$'
      await expectUnavailable(verify(withBearer('opaque')), unusable)
      expect(await verify(withBearer(await issuer.token()))).to.include({ user: 'alice' })
    }
  })

  const slow: [title: string, path: Path, options: Partial<VerifierOptions>, stall: Break][] = [
    ['that says nothing', METADATA, {}, () => {}],
    ['that starts, and does not end', METADATA, {}, (response) => response.writeHead(200).write('{')],
    [
      'that comes byte by byte',
      LIST,
      {},
      (response) => {
        const drip = setInterval(() => response.write('e'), 50)
        response.on('close', () => clearInterval(drip))
      },
    ],
    ['of a fetch that ignores its signal', METADATA, { fetch: () => new Promise(() => {}) }, () => {}],
  ]
  for (const [title, path, options, stall] of slow)
    it(`is found as soon as the option timeout says, by a response ${title}`, async () => {
      issuer.routes.set(path, (_, response) => void stall(response, issuer))
      const impatient = issuer.verifier({ timeout: 1, ...options })
      await expectUnavailable(impatient(await requestFor(path)), 'no response in time$')
    })

  it('names the code of a system, and nothing else of an error', async () => {
    const reasonFor = async (code: unknown) => {
      const fails = () => Promise.reject(Object.assign(new Error(), { code }))
      const verify = issuer.verifier({ fetch: fails })
      const error = await verify(await requestFor(JWKS)).catch((thrown: unknown) => thrown)
      return error instanceof ProviderUnavailable ? error.reason.replace(/^discovery at \S+ /, '') : error
    }
    expect(await reasonFor('ECONNRESET')).to.equal('ECONNRESET')
    for (const code of [undefined, 'secret ECONNRESET', 'ECONNRESET secret', ['ECONNRESET'], 7])
      expect(await reasonFor(code)).to.equal('the request failed')
  })

  it('is found where no one listens', async () => {
    const own = await startIssuer()
    await own.close()
    await expectUnavailable(
      own.verifier()(withBearer(await own.token())),
      'openid-configuration: ECONNREFUSED$',
    )
  })
})
