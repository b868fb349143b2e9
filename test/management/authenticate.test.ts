/** Who may call the management API (protocol.md §2.3, §2.4). */
import { expect } from 'chai'
import { decodeJwt, SignJWT } from 'jose'
import type { JWK } from 'oidc-provider'
import { actorToken } from '../../fixtures/actor-tokens.ts'
import { machineClient } from '../../fixtures/clients.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { API, type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { dpopKey } from '../../fixtures/dpop.ts'
import { type HttpResponse, send } from '../../fixtures/http.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { exchange, issue, managementToken, postToken } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'

const VALID = { userId: 'alice' }
/** Scopes of a host whose names hold that of a management scope. */
const ALIKE = ['subject-tokens:created', 'old-subject-tokens:create']

function expectInvalidToken(response: HttpResponse, { issuer }: Deployment): void {
  expect([response.status, response.body], response.text).to.deep.equal([
    401,
    { error: 'invalid_token', error_description: 'the access token is invalid' },
  ])
  expect(response.headers.get('www-authenticate')).to.equal(
    `Bearer realm="${issuer}", error="invalid_token", error_description="the access token is invalid"`,
  )
  expect(response.headers.get('cache-control')).to.equal('no-store')
}

function expectInsufficientScope(response: HttpResponse, { issuer }: Deployment): void {
  expect([response.status, response.body?.error], response.text).to.deep.equal([403, 'insufficient_scope'])
  const challenge = response.headers.get('www-authenticate') ?? ''
  expect(challenge.startsWith(`Bearer realm="${issuer}", error="insufficient_scope"`)).to.equal(true)
  expect(challenge).to.match(/, scope="subject-tokens:create"$/)
}

