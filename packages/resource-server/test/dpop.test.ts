/** Tokens that are bound to a key (RFC 9449 §7): the proof, and every way to come without one. */
import { expect } from 'chai'
import { exportJWK, type GenerateKeyPairResult, generateKeyPair } from 'jose'
import { type DpopKey, dpopKey, hashOf } from '../../../fixtures/dpop.ts'
import type { ApiRequest, NodeRequest } from '../src/index.ts'
import { AUDIENCE, type Changes, forged, NOW } from './issuer.ts'
import { expectInvalidProof, expectInvalidToken, refusalOf } from './refusals.ts'
import { useIssuer } from './stopped-issuer.ts'

const URL_OF_ORDERS = `${AUDIENCE}/orders`

describe('resource server: DPoP', () => {
  const { issuer, verify } = useIssuer()
  let key: DpopKey
  let token: string
  before(async () => {
    key = await dpopKey()
    token = await issuer.token({ cnf: { jkt: key.thumbprint } })
  })

  const proofFor = (changes: Changes = {}, by = key) => by.proofAt(URL_OF_ORDERS, token, changes)
  const requestWith = (proof: string | undefined, authorization = `DPoP ${token}`, url = URL_OF_ORDERS) =>
    new Request(url, { headers: { authorization, ...(proof !== undefined && { dpop: proof }) } })

  const expectRefusedProof = (request: ApiRequest, reason: string) =>
    expectInvalidProof(verify(request), reason)

  it('accepts a token with a proof of its key', async () => {
    const caller = await verify(requestWith(await proofFor()))
    expect(caller.claims.cnf).to.deep.equal({ jkt: key.thumbprint })
    expect(caller).to.include({ user: 'alice' })
  })

  it('compares with the URL without query', async () => {
    const request = requestWith(await proofFor(), undefined, `${URL_OF_ORDERS}?page=2`)
    expect(await verify(request)).to.include({ user: 'alice' })
  })

  it('takes one proof twice within its minute, because no jti is remembered', async () => {
    const proof = await proofFor()
    for (const _ of [1, 2]) expect(await verify(requestWith(proof))).to.include({ user: 'alice' })
  })

  const proofs: [title: string, changes: Changes, refused?: string][] = [
    ['a minute old', { iat: NOW - 60 }],
    ['a minute ahead', { iat: NOW + 60 }],
    ['with a query, which does not count', { htu: `${URL_OF_ORDERS}?page=2` }],
    ['with a host in capitals', { htu: 'https://API.example.com/orders' }],
    ['with the default port', { htu: 'https://api.example.com:443/orders' }],
    ['for another method', { htm: 'POST' }, 'htm'],
    ['for the method in small letters', { htm: 'get' }, 'htm'],
    ['without method', { htm: undefined }, 'htm'],
    ['for another path', { htu: `${AUDIENCE}/invoices` }, 'htu'],
    ['for a path with a slash more', { htu: `${URL_OF_ORDERS}/` }, 'htu'],
    ['for another host', { htu: 'https://evil.example.com/orders' }, 'htu'],
    ['for another scheme', { htu: 'http://api.example.com/orders' }, 'htu'],
    ['for a path alone', { htu: '/orders' }, 'htu'],
    ['without URL', { htu: undefined }, 'htu'],
    ['whose URL is an array', { htu: [URL_OF_ORDERS] }, 'htu'],
    ['over a minute old', { iat: NOW - 61 }, 'iat'],
    ['over a minute ahead', { iat: NOW + 61 }, 'iat'],
    ['without time', { iat: undefined }, 'iat'],
    ['whose time is text', { iat: String(NOW) }, 'iat'],
    ['without jti', { jti: undefined }, 'jti'],
    ['with an empty jti', { jti: '' }, 'jti'],
    ['for another token', { ath: hashOf('another') }, 'ath'],
    ['for no token', { ath: undefined }, 'ath'],
    ['that expired', { exp: NOW - 1 }, 'EXPIRED'],
  ]
  for (const [title, changes, refused] of proofs) {
    it(`${refused ? 'refuses' : 'accepts'} a proof ${title}`, async () => {
      const request = requestWith(await proofFor(changes))
      if (refused) await expectRefusedProof(request, refused)
      else expect(await verify(request)).to.include({ user: 'alice' })
    })
  }

  it('refuses a proof by another key', async () => {
    const proof = await proofFor({}, await dpopKey())
    await expectInvalidToken(verify(requestWith(proof)), 'another key')
  })

  it('refuses a token without proof, with an empty one, and with two', async () => {
    await expectRefusedProof(requestWith(undefined), 'there is none')
    await expectRefusedProof(requestWith(''), 'ERR_JWS_INVALID')
    await expectRefusedProof(requestWith(`${await proofFor()}, ${await proofFor()}`), 'ERR_JWS_INVALID')
    const headers = { host: 'api.example.com', authorization: `DPoP ${token}`, dpop: [await proofFor()] }
    await expectRefusedProof({ method: 'GET', url: '/orders', headers }, 'there is none')
  })

  it('refuses a bound token as Bearer, with its proof or without', async () => {
    for (const proof of [undefined, await proofFor()])
      await expectInvalidToken(verify(requestWith(proof, `Bearer ${token}`)), 'presented as Bearer')
  })

  it('refuses a token that is not bound as DPoP', async () => {
    const unbound = await issuer.token()
    const proof = await proofFor({ ath: hashOf(unbound) })
    await expectInvalidToken(verify(requestWith(proof, `DPoP ${unbound}`)), 'not bound')
  })

  it('does not look at a proof that comes with an unbound Bearer token', async () => {
    const unbound = await issuer.token()
    expect(await verify(requestWith('junk', `Bearer ${unbound}`))).to.include({ user: 'alice' })
  })

  describe('what a proof is signed with', () => {
    const make = async (header: Changes, keys?: GenerateKeyPairResult) => {
      const own = await dpopKey(header, keys)
      const bound = await issuer.token({ cnf: { jkt: own.thumbprint } })
      return requestWith(await own.proofAt(URL_OF_ORDERS, bound), `DPoP ${bound}`)
    }

    for (const alg of ['ES256', 'ES384', 'EdDSA', 'RS256', 'PS512']) {
      it(`accepts ${alg}`, async () => {
        expect(await verify(await make({ alg }))).to.include({ user: 'alice' })
      })
    }

    it('refuses a proof of another type', async () => {
      for (const typ of ['jwt', 'at+jwt', undefined])
        await expectRefusedProof(await make({ typ }), 'ERR_JWT_CLAIM_VALIDATION_FAILED typ')
    })

    it('refuses a private key in the header', async () => {
      const keys = await generateKeyPair('ES256', { extractable: true })
      await expectRefusedProof(await make({ jwk: await exportJWK(keys.privateKey) }, keys), 'ERR_JWS_INVALID')
    })

    it('refuses a header without key, or with junk for one', async () => {
      for (const jwk of [
        undefined,
        null,
        'key',
        [],
        {},
        { kty: 'EC' },
        { kty: 'EC', crv: 'P-256', x: 'a', y: {} },
      ]) {
        const refusal = await refusalOf(verify(await make({ jwk })))
        expect(refusal.status, refusal.reason).to.equal(401)
      }
    })

    it('refuses alg none and a shared secret', async () => {
      const [, body, signature] = (await proofFor()).split('.')
      for (const header of [{ alg: 'none' }, { alg: 'HS256' }]) {
        const head = { typ: 'dpop+jwt', jwk: { kty: 'oct', k: 'AAAA' }, ...header }
        await expectRefusedProof(requestWith(forged(head, body, signature)), 'ALG_NOT_ALLOWED')
      }
    })

    it('refuses a changed signature, junk, and a proof of a megabyte', async () => {
      await expectRefusedProof(requestWith((await proofFor()).replace(/.{8}$/, 'AAAAAAAA')), 'SIGNATURE')
      for (const junk of ['junk', 'a.b.c', '..'])
        await expectRefusedProof(requestWith(junk), 'ERR_JWS_INVALID')
      await expectRefusedProof(requestWith(await proofFor({ padding: 'x'.repeat(1_000_000) })), 'too long')
    })
  })

  describe('the URL of the request', () => {
    const node = (changes: object): NodeRequest => ({
      method: 'GET',
      url: '/orders',
      headers: {},
      ...changes,
    })
    const host = 'api.example.com'
    const socket = { encrypted: true }
    const EVIL = 'https://evil.example.com/orders'
    const PLAIN = 'http://api.example.com/orders'

    /** What a request is, the URL that its proof names, the option `origin`, and the member that is refused. */
    const rows: [title: string, request: object, htu: string, origin?: string, refused?: string][] = [
      ['takes the host of the request', { headers: { host } }, PLAIN],
      ['sees TLS', { headers: { host }, socket }, URL_OF_ORDERS],
      ['reads the authority of HTTP/2', { headers: { ':authority': host }, socket }, URL_OF_ORDERS],
      ['does not see TLS that ends elsewhere', { headers: { host } }, URL_OF_ORDERS, undefined, 'htu'],
      ['takes the option instead', { headers: { host } }, URL_OF_ORDERS, AUDIENCE],
      ['believes no Host beside it', { headers: { host: 'evil.example.com' } }, EVIL, AUDIENCE, 'htu'],
      ['takes the whole path of a mount', { url: '/', originalUrl: '/orders?a=b' }, URL_OF_ORDERS, AUDIENCE],
      ['takes no host from two slashes', { url: '//evil.example.com/orders' }, EVIL, AUDIENCE, 'htu'],
      ['takes no absolute target', { url: EVIL }, EVIL, AUDIENCE, 'htu'],
      [
        'takes no target that makes the host a user',
        { url: '@evil.example.com/orders' },
        EVIL,
        AUDIENCE,
        'htu',
      ],
      ['takes no asterisk', { url: '*' }, `${AUDIENCE}/*`, AUDIENCE, 'htu'],
      [
        'takes no Host with a user in it',
        { headers: { host: 'x@evil.example.com' }, socket },
        ...([EVIL, undefined, 'htu'] as const),
      ],
      ['takes no request without Host', {}, 'http://undefined/orders', undefined, 'htu'],
      ['takes no request without method', { method: undefined, headers: { host } }, PLAIN, undefined, 'htm'],
    ]
    for (const [title, changes, htu, origin, refused] of rows) {
      it(title, async () => {
        const request = node(changes)
        const headers = { ...request.headers, authorization: `DPoP ${token}`, dpop: await proofFor({ htu }) }
        const attempt = issuer.verifier({ origin })({ ...request, headers })
        if (refused) expect((await refusalOf(attempt)).reason).to.equal(`DPoP proof: ${refused}`)
        else expect(await attempt).to.include({ user: 'alice' })
      })
    }

    it('takes no proof that names nothing for a request that tells nothing', async () => {
      const attempt = async (request: NodeRequest, changes: Changes) => {
        const headers = { authorization: `DPoP ${token}`, dpop: await proofFor(changes) }
        return (await refusalOf(verify({ ...request, headers }))).reason
      }
      expect(await attempt(node({ method: undefined }), { htm: undefined })).to.equal('DPoP proof: htm')
      expect(await attempt(node({ method: '' }), { htm: '' })).to.equal('DPoP proof: htm')
      expect(await attempt(node({ url: '*' }), { htu: undefined })).to.equal('DPoP proof: htu')
    })

    it('takes the option for a web Request, too', async () => {
      const behindProxy = issuer.verifier({ origin: AUDIENCE })
      const request = requestWith(await proofFor(), undefined, 'http://10.0.0.7:8080/orders')
      expect(await behindProxy(request)).to.include({ user: 'alice' })
      await expectRefusedProof(request, 'htu')
    })
  })
})
