/** Metadata and keys of the issuer: found once, kept, renewed, and never taken from a token. */
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { SIGNING_KEY, signingKey } from '../../../fixtures/keys.ts'
import type { Verifier } from '../src/index.ts'
import {
  type Changes,
  JWKS,
  METADATA,
  OTHER_KEY,
  publicPart,
  respond,
  respondJson,
  startIssuer,
  type TestIssuer,
  withBearer,
} from './issuer.ts'
import { expectInvalidToken, expectUnavailable } from './refusals.ts'
import { type StoppedIssuer, startStoppedIssuer } from './stopped-issuer.ts'

describe('resource server: keys', () => {
  let issuer: StoppedIssuer
  let verify: Verifier
  beforeEach(async () => {
    issuer = await startStoppedIssuer()
    verify = issuer.verifier()
  })
  afterEach(() => issuer.close())

  const timesAsked = (path: string) => issuer.asked.filter((one) => one === path).length
  const accepted = async (changes: Changes = {}, key = SIGNING_KEY) =>
    expect(await verify(withBearer(await issuer.token(changes, { key })))).to.include({ user: 'alice' })
  const withKid = async (kid: string) => withBearer(await issuer.token({}, { header: { kid } }))
  /** Lets what runs in the background finish: the next request to the issuer comes after it. */
  const settled = async () => {
    for (let turn = 0; turn < 5; turn += 1) await fetch(`${issuer.issuer}/settled`)
  }

  it('asks for nothing before the first request, and then once for all', async () => {
    expect(issuer.asked).to.deep.equal([])
    await Promise.all([accepted(), accepted(), accepted()])
    await accepted()
    expect(issuer.asked).to.deep.equal([METADATA, JWKS])
  })

  it('finds the metadata of an issuer that ends with a slash', async () => {
    const own = `${issuer.issuer}/`
    issuer.routes.set(METADATA, (_, response) =>
      respondJson(response, { issuer: own, jwks_uri: `${issuer.issuer}/jwks` }),
    )
    const slashed = issuer.verifier({ issuer: own })
    expect(await slashed(withBearer(await issuer.token({ iss: own })))).to.include({ user: 'alice' })
  })

  it('sends its requests through the fetch that it is given', async () => {
    const sent: unknown[] = []
    const own = issuer.verifier({
      fetch: (url, init) => {
        sent.push([url, init?.redirect, init?.signal instanceof AbortSignal, init?.headers])
        return fetch(url, init)
      },
    })
    await own(withBearer(await issuer.token()))
    expect(sent).to.deep.equal([
      [issuer.issuer.replace('/oidc', METADATA), 'manual', true, { accept: 'application/json' }],
      [`${issuer.issuer}/jwks`, 'manual', true, { accept: 'application/json' }],
    ])
  })

  describe('a new key', () => {
    it('is known with the first token that it signs', async () => {
      await accepted()
      issuer.clock.tick(5)
      issuer.keys = [publicPart(SIGNING_KEY), publicPart(OTHER_KEY)]
      await accepted({}, OTHER_KEY)
      expect(timesAsked(JWKS)).to.equal(2)
      expect(timesAsked(METADATA)).to.equal(1)
    })

    const madeUp = () =>
      Promise.all(
        Array.from({ length: 50 }, async (_, index) =>
          expectInvalidToken(verify(await withKid(`made-up-${index}`)), 'NO_MATCHING_KEY'),
        ),
      )

    it('is looked for once in five seconds, however many kids are made up', async () => {
      await accepted()
      for (const _ of [1, 2, 3]) await madeUp()
      expect(timesAsked(JWKS)).to.equal(1)
      issuer.clock.tick(5)
      await madeUp()
      expect(timesAsked(JWKS)).to.equal(2)
    })

    it('is not looked for when a token is refused by its header alone', async () => {
      await accepted()
      issuer.clock.tick(5)
      for (const header of [
        { alg: 'none', kid: 'x' },
        { alg: 'HS256', kid: 'x' },
      ]) {
        const head = Buffer.from(JSON.stringify({ typ: 'at+jwt', ...header })).toString('base64url')
        await expectInvalidToken(verify(withBearer(`${head}.e30.AAAA`)))
      }
      expect(timesAsked(JWKS)).to.equal(1)
    })

    it('that cannot be looked for leaves the token undecided, and the other keys good', async () => {
      await accepted()
      issuer.clock.tick(5)
      issuer.routes.set(JWKS, (_, response) => respond(response, '', { status: 500 }))
      await expectUnavailable(verify(await withKid('unknown')), 'keys: HTTP status 500')
      await expectUnavailable(verify(await withKid('unknown')), 'keys: HTTP status 500')
      expect(timesAsked(JWKS)).to.equal(2)
      await accepted()
      issuer.clock.tick(1)
      await expectUnavailable(verify(await withKid('unknown')))
      expect(timesAsked(JWKS)).to.equal(3)
    })
  })

  describe('time', () => {
    it('renews keys in the background from five minutes on', async () => {
      await accepted()
      issuer.clock.tick(299)
      await accepted()
      await settled()
      expect(timesAsked(JWKS)).to.equal(1)
      issuer.clock.tick(1)
      await accepted()
      await settled()
      expect(timesAsked(JWKS)).to.equal(2)
      await accepted()
      await settled()
      expect(timesAsked(JWKS)).to.equal(2)
    })

    it('forgets a key that was withdrawn within ten minutes', async () => {
      await accepted()
      issuer.keys = [publicPart(OTHER_KEY)]
      issuer.clock.tick(599)
      await accepted()
      await settled()
      await expectInvalidToken(verify(withBearer(await issuer.token())), 'NO_MATCHING_KEY')
    })

    it('forgets a key that was withdrawn while no one asked', async () => {
      await accepted()
      issuer.keys = [publicPart(OTHER_KEY)]
      issuer.clock.tick(600)
      await expectInvalidToken(verify(withBearer(await issuer.token())), 'NO_MATCHING_KEY')
    })

    it('keeps verifying for an hour without the provider, and then does not', async () => {
      await accepted()
      issuer.routes.set(JWKS, (_, response) => respond(response, '', { status: 502 }))
      issuer.routes.set(METADATA, (_, response) => respond(response, '', { status: 502 }))
      for (const seconds of [600, 1200, 1799]) {
        issuer.clock.tick(seconds)
        await accepted()
      }
      issuer.clock.tick(1)
      await expectUnavailable(
        verify(withBearer(await issuer.token())),
        'openid-configuration: HTTP status 502',
      )
      issuer.routes.clear()
      await expectUnavailable(
        verify(withBearer(await issuer.token())),
        'openid-configuration: HTTP status 502',
      )
      issuer.clock.tick(1)
      await accepted()
    })

    it('asks anew when its own clock was set back', async () => {
      await accepted()
      issuer.clock.setBack(3600)
      await accepted()
      expect(timesAsked(JWKS)).to.equal(2)
    })
  })

  type Break = (issuer: TestIssuer, response: ServerResponse) => void
  const json =
    (body: (issuer: TestIssuer) => unknown): Break =>
    (from, response) =>
      respondJson(response, body(from))
  const metadata = (changes: Changes): Break =>
    json(({ issuer }) => ({ issuer, jwks_uri: `${issuer}/jwks`, ...changes }))

  const broken: [title: string, path: string, respondTo: Break, reason: string][] = [
    [
      'metadata that is not there',
      METADATA,
      (_, response) => respond(response, '', { status: 404 }),
      'status 404',
    ],
    [
      'metadata elsewhere',
      METADATA,
      (_, response) => respond(response, '', { status: 302, headers: { location: '/elsewhere' } }),
      'openid-configuration: HTTP status 302',
    ],
    ['metadata that is a page', METADATA, (_, response) => respond(response, '<html>'), 'not a JSON object'],
    [
      'openid-configuration: another issuer: expected .+ got ',
      METADATA,
      metadata({ issuer: 'https://other.example.com' }),
      'another issuer',
    ],
    ['metadata of no issuer', METADATA, metadata({ issuer: undefined }), 'another issuer'],
    ['metadata without keys', METADATA, metadata({ jwks_uri: undefined }), 'no usable jwks_uri'],
    [
      'keys at an unprotected address',
      METADATA,
      metadata({ jwks_uri: 'http://id.example.com/jwks' }),
      'jwks_uri',
    ],
    [
      'keys at an address of another kind',
      METADATA,
      metadata({ jwks_uri: 'file:///etc/passwd' }),
      'jwks_uri',
    ],
    ['metadata without end', METADATA, (_, response) => respond(response, 'x'.repeat(300_000)), 'more than'],
    ['keys that are not there', JWKS, (_, response) => respond(response, '', { status: 404 }), 'status 404'],
    [
      'keys elsewhere',
      JWKS,
      (_, response) => respond(response, '', { status: 301, headers: { location: '/elsewhere' } }),
      'keys: HTTP status 301',
    ],
    ['keys that are a page', JWKS, (_, response) => respond(response, 'page'), 'not a JSON object'],
    ['keys that are no set', JWKS, json(() => ({ keys: {} })), 'not a key set'],
    ['keys that are no keys', JWKS, json(() => ({ keys: ['key'] })), 'not a key set'],
    ['keys of which one is none', JWKS, json(({ keys }) => ({ keys: [...keys, 'key'] })), 'not a key set'],
    ['keys without end', JWKS, (_, response) => respond(response, 'x'.repeat(300_000)), 'more than'],
    [
      'a key that is none',
      JWKS,
      json(() => ({ keys: [{ kty: 'EC', crv: 'P-256', kid: SIGNING_KEY.kid, x: 'x' }] })),
      'one of them cannot be used',
    ],
    [
      'a key that should be secret',
      JWKS,
      json(() => ({ keys: [SIGNING_KEY] })),
      'one of them cannot be used',
    ],
  ]
  for (const [title, path, respondTo, reason] of broken) {
    it(`is unavailable with ${title}, and good again without`, async () => {
      issuer.routes.set(path, (_, response) => respondTo(issuer, response))
      await expectUnavailable(verify(withBearer(await issuer.token())), reason)
      expect(issuer.asked).not.to.include('/elsewhere')
      issuer.routes.clear()
      issuer.clock.tick(600)
      await accepted()
    })
  }

  it('has a key of its own for each verifier', async () => {
    const other = await startIssuer()
    other.keys = [publicPart(signingKey())]
    await accepted()
    await expectInvalidToken(
      other.verifier()(withBearer(await other.token())),
      'SIGNATURE_VERIFICATION_FAILED',
    )
    await other.close()
  })

  for (const [title, stall] of Object.entries({
    'says nothing': () => {},
    'starts, and does not end': (response: ServerResponse) => response.writeHead(200).write('{'),
  })) {
    it(`waits for a provider that ${title} as long as the option says`, async () => {
      issuer.routes.set(METADATA, (_, response) => stall(response))
      const impatient = issuer.verifier({ timeout: 1 })
      await expectUnavailable(
        impatient(withBearer(await issuer.token())),
        'openid-configuration: no response in time',
      )
    })
  }

  it('waits no longer for a fetch that ignores its signal', async () => {
    const deaf = issuer.verifier({ timeout: 1, fetch: () => new Promise(() => {}) })
    await expectUnavailable(deaf(withBearer(await issuer.token())), 'no response in time')
  })

  it('names why the provider cannot be reached', async () => {
    const own = await startIssuer()
    await own.close()
    await expectUnavailable(
      own.verifier()(withBearer(await own.token())),
      'openid-configuration: ECONNREFUSED',
    )
  })
})
