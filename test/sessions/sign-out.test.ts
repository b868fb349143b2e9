/** RP-Initiated Logout 1.0 with an ID token of a session (protocol.md §10.7). */
import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import type { ClientMetadata, Configuration } from 'oidc-provider'
import type { Browser } from '../../fixtures/browser.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { AFTER_LOGOUT } from '../../fixtures/sessions.ts'
import { until } from '../../fixtures/until.ts'
import { sessionName } from '../../src/sessions/names.ts'
import { createMemoryStore } from '../../src/testing/index.ts'
import type { Scene } from '../spec/arriving.ts'
import { type SignedIn, withSession } from '../spec/arriving.ts'

type Fields = Record<string, string>
const get = ({ issuer }: Scene, browser: Browser, fields: Fields) =>
  browser.get(`${issuer}/session/end?${new URLSearchParams(fields)}`)
const post = ({ issuer }: Scene, browser: Browser, fields: Fields) =>
  browser.post(`${issuer}/session/end`, fields)

describe('sessions: a logout with an ID token of a session', () => {
  for (const [method, request] of [
    ['GET', get],
    ['POST', post],
  ] as const) {
    it(`ends that session, and goes where the application has registered: ${method}`, () =>
      withSession({}, async (scene) => {
        const { id, idToken, own, application, impersonation, provider } = scene
        const cookies = JSON.stringify(own.cookies)
        const answer = await request(scene, own, {
          id_token_hint: idToken,
          post_logout_redirect_uri: AFTER_LOGOUT,
          state: 'a & b',
        })
        expect([answer.status, answer.location?.href]).to.deep.equal([303, `${AFTER_LOGOUT}?state=a+%26+b`])
        expect(answer.headers.get('cache-control')).to.equal('no-store')
        const record = await impersonation.records.get(id)
        expect(record?.revocation).to.deep.equal({ cause: 'signedOut', client: 'shop' })
        expect(await provider.Grant.find(sessionName(id))).to.equal(undefined)
        await until(() => application.told.length === 1)
        // The engineer is still signed in, and nothing was asked of that session.
        expect(JSON.stringify(own.cookies)).to.equal(cookies)
        expect((await scene.authorize(own, { prompt: 'none' })).location?.searchParams.get('error')).to.equal(
          'consent_required',
        )
      }))

    it(`ends it without a cookie, and shows a page: ${method}`, () =>
      withSession({}, async (scene) => {
        const answer = await request(scene, scene.browser(), { id_token_hint: scene.idToken })
        expect(answer.status).to.equal(200)
        expect(answer.text).to.include('<h1>The session has ended</h1>')
        expect(answer.headers.get('content-security-policy')).to.include("default-src 'none'")
        expect(answer.headers.get('set-cookie')).to.equal(null)
        expect(await scene.state()).to.equal('revoked')
      }))
  }

  it('goes to no address that is not registered', () =>
    withSession({}, async (scene) => {
      const to = 'https://evil.example.com/'
      const answer = await get(scene, scene.own, {
        id_token_hint: scene.idToken,
        post_logout_redirect_uri: to,
      })
      expect([answer.status, answer.location]).to.deep.equal([200, undefined])
      expect(answer.text).not.to.include('evil')
      expect(await scene.state()).to.equal('revoked')
    }))

  it('may be repeated, and says the same', () =>
    withSession({}, async (scene) => {
      const fields = { id_token_hint: scene.idToken, post_logout_redirect_uri: AFTER_LOGOUT }
      await get(scene, scene.own, fields)
      const answer = await get(scene, scene.own, fields)
      expect([answer.status, answer.location?.href]).to.deep.equal([303, AFTER_LOGOUT])
    }))

  it('is found by every spelling of its path that the provider takes', async () => {
    for (const path of ['/SESSION/end', '/session/end/'])
      await withSession({}, async (scene) => {
        await scene.own.get(`${scene.issuer}${path}?id_token_hint=${scene.idToken}`)
        expect(await scene.state(), path).to.equal('revoked')
      })
  })

  it('is found where the deployment has moved the route', () =>
    withSession({ configuration: { routes: { end_session: '/goodbye' } } }, async (scene) => {
      await scene.own.get(`${scene.issuer}/goodbye?id_token_hint=${scene.idToken}`)
      expect(await scene.state()).to.equal('revoked')
    }))

  it('is found in a body that the host has parsed', () =>
    withSession(
      {
        before: [
          async (ctx, next) => {
            if (ctx.path.endsWith('/session/end')) {
              const chunks: Buffer[] = []
              for await (const chunk of ctx.req) chunks.push(chunk)
              Object.assign(ctx.req, {
                body: Object.fromEntries(new URLSearchParams(String(Buffer.concat(chunks)))),
              })
            }
            await next()
          },
        ],
      },
      async (scene) => {
        await post(scene, scene.own, { id_token_hint: scene.idToken })
        expect(await scene.state()).to.equal('revoked')
      },
    ))

  it('responds with 503 and goes nowhere where storage fails', () => {
    const store = createMemoryStore()
    return withSession({ options: { store } }, async (scene) => {
      store.revoke = async () => {
        throw new Error('private')
      }
      const answer = await get(scene, scene.own, {
        id_token_hint: scene.idToken,
        post_logout_redirect_uri: AFTER_LOGOUT,
      })
      expect([answer.status, answer.location]).to.deep.equal([503, undefined])
      expect(answer.headers.get('retry-after')).to.equal('5')
      expect(answer.text).not.to.include('private')
      expect(scene.eventsOf('impersonation.failed')).to.have.nested.property('[0].door', 'session')
    })
  })
})

