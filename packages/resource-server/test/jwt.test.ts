/** JWT access tokens at the verifier: RFC 9068 §4, and what attackers make of them. */
import { createPublicKey } from 'node:crypto'
import { expect } from 'chai'
import { errors } from 'jose'
import { SIGNING_KEY, signingKey } from '../../../fixtures/keys.ts'
import { reasonOf } from '../src/jwt.ts'
import {
  AUDIENCE,
  type Changes,
  claimsOf,
  forged,
  JWKS,
  NOW,
  OTHER_KEY,
  publicPart,
  signAnything,
  withBearer,
} from './issuer.ts'
import { expectInvalidToken, outcomeOf } from './refusals.ts'
import { useIssuer } from './stopped-issuer.ts'

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('resource server: JWT', () => {
  const { issuer, verify } = useIssuer()
  afterEach(() => issuer.publishKeys(SIGNING_KEY))

  it('splits scopes at spaces', async () => {
    const scopesOf = async (scope: string | undefined) =>
      (await verify(withBearer(await issuer.token({ scope })))).scopes
    expect(await scopesOf(undefined)).to.deep.equal([])
    expect(await scopesOf('')).to.deep.equal([])
    expect(await scopesOf('a  b')).to.deep.equal(['a', 'b'])
  })

  const tokens: [title: string, claims: Changes, refused?: string, header?: Changes][] = [
    ['for several APIs, this one among them', { aud: ['https://other.example.com', AUDIENCE] }],
    ['without scope', { scope: undefined }],
    ['of a client itself', { sub: 'spa' }],
    ['that expires in a second', { exp: NOW + 1 }],
    ['issued by a clock that is a minute ahead', { iat: NOW + 60 }],
    ['not valid before now', { nbf: NOW }],
    ['whose type is a full media type', {}, undefined, { typ: 'application/at+jwt' }],
    ['whose type is in capitals', {}, undefined, { typ: 'AT+JWT' }],
    [
      'of another issuer',
      { iss: 'https://other.example.com' },
      'iss: expected "http://127.0.0.1:\\d+/oidc", got "https://other.example.com"$',
    ],
    ['of an issuer that differs by a slash', { iss: 'http://127.0.0.1/oidc/' }, 'iss'],
    ['without issuer', { iss: undefined }, 'iss'],
    ['for another API', { aud: 'https://other.example.com' }, 'aud'],
    [
      'for an API whose name is longer',
      { aud: `${AUDIENCE}/` },
      `aud: expected "${AUDIENCE}", got "${AUDIENCE}/"`,
    ],
    ['for no one', { aud: [] }, 'aud'],
    ['without audience', { aud: undefined }, `aud: expected "${AUDIENCE}", got undefined`],
    ['whose audience is an object', { aud: { [AUDIENCE]: true } }, 'aud'],
    ['that expires now', { exp: NOW }, 'exp'],
    ['that expired', { exp: NOW - 1 }, 'exp'],
    ['without expiry', { exp: undefined }, 'exp'],
    ['whose expiry is text', { exp: '2999-01-01' }, 'exp'],
    ['whose expiry is null', { exp: null }, 'exp'],
    ['that is not valid yet', { nbf: NOW + 1 }, 'nbf'],
    ['issued more than a minute ahead', { iat: NOW + 61 }, 'iat'],
    ['without time of issue', { iat: undefined }, 'iat'],
    ['whose time of issue is text', { iat: 'today' }, 'iat'],
    ['without subject', { sub: undefined }, 'sub'],
    ['with an empty subject', { sub: '' }, 'sub'],
    ['whose subject is an array', { sub: ['alice'] }, 'sub'],
    ['without client', { client_id: undefined }, 'client_id'],
    ['with an empty client', { client_id: '' }, 'client_id'],
    ['whose client is a number', { client_id: 7 }, 'client_id'],
    ['without jti', { jti: undefined }, 'jti'],
    ['whose scope is an array', { scope: ['orders:write'] }, 'scope'],
    ['bound to a certificate', { cnf: { 'x5t#S256': 'a-thumbprint' } }, 'cannot be proven'],
    ['bound to a key by value', { cnf: { jwk: {} } }, 'cannot be proven'],
    ['bound to a key and a certificate', { cnf: { jkt: 'a-key', 'x5t#S256': 'x' } }, 'cannot be proven'],
    ['bound to nothing that is named', { cnf: {} }, 'cannot be proven'],
    ['bound to null', { cnf: null }, 'cannot be proven'],
    ['bound to a DPoP key, and sent as Bearer', { cnf: { jkt: 'a-key' } }, 'presented as Bearer'],
    ['that is an ID token', {}, 'typ', { typ: 'JWT' }],
    ['without type', {}, 'typ', { typ: undefined }],
    ['that is a status list', {}, 'typ', { typ: 'statuslist+jwt' }],
    ['whose key is not known', {}, 'NO_MATCHING_KEY', { kid: 'unknown' }],
    ['whose kid is an object', {}, 'NO_MATCHING_KEY', { kid: { toString: 'x' } }],
  ]
  for (const [title, claims, refused, header] of tokens) {
    it(`${refused ? 'refuses' : 'accepts'} a token ${title}, from the first one on`, async () => {
      const token = withBearer(await issuer.token(claims, { header }))
      for (const one of [issuer.verifier(), verify])
        if (refused) await expectInvalidToken(one(token), refused)
        else expect((await one(token)).user).to.equal(claims.sub ?? 'alice')
    })
  }

  it('refuses what another key signed, whatever the header brings along', async () => {
    const attacker = signingKey('ES256', SIGNING_KEY.kid)
    for (const header of [
      {},
      { jwk: publicPart(attacker) },
      { jku: 'http://127.0.0.1:9/jwks' },
      { x5c: ['AA=='] },
    ]) {
      await expectInvalidToken(
        verify(withBearer(await issuer.token({}, { key: attacker, header }))),
        'SIGNATURE_VERIFICATION_FAILED',
      )
    }
  })

  it('refuses alg none, with and without signature', async () => {
    const body = encode(claimsOf(issuer.issuer))
    for (const alg of ['none', 'None', 'NONE', '', undefined, null, 0, ['ES256']]) {
      const head = { alg, typ: 'at+jwt', kid: SIGNING_KEY.kid }
      for (const signature of ['', 'AAAA'])
        await expectInvalidToken(verify(withBearer(forged(head, body, signature))))
    }
  })

  it('refuses a public key that is used as a shared secret', async () => {
    const pem = createPublicKey({ key: { ...SIGNING_KEY } as never, format: 'jwk' }).export({
      type: 'spki',
      format: 'pem',
    })
    for (const secret of [JSON.stringify(publicPart(SIGNING_KEY)), pem]) {
      const k = Buffer.from(secret).toString('base64url')
      const token = await issuer.token(
        {},
        { key: { kty: 'oct', k, alg: 'HS256', kid: SIGNING_KEY.kid } as never },
      )
      await expectInvalidToken(verify(withBearer(token)), 'ALG_NOT_ALLOWED')
    }
  })

  it('refuses a symmetric key even where the issuer publishes one', async () => {
    const oct = {
      kty: 'oct',
      k: Buffer.alloc(32).toString('base64url'),
      alg: 'HS256',
      kid: 'shared',
    } as never
    const asked = issuer.asked.length
    issuer.publishKeys(SIGNING_KEY, oct)
    await expectInvalidToken(issuer.verifier()(withBearer(await issuer.token({}, { key: oct }))))
    expect(issuer.asked.length).to.equal(asked)
  })

  it('refuses what is not a JWT, without a request to the provider', async () => {
    const asked = issuer.asked.length
    const valid = await issuer.token()
    const [head = '', body = '', signature = ''] = valid.split('.')
    const jwe = `${forged({ alg: 'dir', enc: 'A128GCM' }, '', '')}..`
    const junk = [
      '.',
      '..',
      'a.b',
      'a.b.c',
      'a.b.c.d',
      jwe,
      `${head}.${body}`,
      `${head}..${signature}`,
      `.${body}.${signature}`,
      `${valid}.`,
      forged('text', body, signature),
      forged([], body, signature),
      `${Buffer.from('{').toString('base64url')}.${body}.${signature}`,
      `${head}.${body}.${'A'.repeat(86)}=`,
    ]
    for (const token of junk) await expectInvalidToken(verify(withBearer(token)))
    expect(issuer.asked.length).to.equal(asked)
  })

  it('refuses a token that was changed', async () => {
    const [head = '', , signature = ''] = (await issuer.token()).split('.')
    const forged = `${head}.${encode({ ...claimsOf(issuer.issuer), sub: 'bob' })}.${signature}`
    await expectInvalidToken(verify(withBearer(forged)), 'SIGNATURE_VERIFICATION_FAILED')
  })

  it('refuses a payload that is signed and no object', async () => {
    for (const payload of ['[]', '"alice"', 'null', '{', '\u0000', '']) {
      await expectInvalidToken(verify(withBearer(signAnything({}, payload))))
    }
  })

  it('refuses a token with an extension that it would have to understand', async () => {
    const payload = JSON.stringify(claimsOf(issuer.issuer))
    expect(await verify(withBearer(signAnything({}, payload)))).to.include({ user: 'alice' })
    for (const header of [{ crit: ['urn:x'], 'urn:x': 1 }, { crit: [] }, { crit: ['b64'], b64: false }])
      await expectInvalidToken(verify(withBearer(signAnything(header, payload))))
  })

  it('refuses a token of a megabyte without reading it', async () => {
    const asked = issuer.asked.length
    const long = await issuer.token({ padding: 'x'.repeat(1_000_000) })
    await expectInvalidToken(verify(withBearer(long)), 'too long')
    await expectInvalidToken(verify(withBearer('A'.repeat(1_000_000))), 'too long')
    expect(issuer.asked.length).to.equal(asked)
  })

  it('accepts a token of 32 KiB', async () => {
    const token = await issuer.token({ padding: 'x'.repeat(24_000) })
    expect(token.length).to.be.greaterThan(32_000)
    expect(await verify(withBearer(token))).to.include({ user: 'alice' })
  })

  it('allows the clocks to differ as the option says', async () => {
    const tolerant = issuer.verifier({ clockTolerance: 10 })
    const seen = async (claims: Changes) => outcomeOf(tolerant(withBearer(await issuer.token(claims))))
    expect(await seen({ exp: NOW - 9 })).to.equal('valid')
    expect(await seen({ exp: NOW - 10 })).to.match(/exp$/)
    expect(await seen({ nbf: NOW + 10 })).to.equal('valid')
    expect(await seen({ nbf: NOW + 11 })).to.match(/nbf$/)
    expect(await seen({ iat: NOW + 60 })).to.equal('valid')
    const very = issuer.verifier({ clockTolerance: 300 })
    expect(await very(withBearer(await issuer.token({ iat: NOW + 300 })))).to.include({ user: 'alice' })
  })

  it('chooses among several keys by kid, and refuses a token that leaves the choice open', async () => {
    issuer.publishKeys(OTHER_KEY, SIGNING_KEY)
    const asked = issuer.timesAsked(JWKS)
    const verifier = issuer.verifier()
    for (const key of [SIGNING_KEY, OTHER_KEY])
      expect(await verifier(withBearer(await issuer.token({}, { key })))).to.include({ user: 'alice' })
    const withoutKid = await issuer.token({}, { header: { kid: undefined } })
    await expectInvalidToken(verifier(withBearer(withoutKid)), 'MULTIPLE_MATCHING_KEYS')
    expect(issuer.timesAsked(JWKS)).to.equal(asked + 1)
  })

  for (const alg of ['RS256', 'ES384', 'EdDSA'] as const) {
    it(`accepts ${alg}`, async () => {
      const key = signingKey(alg)
      issuer.publishKeys(key)
      expect(await issuer.verifier()(withBearer(await issuer.token({}, { key })))).to.include({
        user: 'alice',
      })
    })
  }
})

describe('resource server: the reason of a JWT that is refused', () => {
  it('is a code and the claim that failed, and a fixed text for any other error', () => {
    const failed = new errors.JWTClaimValidationFailed('secret', { aud: 'secret' }, 'aud', 'check_failed')
    expect(reasonOf(failed)).to.equal('ERR_JWT_CLAIM_VALIDATION_FAILED aud')
    expect(reasonOf(new errors.JWTExpired('secret', {}, 'exp'))).to.equal('ERR_JWT_EXPIRED exp')
    expect(reasonOf(new errors.JWSInvalid('secret'))).to.equal('ERR_JWS_INVALID')
    for (const error of [new Error('secret'), Object.assign(new Error(), { code: 'secret' }), undefined])
      expect(reasonOf(error)).to.equal('the signature cannot be verified')
  })
})
