/** What the verifier reads off a request, and the codes that stand for an error of jose in an API's own log. */
import { expect } from 'chai'
import { errors } from 'jose'
import { Refused } from '../src/errors.ts'
import { reasonOf } from '../src/jwt.ts'
import { readPresented } from '../src/request.ts'

const read = (headers: Readonly<Record<string, string>>) =>
  readPresented({ method: 'GET', url: '/', headers })

const refused = (headers: Readonly<Record<string, string>>): unknown => {
  try {
    return read(headers)
  } catch (error) {
    return error instanceof Refused ? [error.code, error.message] : error
  }
}

describe('resource server: what a request presents', () => {
  it('is a scheme and a token, and a proof if there is one', () => {
    expect(read({ authorization: 'bearer a.b.c' })).to.deep.equal({ scheme: 'Bearer', token: 'a.b.c' })
    expect(read({ authorization: 'dPoP abc=', dpop: 'x' })).to.deep.equal({
      scheme: 'DPoP',
      token: 'abc=',
      proof: 'x',
    })
  })

  it('is nothing without a scheme of ours', () => {
    expect(refused({})).to.deep.equal(['missing', 'no access token'])
    for (const authorization of ['', 'Basic eDp5', 'Bearers abc'])
      expect(refused({ authorization })).to.deep.equal(['missing', 'no access token'])
  })

  it('is a header of at most 64 KiB', () => {
    const longest = `Bearer ${'a'.repeat(64 * 1024 - 7)}`
    expect(read({ authorization: longest }).token).to.have.lengthOf(64 * 1024 - 7)
    expect(refused({ authorization: `${longest}a` })).to.deep.equal([
      'invalid_token',
      'the token is too long',
    ])
  })
})

describe('resource server: the reason of a JWT that is refused', () => {
  it('is a code, and the claim that failed', () => {
    const failed = new errors.JWTClaimValidationFailed('secret', { aud: 'secret' }, 'aud', 'check_failed')
    expect(reasonOf(failed)).to.equal('ERR_JWT_CLAIM_VALIDATION_FAILED aud')
    expect(reasonOf(new errors.JWTExpired('secret', {}, 'exp'))).to.equal('ERR_JWT_EXPIRED exp')
    expect(reasonOf(new errors.JWSInvalid('secret'))).to.equal('ERR_JWS_INVALID')
  })

  it('is a fixed text for an error of anything else', () => {
    for (const error of [new Error('secret'), Object.assign(new Error(), { code: 'secret' }), undefined])
      expect(reasonOf(error)).to.equal('the signature cannot be verified')
  })
})
