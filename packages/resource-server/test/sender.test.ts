/** What a request to the provider makes of bytes that are not text, and what it says of an error that is not ours. */
import { expect } from 'chai'
import { assertSender } from '../src/dpop.ts'
import { ProviderUnavailable, Refused } from '../src/errors.ts'
import { sender } from '../src/http.ts'

const REQUEST = {
  what: 'keys',
  url: 'https://id.example.com/jwks',
  accept: 'application/json',
  limit: 1024,
  timeout: 5,
}

const reasonOf = (fetch: () => Promise<Response>): Promise<unknown> =>
  sender(fetch)(REQUEST).catch((error: unknown) =>
    error instanceof ProviderUnavailable ? error.reason : error,
  )

describe('resource server: a request to the provider', () => {
  it('fails on bytes that are not UTF-8', async () => {
    const reason = await reasonOf(async () => new Response(new Uint8Array([0x22, 0xff, 0x22])))
    expect(reason).to.equal('keys: ERR_ENCODING_INVALID_ENCODED_DATA')
  })

  it('repeats only what is the code of a system', async () => {
    const thrown = (code: unknown) => reasonOf(() => Promise.reject(Object.assign(new Error(), { code })))
    expect(await thrown('ECONNRESET')).to.equal('keys: ECONNRESET')
    for (const code of [undefined, 'secret ECONNRESET', 'ECONNRESET secret', ['ECONNRESET'], 7])
      expect(await thrown(code)).to.equal('keys: the request failed')
  })
})

describe('resource server: a proof', () => {
  const reasonOfProof = (proof: string): Promise<unknown> =>
    assertSender({
      claims: { cnf: { jkt: 'a-key' } },
      presented: { scheme: 'DPoP', token: 'a-token', proof },
      request: new Request('https://api.example.com/orders'),
      origin: undefined,
    }).catch((error: unknown) => (error instanceof Refused ? error.message : error))

  it('is read up to 16 KiB', async () => {
    expect(await reasonOfProof('a'.repeat(16 * 1024))).to.equal('DPoP proof: ERR_JWS_INVALID')
    expect(await reasonOfProof('a'.repeat(16 * 1024 + 1))).to.equal('DPoP proof: too long')
  })
})
