/** Status lists (draft-ietf-oauth-status-list): which are read, and what becomes of a token. */
import { randomBytes } from 'node:crypto'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { createHeaderAndPayload, StatusList } from '@sd-jwt/jwt-status-list'
import { expect } from 'chai'
import { dpopKey } from '../../../fixtures/dpop.ts'
import { signJwt } from '../../../fixtures/jwts.ts'
import { SIGNING_KEY, signingKey } from '../../../fixtures/keys.ts'
import type { VerifierOptions } from '../src/index.ts'
import {
  AUDIENCE,
  type Changes,
  forged,
  JWKS,
  LIST,
  listOf,
  NOW,
  OTHER_KEY,
  publicPart,
  respond,
  signAnything,
  signList,
  withBearer,
} from './issuer.ts'
import { expectInvalidProof, expectInvalidToken, expectUnavailable, outcomeOf } from './refusals.ts'
import { useIssuer } from './stopped-issuer.ts'

const lstOf = (bytes: Buffer) => deflateSync(bytes).toString('base64url')

describe('resource server: status lists', () => {
  const { issuer, verify } = useIssuer({ each: true })

  const statusOf = async (idx: number, list: Changes) => {
    await issuer.publish([], { status_list: list })
    return outcomeOf(issuer.verifier()(withBearer(await issuer.tokenWithStatus(idx))))
  }
  const askedForLists = () => issuer.asked.filter((path) => path.startsWith('/api/'))

  it('asks for the list as the draft says, and lets the others pass', async () => {
    const headers: unknown[] = []
    await issuer.publish([3])
    issuer.routes.set(LIST, (request, response) => {
      headers.push([request.method, request.headers.accept, request.headers.authorization])
      respond(response, issuer.lists.get(0) ?? '')
    })
    expect(await verify(withBearer(await issuer.tokenWithStatus(2)))).to.include({ impersonated: true })
    await expectInvalidToken(verify(withBearer(await issuer.tokenWithStatus(3))), 'stopped')
    expect(await verify(withBearer(await issuer.tokenWithStatus(4)))).to.include({ impersonated: true })
    expect(headers).to.deep.equal([['GET', 'application/statuslist+jwt', undefined]])
  })

  it('reads every index of a list as the issuer sets it', async () => {
    const stopped = [0, 1, 7, 8, 15, 65_536, 131_071]
    const list = listOf(stopped)
    for (const idx of [...stopped, 2, 6, 9, 14, 16, 65_535, 65_537, 131_070])
      expect(await statusOf(idx, list), String(idx)).to.equal(stopped.includes(idx) ? 'stopped' : 'valid')
  })

  it('reads the examples of the draft (§4.1, §4.2)', async () => {
    const oneBit = { bits: 1, lst: 'eNrbuRgAAhcBXQ' }
    for (const [idx, status] of [1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1].entries())
      expect(await statusOf(idx, oneBit), String(idx)).to.equal(status === 0 ? 'valid' : 'stopped')
    const twoBits = { bits: 2, lst: 'eNo76fITAAPfAgc' }
    for (const [idx, status] of [1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3].entries())
      expect(await statusOf(idx, twoBits), String(idx)).to.equal(status === 0 ? 'valid' : 'stopped')
  })

  for (const bits of [1, 2, 4, 8] as const) {
    it(`reads lists of ${bits} bits that another implementation made`, async () => {
      const most = 2 ** bits - 1
      const statuses = Array.from({ length: 64 }, (_, index) => (index % 3 === 0 ? (index % most) + 1 : 0))
      const { header, payload } = createHeaderAndPayload(
        new StatusList(statuses, bits),
        { iss: issuer.issuer, sub: `${issuer.base}/0`, iat: NOW, exp: NOW + 300, ttl: 30 },
        { alg: 'ES256', typ: 'statuslist+jwt' },
      )
      issuer.lists.set(0, await signJwt(payload, { header }))
      for (const [idx, status] of statuses.entries()) {
        const attempt = verify(withBearer(await issuer.tokenWithStatus(idx)))
        if (status === 0) expect(await attempt).to.include({ impersonated: true })
        else await expectInvalidToken(attempt, 'stopped')
      }
    })
  }

  it('refuses an index outside the list, however large', async () => {
    for (const idx of [131_072, 131_073, 2 ** 32, Number.MAX_SAFE_INTEGER])
      expect(await statusOf(idx, listOf([]))).to.equal('status is outside its list')
    expect(await statusOf(8, { bits: 1, lst: lstOf(Buffer.alloc(1)) })).to.equal('status is outside its list')
    expect(await statusOf(0, { bits: 1, lst: lstOf(Buffer.alloc(0)) })).to.equal('status is outside its list')
  })

  it('reads a list with as many tokens and the most bits, when nothing of it can be compressed', async () => {
    const bytes = randomBytes(131_072)
    bytes[131_071] = 0
    const lst = lstOf(bytes)
    expect(lst.length).to.be.greaterThan(170_000)
    expect(await statusOf(131_071, { bits: 8, lst })).to.equal('valid')
  })

  describe('a reference', () => {
    const malformed: [title: string, status: unknown][] = [
      ['null', null],
      ['text', 'valid'],
      ['an array', []],
      ['empty', {}],
      ['to another mechanism', { identifier_list: { id: 'x', uri: 'https://other.example.com' } }],
      ['without list', { status_list: null }],
      ['with an array for a list', { status_list: [] }],
      ['without index', { status_list: { uri: 'own' } }],
      ['with a negative index', { status_list: { idx: -1, uri: 'own' } }],
      ['with half an index', { status_list: { idx: 0.5, uri: 'own' } }],
      ['with text for an index', { status_list: { idx: '0', uri: 'own' } }],
      ['with an index beyond counting', { status_list: { idx: 2 ** 53, uri: 'own' } }],
    ]
    for (const [title, status] of malformed) {
      it(`that is ${title} is refused, and nothing fetched`, async () => {
        const text = JSON.stringify(status).replace('own', `${issuer.base}/0`)
        await expectInvalidToken(
          verify(withBearer(await issuer.token({ status: JSON.parse(text) }))),
          'status is malformed',
        )
        expect(askedForLists()).to.deep.equal([])
      })
    }

    const foreign: [title: string, uriFrom: (base: string) => unknown][] = [
      ['to another host', () => 'https://evil.example.com/api/status-lists/0'],
      ['to another port', (base) => `${base.replace(/:\d+\//, ':1/')}/0`],
      ['to another path', (base) => `${base.replace('/api/', '/internal/')}/0`],
      ['to a name that starts alike', (base) => `${base}.evil.example.com/0`],
      ['to a path that starts alike', (base) => `${base}-2/0`],
      ['to the base itself', (base) => base],
      ['to the base with a slash', (base) => `${base}/`],
      ['with a path after the number', (base) => `${base}/0/x`],
      ['with a way back', (base) => `${base}/1/../0`],
      ['with a way out', (base) => `${base}/../../admin/0`],
      ['with a way out in code', (base) => `${base}/%2e%2e/0`],
      ['with a number in code', (base) => `${base}/%30`],
      ['with two slashes', (base) => `${base}//0`],
      ['with a slash at the end', (base) => `${base}/0/`],
      ['with a backslash', (base) => `${base}\\0`],
      ['with a query', (base) => `${base}/0?x=1`],
      ['with a fragment', (base) => `${base}/0#x`],
      ['with a user', (base) => `${base.replace('://', '://me@')}/0`],
      ['with the host as a user', (base) => `${base}@evil.example.com/0`],
      ['with a sign', (base) => `${base}/-1`],
      ['with an exponent', (base) => `${base}/1e3`],
      ['with digits of another script', (base) => `${base}/١`],
      ['with a line break', (base) => `${base}/0\n`],
      ['with a space', (base) => `${base}/ 0`],
      ['with a number beyond counting', (base) => `${base}/${'9'.repeat(17)}`],
      ['in capitals', (base) => `${base.replace('http', 'HTTP')}/0`],
      ['without scheme', (base) => `${base.replace('http:', '')}/0`],
      ['that is no text', (base) => [`${base}/0`]],
      ['that is missing', () => undefined],
    ]
    for (const [title, uriFrom] of foreign) {
      it(`${title} is refused, and nothing fetched`, async () => {
        await issuer.publish()
        const status = { status_list: { idx: 0, uri: uriFrom(issuer.base) } }
        const attempt = verify(withBearer(await issuer.token({ status })))
        await expectInvalidToken(attempt, 'not of the issuer')
        expect(issuer.asked.filter((path) => !path.startsWith('/oidc/'))).to.deep.equal([])
      })
    }
  })

  describe('a token that is not valid otherwise', () => {
    const refused: [title: string, claims: Changes, authorization?: string][] = [
      ['expired', { exp: NOW }],
      ['for another API', { aud: 'https://other.example.com' }],
      ['of another issuer', { iss: 'https://other.example.com' }],
      ['without client', { client_id: '' }],
      ['with a malformed act', { act: {} }],
      ['bound to a certificate', { cnf: { 'x5t#S256': 'x' } }],
      ['bound to a key that is not proven', { cnf: { jkt: 'x' } }],
    ]
    for (const [title, claims] of refused) {
      it(`(${title}) has nothing fetched`, async () => {
        await issuer.publish()
        await expectInvalidToken(verify(withBearer(await issuer.tokenWithStatus(0, claims))))
        expect(askedForLists()).to.deep.equal([])
      })
    }

    it('(with a wrong proof) has nothing fetched', async () => {
      await issuer.publish()
      const key = await dpopKey()
      const token = await issuer.tokenWithStatus(0, { cnf: { jkt: key.thumbprint } })
      const dpop = await key.proofAt(AUDIENCE, 'another')
      const headers = { authorization: `DPoP ${token}`, dpop }
      await expectInvalidProof(verify(new Request(AUDIENCE, { headers })), 'ath')
      expect(askedForLists()).to.deep.equal([])
    })
  })

  /** Publishes something for list 0, and sees what becomes of a token in it: never "valid", and no other error. */
  const withList = async (jwt: string) => {
    issuer.lists.set(0, jwt)
    return expectUnavailable(verify(withBearer(await issuer.tokenWithStatus(0))), '^(status list|keys): ')
  }

  const brokenClaims: [title: string, claims: Changes, reason: string][] = [
    ['of another address', { sub: 'https://other.example.com/api/status-lists/0' }, 'sub'],
    ['of no address', { sub: undefined }, 'sub'],
    ['of another issuer', { iss: 'https://other.example.com' }, 'iss'],
    ['of no issuer', { iss: undefined }, 'iss'],
    ['that has expired', { exp: NOW }, 'exp'],
    ['without expiry', { exp: undefined }, 'exp'],
    ['whose expiry is text', { exp: 'later' }, 'exp'],
    ['without time of issue', { iat: undefined }, 'iat'],
    ['whose time of issue is text', { iat: 'now' }, 'iat'],
    ['that is not valid yet', { nbf: NOW + 1 }, 'nbf'],
    ['without ttl', { ttl: undefined }, 'ttl'],
    ['whose ttl is text', { ttl: '30' }, 'ttl'],
    ['whose ttl is zero', { ttl: 0 }, 'ttl'],
    ['whose ttl is negative', { ttl: -30 }, 'ttl'],
    ['without list', { status_list: undefined }, 'status_list'],
    ['whose list is null', { status_list: null }, 'bits'],
    ['whose list is an array', { status_list: [1] }, 'bits'],
    ['without bits', { status_list: { lst: listOf([]).lst } }, 'bits'],
    ['without lst', { status_list: { bits: 1 } }, 'lst$'],
    ['whose lst is an array', { status_list: { bits: 1, lst: [] } }, 'lst$'],
    ['whose lst is no base64url', { status_list: { bits: 1, lst: 'ä€' } }, 'cannot be decompressed'],
    ['whose lst is empty', { status_list: { bits: 1, lst: '' } }, 'cannot be decompressed'],
    ['whose lst is junk', { status_list: { bits: 1, lst: 'AAAA' } }, 'cannot be decompressed'],
  ]
  for (const bits of [0, 3, 5, 16, -1, 1.5, '1', null, true, 2 ** 31]) {
    brokenClaims.push([`of ${JSON.stringify(bits)} bits`, { status_list: { ...listOf([]), bits } }, 'bits'])
  }
  const zeros = Buffer.alloc(16_384)
  const streams: Readonly<Record<string, Buffer>> = {
    'without end': deflateSync(zeros).subarray(0, 20),
    'with junk behind it': Buffer.concat([deflateSync(zeros), Buffer.from('junk')]),
    'with a wrong checksum': Buffer.concat([deflateSync(zeros).subarray(0, -1), Buffer.from([7])]),
    'of raw DEFLATE': deflateRawSync(zeros),
    'of gzip': gzipSync(zeros),
    'that is not compressed': zeros,
    'of a byte too much': deflateSync(Buffer.alloc(131_073)),
    'that is a bomb': deflateSync(Buffer.alloc(100_000_000), { level: 9 }),
  }
  for (const [title, stream] of Object.entries(streams)) {
    const status_list = { bits: 1, lst: stream.toString('base64url') }
    brokenClaims.push([`with a stream ${title}`, { status_list }, 'cannot be decompressed'])
  }
  for (const [title, claims, reason] of brokenClaims) {
    it(`does not believe a list ${title}`, async () => {
      expect(await withList(await signList(`${issuer.base}/0`, claims))).to.match(new RegExp(reason))
    })
  }

  it('does not believe a list that someone else signed', async () => {
    const uri = `${issuer.base}/0`
    const attacker = signingKey('ES256', SIGNING_KEY.kid)
    await withList(await signList(uri, {}, { key: attacker, header: { jwk: publicPart(attacker) } }))
    expect(await withListAfterRest(await signList(uri, {}, { key: OTHER_KEY }))).to.include('NO_MATCHING_KEY')
    const [head, body] = (await signList(uri)).split('.')
    expect(await withListAfterRest(`${head}.${body}.`)).to.include('SIGNATURE')
    const none = forged({ alg: 'none', typ: 'statuslist+jwt' }, body, '')
    expect(await withListAfterRest(none)).to.include('ALG_NOT_ALLOWED')
    const k = Buffer.from(JSON.stringify(publicPart(SIGNING_KEY))).toString('base64url')
    const shared = { kty: 'oct', k, alg: 'HS256', kid: SIGNING_KEY.kid } as never
    expect(await withListAfterRest(await signList(uri, {}, { key: shared }))).to.include('ALG_NOT_ALLOWED')
  })
  const withListAfterRest = (jwt: string) => {
    issuer.clock.tick(1)
    return withList(jwt)
  }

  it('does not believe another kind of JWT, nor take a list for a token', async () => {
    const uri = `${issuer.base}/0`
    for (const typ of ['JWT', 'at+jwt', 'statuslist+cwt', undefined])
      expect(await withListAfterRest(await signList(uri, {}, { header: { typ } }))).to.include('typ')
    const list = await signList(uri, {
      ...{ aud: AUDIENCE, sub: 'alice' },
      client_id: 'spa',
      jti: 'x',
    })
    await expectInvalidToken(verify(withBearer(list)), 'typ')
  })

  it('does not believe what is not a JWT', async () => {
    for (const junk of ['', 'junk', '..', 'a.b.c', '{}', signAnything({ typ: 'statuslist+jwt' }, '[]')])
      await withListAfterRest(junk)
  })

  it('believes a list of a full media type', async () => {
    const header = { typ: 'application/statuslist+jwt' }
    await issuer.publish([], {}, { header })
    expect(await verify(withBearer(await issuer.tokenWithStatus(0)))).to.include({ impersonated: true })
  })

  it('looks for a new key that signed a list', async () => {
    await verify(withBearer(await issuer.token()))
    issuer.clock.tick(5)
    issuer.publishKeys(SIGNING_KEY, OTHER_KEY)
    await issuer.publish([], {}, { key: OTHER_KEY })
    expect(await verify(withBearer(await issuer.tokenWithStatus(0)))).to.include({ impersonated: true })
    expect(issuer.timesAsked(JWKS)).to.equal(2)
  })

  describe('options', () => {
    const seen = async (options: Partial<VerifierOptions>, claims: Changes) =>
      issuer
        .verifier(options)(withBearer(await issuer.token(claims)))
        .then(
          ({ impersonated }) => impersonated,
          ({ reason }) => reason,
        )

    it('statusLists names the base where it is another', async () => {
      const base = issuer.base.replace('/api/status-lists', '/public/l')
      issuer.routes.set('/public/l/12', async (_, response) =>
        respond(response, await signList(`${base}/12`, { status_list: listOf([5]) })),
      )
      const status = (idx: number, uri = `${base}/12`) => ({ status: { status_list: { idx, uri } } })
      expect(await seen({ statusLists: base }, status(4))).to.equal(true)
      expect(await seen({ statusLists: base }, status(5))).to.equal('stopped')
      expect(await seen({ statusLists: base }, status(4, `${issuer.base}/0`))).to.match(/not of the issuer/)
    })

    it('statusLists false fetches none, and takes any status for an impersonation', async () => {
      const uri = 'https://evil.example.com/x'
      const statuses: unknown[] = [
        { status_list: { idx: 0, uri } },
        {},
        null,
        'x',
        { status_list: { uri: `${issuer.base}/0` } },
      ]
      for (const status of statuses) expect(await seen({ statusLists: false }, { status })).to.equal(true)
      expect(await seen({ statusLists: false }, {})).to.equal(false)
      expect(askedForLists()).to.deep.equal([])
    })

    it('requireStatus refuses an impersonated JWT that could not be stopped', async () => {
      await issuer.publish()
      const status = { status_list: { idx: 0, uri: `${issuer.base}/0` } }
      const act = { sub: 'bob' }
      const through = { sub: 'orders', client_id: 'orders' }
      expect(await seen({ requireStatus: true }, { act })).to.equal('impersonated, and without status')
      expect(await seen({ requireStatus: true }, { act: { ...through, act } })).to.match(/without status/)
      expect(await seen({ requireStatus: true }, { act, status })).to.equal(true)
      expect(await seen({ requireStatus: true }, { status })).to.equal(true)
      expect(await seen({ requireStatus: true }, {})).to.equal(false)
      expect(await seen({ requireStatus: true }, { act: through })).to.equal(false)
      expect(await seen({}, { act })).to.equal(true)
    })
  })

  it('derives the base from the issuer as the provider does', async () => {
    const fetched: string[] = []
    const derived = async (own: string, uri: string) => {
      const fetcher: typeof fetch = async (url) => {
        fetched.push(String(url))
        if (String(url).endsWith('openid-configuration'))
          return Response.json({ issuer: own, jwks_uri: `${issuer.issuer}/jwks` })
        return String(url).endsWith('/jwks')
          ? Response.json({ keys: [publicPart(SIGNING_KEY)] })
          : new Response('junk')
      }
      const token = await issuer.token({ iss: own, status: { status_list: { idx: 0, uri } } })
      await expectUnavailable(
        issuer.verifier({ issuer: own, fetch: fetcher })(withBearer(token)),
        'status list',
      )
      expect(fetched.at(-1)).to.equal(uri)
    }
    await derived('https://id.example.com/oidc', 'https://id.example.com/api/status-lists/0')
    await derived('https://id.example.com/oidc/', 'https://id.example.com/api/status-lists/0')
    await derived('https://id.example.com', 'https://id.example.com/api/status-lists/0')
    await derived('https://id.example.com/t/a', 'https://id.example.com/t/a/api/status-lists/0')
    await derived('https://id.example.com/oidc/a', 'https://id.example.com/oidc/a/api/status-lists/0')
  })
})