/** Where the provider itself takes logouts by POST. */
const takesPost: Configuration = {
  enableHttpPostMethods: true,
  cookies: { keys: ['a key of the tests'], long: { sameSite: 'none' } },
  enabledJWA: { idTokenSigningAlgValues: ['ES256', 'HS256'] },
}

/** A client that shares the key of its ID tokens with the provider. */
const symmetric: ClientMetadata = {
  client_id: 'symmetric',
  client_secret: 'a secret of thirty-two characters',
  redirect_uris: ['https://symmetric.example.com/callback'],
  id_token_signed_response_alg: 'HS256',
}

function signedByClient(claims: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const input = `${encode({ alg: 'HS256' })}.${encode(claims)}`
  const signature = createHmac('sha256', String(symmetric.client_secret)).update(input).digest('base64url')
  return `${input}.${signature}`
}

describe('sessions: every other logout', () => {
  const hints: readonly (readonly [
    title: string,
    hint: (scene: SignedIn) => string | Promise<string>,
    Fields?,
  ])[] = [
    ['with a hint of another key', ({ idToken }) => `${idToken.slice(0, -8)}AAAAAAAA`],
    [
      'with an ID token of another issuer',
      ({ id }) =>
        signJwt({ iss: 'https://other.example.com', aud: 'shop', sub: 'alice', sid: sessionName(id) }),
    ],
    [
      'with an ID token of another session',
      ({ issuer }) => signJwt({ iss: issuer, aud: 'shop', sub: 'alice', sid: 'another' }),
    ],
    [
      'with an ID token for several audiences',
      ({ issuer, id }) =>
        signJwt({ iss: issuer, aud: ['shop', 'symmetric'], sub: 'alice', sid: sessionName(id) }),
    ],
    [
      'with an ID token that a client has signed itself, about the session of another',
      ({ issuer, id }) =>
        signedByClient({ iss: issuer, aud: 'symmetric', sub: 'alice', sid: sessionName(id), iat: 1, exp: 2 }),
    ],
    ['with the id of another client', ({ idToken }) => idToken, { client_id: 'symmetric' }],
    ['with what is no token', () => 'a.b.c'],
    ['without a hint', () => ''],
  ]
  for (const [title, hint, fields] of hints) {
    it(`is the provider's own: ${title}`, () =>
      withSession({ clients: [symmetric], configuration: takesPost }, async (scene) => {
        const id_token_hint = await hint(scene)
        for (const request of [get, post]) {
          const answer = await request(scene, scene.own, {
            ...(id_token_hint && { id_token_hint }),
            ...fields,
          })
          expect(answer.text, answer.text).to.match(/op.logoutForm|invalid_request|invalid_client/)
          expect(await scene.state()).to.equal('consumed')
        }
        expect(scene.application.told).to.deep.equal([])
      }))
  }

  it("is the provider's own: with a parameter twice", () =>
    withSession({ configuration: takesPost }, async (scene) => {
      const fields = new URLSearchParams({ id_token_hint: scene.idToken, state: 'a' })
      fields.append('state', 'b')
      const answers = [
        await scene.own.get(`${scene.issuer}/session/end?${fields}`),
        await scene.own.post(`${scene.issuer}/session/end`, fields),
      ]
      for (const { status } of answers) expect(status).to.equal(400)
      expect(await scene.state()).to.equal('consumed')
    }))
})
