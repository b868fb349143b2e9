/** Metadata and keys of the issuer: found once, kept, renewed, and never taken from a token. */
import { expect } from 'chai'
import { SIGNING_KEY, signingKey } from '../../../fixtures/keys.ts'
import {
  type Changes,
  forged,
  JWKS,
  METADATA,
  OTHER_KEY,
  respond,
  respondJson,
  startIssuer,
  withBearer,
} from './issuer.ts'
import { expectInvalidToken, expectUnavailable } from './refusals.ts'
import { tellStories, useIssuer } from './stopped-issuer.ts'

describe('resource server: keys', () => {
  const { issuer, verify } = useIssuer({ each: true })

  const accepted = async (changes: Changes = {}, key = SIGNING_KEY) =>
    expect(await verify(withBearer(await issuer.token(changes, { key })))).to.include({ user: 'alice' })
  const withKid = async (kid: string) => withBearer(await issuer.token({}, { header: { kid } }))

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
      issuer.publishKeys(SIGNING_KEY, OTHER_KEY)
      await accepted({}, OTHER_KEY)
      expect(issuer.timesAsked(JWKS)).to.equal(2)
      expect(issuer.timesAsked(METADATA)).to.equal(1)
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
      expect(issuer.timesAsked(JWKS)).to.equal(1)
      issuer.clock.tick(5)
      await madeUp()
      expect(issuer.timesAsked(JWKS)).to.equal(2)
    })

    it('is not looked for when a token is refused by its header alone', async () => {
      await accepted()
      issuer.clock.tick(5)
      for (const alg of ['none', 'HS256'])
        await expectInvalidToken(verify(withBearer(forged({ typ: 'at+jwt', alg, kid: 'x' }))))
      expect(issuer.timesAsked(JWKS)).to.equal(1)
    })

    it('that cannot be looked for leaves the token undecided, and the other keys good', async () => {
      await accepted()
      issuer.clock.tick(5)
      issuer.routes.set(JWKS, (_, response) => respond(response, '', { status: 500 }))
      await expectUnavailable(verify(await withKid('unknown')), 'keys: HTTP status 500')
      await expectUnavailable(verify(await withKid('unknown')), 'keys: HTTP status 500')
      expect(issuer.timesAsked(JWKS)).to.equal(2)
      await accepted()
      issuer.clock.tick(1)
      await expectUnavailable(verify(await withKid('unknown')))
      expect(issuer.timesAsked(JWKS)).to.equal(3)
    })
  })

  const passes = (seconds: number) => () => issuer.clock.tick(seconds)
  const valid = () => accepted()
  const isWithdrawn = () => issuer.publishKeys(OTHER_KEY)
  const unknownKey = async () =>
    expectInvalidToken(verify(withBearer(await issuer.token())), 'NO_MATCHING_KEY')
  const unavailable = async () =>
    expectUnavailable(verify(withBearer(await issuer.token())), 'openid-configuration: HTTP status 502')
  const fails = () => {
    for (const path of [JWKS, METADATA])
      issuer.routes.set(path, (_, response) => respond(response, '', { status: 502 }))
  }
  const recovers = () => issuer.routes.clear()
  /** So many requests for keys, those in the background too. */
  const asked = (times: number) => async () => {
    await issuer.settled()
    expect(issuer.timesAsked(JWKS)).to.equal(times)
  }
  tellStories({
    'renews keys in the background from five minutes on': [
      [valid, passes(299), valid, asked(1)],
      [passes(1), valid, asked(2), valid, asked(2)],
    ],
    'forgets a key that was withdrawn within ten minutes': [
      [valid, isWithdrawn, passes(599), valid, () => issuer.settled(), unknownKey],
    ],
    'forgets a key that was withdrawn while no one asked': [[valid, isWithdrawn, passes(600), unknownKey]],
    'keeps verifying for an hour without the provider, and then does not': [
      [valid, fails, passes(600), valid, passes(1200), valid, passes(1799), valid],
      [passes(1), unavailable, recovers, unavailable, passes(1), valid],
    ],
    'asks anew when its own clock was set back': [[valid, () => issuer.clock.setBack(3600), valid, asked(2)]],
  })

  it('has a key of its own for each verifier', async () => {
    const other = await startIssuer()
    other.publishKeys(signingKey())
    await accepted()
    await expectInvalidToken(
      other.verifier()(withBearer(await other.token())),
      'SIGNATURE_VERIFICATION_FAILED',
    )
    await other.close()
  })
})