describe('management: who may call', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment({
      clients: [
        machineClient({ client_id: 'reader', scope: 'subject-tokens:read' }),
        machineClient({ client_id: 'unscoped', scope: undefined }),
        machineClient({ client_id: 'elsewhere', scope: 'openid' }),
        machineClient({ client_id: 'alike', scope: ALIKE.join(' ') }),
        machineClient({ client_id: 'dpop', dpop_bound_access_tokens: true }),
      ],
      configuration: { scopes: ['openid', ...ALIKE] },
    })
  })
  after(() => deployment.close())

  const post = (authorization?: string) =>
    send(deployment.subjectTokens, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      body: JSON.stringify(VALID),
    })

  /** A valid management token, with changes. */
  const forge = (
    changes: Record<string, unknown> = {},
    signing: { key?: JWK; header?: Record<string, unknown> } = {},
  ) =>
    signJwt(
      {
        iss: deployment.issuer,
        aud: `${deployment.baseUrl}/api`,
        sub: 'backend',
        client_id: 'backend',
        scope: 'subject-tokens:create',
        iat: now(),
        exp: now() + 600,
        jti: unique('jti'),
        ...changes,
      },
      signing,
    )

  it('responds to a request without credentials with a bare challenge (RFC 6750 §3.1)', async () => {
    const response = await post()
    expect([response.status, response.body]).to.deep.equal([
      401,
      { error: 'invalid_token', error_description: 'an access token is required' },
    ])
    expect(response.headers.get('www-authenticate')).to.equal(`Bearer realm="${deployment.issuer}"`)
    expect(response.headers.get('cache-control')).to.equal('no-store')
  })

  it('accepts the token that the fixture forges, so each change below is the reason for the refusal', async () => {
    expect((await post(`Bearer ${await forge()}`)).status).to.equal(201)
  })

  for (const scheme of ['bearer', 'BEARER', 'Bearer ']) {
    it(`accepts the scheme ${JSON.stringify(scheme)} (RFC 9110 §11.1)`, async () => {
      expect((await post(`${scheme} ${await forge()}`)).status).to.equal(201)
    })
  }

  const headers: [title: string, header: (token: string) => string][] = [
    ['the scheme alone', () => 'Bearer'],
    ['the token alone', (token) => token],
    ['two tokens', (token) => `Bearer ${token} ${token}`],
    ['two tokens and a comma', (token) => `Bearer ${token}, Bearer ${token}`],
    ['a token in quotes', (token) => `Bearer "${token}"`],
    ['another scheme', (token) => `DPoP ${token}`],
    ['Basic', () => `Basic ${Buffer.from('backend:backend-secret').toString('base64')}`],
    ['a scheme that only starts the same', (token) => `BearerX ${token}`],
    ['no space between', (token) => `Bearer${token}`],
    ['characters beyond the token68 alphabet', () => 'Bearer %%%'],
    ['an unknown token', () => 'Bearer unknown'],
    ['dots', () => 'Bearer ..'],
    ['8,000 characters', () => `Bearer ${'a'.repeat(8000)}`],
  ]
  for (const [title, header] of headers) {
    it(`refuses an Authorization header with ${title}`, async () =>
      expectInvalidToken(await post(header(await forge())), deployment))
  }

  it('does not accept a token in the query or the body', async () => {
    const token = await forge()
    const response = await send(`${deployment.subjectTokens}?access_token=${token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...VALID, access_token: token }),
    })
    expect(response.status).to.equal(401)
  })

  const forged: [title: string, make: () => Promise<string>][] = [
    ['a changed signature', async () => (await forge()).replace(/.{8}$/, 'AAAAAAAA')],
    ['no signature', async () => (await forge()).replace(/[^.]+$/, '')],
    ['a signature of another key under our kid', () => forge({}, { key: signingKey() })],
    [
      'a key of its own in the header',
      () => {
        const { d: _private, ...jwk } = signingKey() as JWK & { d: string }
        return forge({}, { key: signingKey(), header: { jwk } })
      },
    ],
    ['alg none', async () => unsigned(decodeJwt(await forge()))],
    ['HS256 with our public key as the secret', async () => signedWithPublicKey(decodeJwt(await forge()))],
    ['another issuer', () => forge({ iss: 'https://evil.example.com' })],
    ['no issuer', () => forge({ iss: undefined })],
    ['the issuer with a slash after it', () => forge({ iss: `${deployment.issuer}/` })],
    ['another audience', () => forge({ aud: API })],
    ['no audience', () => forge({ aud: undefined })],
    ['the audience among others', () => forge({ aud: [`${deployment.baseUrl}/api`, API] })],
    ['an audience below ours', () => forge({ aud: `${deployment.baseUrl}/api/subject-tokens` })],
    ['typ JWT', () => forge({}, { header: { typ: 'JWT' } })],
    ['no typ', () => forge({}, { header: { typ: undefined } })],
    ['typ dpop+jwt', () => forge({}, { header: { typ: 'dpop+jwt' } })],
    ['no expiry', () => forge({ exp: undefined })],
    ['an expiry a second ago', () => forge({ exp: now() - 1 })],
    ['a start in the future', () => forge({ nbf: now() + 5 })],
    ['a user as subject', () => forge({ sub: 'alice' })],
    ['no subject', () => forge({ sub: undefined })],
    ['no client_id', () => forge({ client_id: undefined })],
    ['a client that does not exist', () => forge({ sub: 'gone', client_id: 'gone' })],
    [
      'a client named like a member of every object',
      () => forge({ sub: '__proto__', client_id: '__proto__' }),
    ],
    ['a confirmation by a DPoP key', () => forge({ cnf: { jkt: 'x' } })],
    ['a confirmation by a certificate', () => forge({ cnf: { 'x5t#S256': 'x' } })],
    ['an empty confirmation', () => forge({ cnf: {} })],
    ['a null confirmation', () => forge({ cnf: null })],
  ]
  for (const [title, make] of forged) {
    it(`refuses a token with ${title}`, async () =>
      expectInvalidToken(await post(`Bearer ${await make()}`), deployment))
  }

  it('accepts a token until the second before it expires, and not in that second', async () => {
    const clock = stopClock()
    try {
      const token = await managementToken(deployment)
      clock.tick(599)
      expect((await post(`Bearer ${token}`)).status).to.equal(201)
      clock.tick(1)
      expectInvalidToken(await post(`Bearer ${token}`), deployment)
    } finally {
      clock.restore()
    }
  })

  describe('refuses other kinds of token:', () => {
    const refuses = async (token: string) => expectInvalidToken(await post(`Bearer ${token}`), deployment)

    it('a token bound by DPoP, even with its proof', async () => {
      const key = await dpopKey()
      const client = machineClient({ client_id: 'dpop' })
      const response = await postToken(
        deployment,
        {
          grant_type: 'client_credentials',
          resource: `${deployment.baseUrl}/api`,
          scope: 'subject-tokens:create',
        },
        { client, headers: { dpop: await key.proof(deployment) } },
      )
      expect(response.body.token_type, response.text).to.equal('DPoP')
      await refuses(response.body.access_token)
      expectInvalidToken(await post(`DPoP ${response.body.access_token}`), deployment)
    })

    it("a user's token for another resource", async () =>
      refuses(await actorToken(deployment, { format: 'jwt', scope: 'openid subject-tokens:create' })))

    it("a user's opaque token", async () => refuses(await actorToken(deployment)))

    it('an opaque token of a machine client', async () => {
      const { body } = await postToken(
        deployment,
        { grant_type: 'client_credentials', scope: 'subject-tokens:create' },
        { client: machineClient() },
      )
      expect(body.access_token).to.be.a('string').and.not.to.include('.')
      await refuses(body.access_token)
    })

    it('an impersonation access token', async () => {
      const { subjectToken } = await issue(deployment)
      const { body } = await exchange(deployment, { subject_token: subjectToken })
      await refuses(body.access_token)
    })

    it('a subject token', async () => refuses((await issue(deployment)).subjectToken))

    it('an ID token', async () =>
      refuses(await forge({ aud: 'spa', sub: 'alice', nonce: 'n' }, { header: { typ: 'JWT' } })))

    it('a token of another deployment with the same key', () =>
      withDeployment({}, async (other) => refuses(await managementToken(other))))
  })

  describe('and its scope', () => {
    it('that is missing is 403, with a challenge that names it', async () => {
      const token = await managementToken(deployment, { scope: 'subject-tokens:read subject-tokens:revoke' })
      expectInsufficientScope(await post(`Bearer ${token}`), deployment)
    })

    it('that was not requested at all is 403', async () => {
      const token = await managementToken(deployment, { scope: null })
      expect(decodeJwt(token)).not.to.have.property('scope')
      expectInsufficientScope(await post(`Bearer ${token}`), deployment)
    })

    for (const scope of [
      'subject-tokens:create2',
      'subject-tokens',
      'SUBJECT-TOKENS:CREATE',
      ['subject-tokens:create'],
    ]) {
      it(`that only looks similar is 403: ${JSON.stringify(scope)}`, async () =>
        expectInsufficientScope(await post(`Bearer ${await forge({ scope })}`), deployment))
    }

    it('is not granted to a client whose metadata does not name it', async () => {
      const client = machineClient({ client_id: 'reader' })
      const response = await postToken(
        deployment,
        {
          grant_type: 'client_credentials',
          resource: `${deployment.baseUrl}/api`,
          scope: 'subject-tokens:create',
        },
        { client },
      )
      expect(response.body.error ?? response.body.scope).to.equal('invalid_scope')
      const forgedToken = await forge({ sub: 'reader', client_id: 'reader' })
      expectInsufficientScope(await post(`Bearer ${forgedToken}`), deployment)
    })

    for (const [clientId, error] of [
      ['unscoped', undefined],
      ['elsewhere', 'invalid_scope'],
      ['alike', 'invalid_scope'],
    ] as const) {
      it(`is not granted to the client ${clientId}, whose metadata does not name it: absent means none`, async () => {
        const client = machineClient({ client_id: clientId })
        const parameters = { grant_type: 'client_credentials', resource: `${deployment.baseUrl}/api` }
        const response = await postToken(
          deployment,
          { ...parameters, scope: 'subject-tokens:create' },
          { client },
        )
        expect(response.body.error, response.text).to.equal(error)
        if (error === undefined) expect(response.body).not.to.have.property('scope')
        const plain = await postToken(deployment, parameters, { client })
        expect(plain.status, plain.text).to.equal(200)
        expectInsufficientScope(await post(`Bearer ${plain.body.access_token}`), deployment)
        const forgedToken = await forge({ sub: clientId, client_id: clientId })
        expectInsufficientScope(await post(`Bearer ${forgedToken}`), deployment)
      })
    }
  })
})

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const unsigned = (claims: object) => `${encode({ alg: 'none', typ: 'at+jwt' })}.${encode(claims)}.`

async function signedWithPublicKey(claims: ReturnType<typeof decodeJwt>): Promise<string> {
  const { d: _private, ...jwk } = SIGNING_KEY as JWK & { d: string }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', kid: jwk.kid, typ: 'at+jwt' })
    .sign(Buffer.from(JSON.stringify(jwk)))
}
