/** How long a proof may be, and how large its RSA key: judged before the signature, which a huge one makes expensive. */
import { expect } from 'chai'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { assertSender } from '../src/dpop.ts'
import { Refused } from '../src/errors.ts'
import { forged } from './issuer.ts'

describe('resource server: a proof', () => {
  const reasonOfProof = (proof: string, jkt = 'a-key'): Promise<unknown> =>
    assertSender({
      claims: { cnf: { jkt } },
      presented: { scheme: 'DPoP', token: 'a-token', proof },
      request: new Request('https://api.example.com/orders'),
      origin: undefined,
    }).catch((error: unknown) => (error instanceof Refused ? error.message : error))

  it('is read up to 16 KiB', async () => {
    expect(await reasonOfProof('a'.repeat(16 * 1024))).to.equal('DPoP proof: ERR_JWS_INVALID')
    expect(await reasonOfProof('a'.repeat(16 * 1024 + 1))).to.equal('DPoP proof: too long')
  })

  /** Of a proof that this key did not sign. */
  const reasonOfForgery = async (jwk: JWK, alg = 'RS256'): Promise<unknown> => {
    const proof = forged({ typ: 'dpop+jwt', alg, jwk }, 'e30', 'A'.repeat(86))
    return reasonOfProof(proof, await calculateJwkThumbprint(jwk))
  }
  /** The smallest odd number of so many bits, after so many bytes of zero. */
  const odd = (bits: number, zeros = 0): string => {
    const digits = (2n ** BigInt(bits - 1) + 1n).toString(16)
    const even = digits.padStart(digits.length + (digits.length % 2), '0')
    return Buffer.from('00'.repeat(zeros) + even, 'hex').toString('base64url')
  }
  const VERIFIED = 'DPoP proof: ERR_JWS_SIGNATURE_VERIFICATION_FAILED'
  const TOO_LARGE = 'DPoP proof: the RSA key is too large'

  const keys: [title: string, n: string, e: string, reason: string][] = [
    ['a modulus of 4,096 bits', odd(4096), 'AQAB', VERIFIED],
    ['a modulus of 4,096 bits after a zero', odd(4096, 1), 'AQAB', VERIFIED],
    ['a modulus of 4,097 bits', odd(4097), 'AQAB', TOO_LARGE],
    ['a modulus of 4,104 bits', odd(4104), 'AQAB', TOO_LARGE],
    ['a modulus of 16,384 bits', odd(16_384), 'AQAB', TOO_LARGE],
    ['an exponent below 2³¹', odd(2048), 'f____w', VERIFIED],
    ['an exponent of three bytes', odd(2048), '____', VERIFIED],
    ['an exponent after zeros', odd(2048), 'AAAAAAEAAQ', VERIFIED],
    ['an exponent above 2³¹', odd(2048), odd(32), TOO_LARGE],
    ['an exponent above 2³¹ after zeros', odd(2048), odd(32, 3), TOO_LARGE],
    ['an exponent of 2,048 bits', odd(2048), odd(2048), TOO_LARGE],
  ]
  for (const [title, n, e, reason] of keys) {
    it(`by an RSA key with ${title} is ${reason === TOO_LARGE ? 'not verified' : 'held to its signature'}`, async () => {
      expect(await reasonOfForgery({ kty: 'RSA', n, e })).to.equal(reason)
    })
  }

  it('by an RSA key without a number for its exponent is refused as any other', async () => {
    for (const e of ['*', 'AAAAAAAA'])
      expect(await reasonOfForgery({ kty: 'RSA', n: odd(2048), e }), e).to.match(
        /^DPoP proof: (?!the RSA key)/,
      )
  })

  it('by another key may have members of an RSA key, which do not count (RFC 7517 §4)', async () => {
    const jwk = await exportJWK((await generateKeyPair('ES256')).publicKey)
    expect(await reasonOfForgery({ ...jwk, n: odd(8192), e: odd(64) }, 'ES256')).to.equal(VERIFIED)
  })
})
