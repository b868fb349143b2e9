/** The sign-out of an application with an ID token of a session (docs/protocol.md §10.7). */
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { SignJWT } from 'jose'
import { type Answer, Browser } from '../../fixtures/browser.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { AFTER_LOGOUT } from '../../fixtures/sessions.ts'
import { until } from '../../fixtures/until.ts'
import { sessionName } from '../../src/sessions/provider.ts'
import { errorOf, type Given, hasEnded, KEY, replace, type SignedIn, signedIn } from './arriving.ts'
import { declareCells } from './matrix.ts'
import { type Named, values } from './rule.ts'

type Fields = Record<string, string> | URLSearchParams
const METHODS: Named<(scene: SignedIn, browser: Browser, fields: Fields, path?: string) => Promise<Answer>> =
  {
    GET: ({ issuer }, browser, fields, path = '/session/end') =>
      browser.get(`${issuer}${path}?${new URLSearchParams(fields)}`),
    POST: ({ issuer }, browser, fields, path = '/session/end') => browser.post(issuer + path, fields),
  }

/** Where a logout is found all the same. */
const FOUND: Named<readonly [method: string, path: string, given?: Given]> = {
  'in capitals': ['GET', '/SESSION/end'],
  'with a slash at its end': ['GET', '/session/end/'],
  'where the deployment has moved the route': [
    'GET',
    '/goodbye',
    { configuration: { routes: { end_session: '/goodbye' } } },
  ],
  'in a body that the host has parsed': [
    'POST',
    '/session/end',
    {
      before: [
        async ({ path, req }, next) => {
          if (path.endsWith('/session/end'))
            Object.assign(req, { body: Object.fromEntries(new URLSearchParams(await text(req))) })
          await next()
        },
      ],
    },
  ],
}

/** A client that shares the key of its ID tokens with the provider, and the provider itself takes logouts by POST. */
const symmetric = {
  client_id: 'symmetric',
  client_secret: 'a secret of thirty-two characters',
  redirect_uris: ['https://symmetric.example.com/callback'],
  id_token_signed_response_alg: 'HS256' as const,
}
const SYMMETRIC: Given = {
  clients: [symmetric],
  configuration: {
    enableHttpPostMethods: true,
    cookies: { keys: [KEY], long: { sameSite: 'none' } },
    enabledJWA: { idTokenSigningAlgValues: ['ES256', 'HS256'] },
  },
}
const idTokenOf = ({ issuer, id }: SignedIn, changes: object = {}) => ({
  ...{ iss: issuer, aud: 'shop', sub: 'alice', sid: sessionName(id) },
  ...changes,
})
/** What comes with a logout that is none of a session. */
const HINTS: Named<(scene: SignedIn) => Fields | Promise<Fields>> = {
  'a hint of another key': ({ idToken }) => ({ id_token_hint: `${idToken.slice(0, -8)}AAAAAAAA` }),
  'an ID token of another issuer': async (scene) => ({
    id_token_hint: await signJwt(idTokenOf(scene, { iss: 'https://other.example.com' })),
  }),
  'an ID token of another session': async (scene) => ({
    id_token_hint: await signJwt(idTokenOf(scene, { sid: 'another' })),
  }),
  'an ID token for several audiences': async (scene) => ({
    id_token_hint: await signJwt(idTokenOf(scene, { aud: ['shop', 'symmetric'] })),
  }),
  'an ID token that a client has signed itself, about the session of another': async (scene) => ({
    id_token_hint: await new SignJWT(idTokenOf(scene, { aud: 'symmetric', iat: 1, exp: 2 }))
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(symmetric.client_secret)),
  }),
  'the id of another client': ({ idToken }) => ({ id_token_hint: idToken, client_id: 'symmetric' }),
  'a parameter twice': ({ idToken }) => new URLSearchParams(`id_token_hint=${idToken}&state=a&state=b`),
  'what is no token': () => ({ id_token_hint: 'a.b.c' }),
  nothing: () => ({}),
}

declareCells('L, sign-outs', [
  values('L12', METHODS, (logout) =>
    signedIn(async (scene) => {
      const answer = await logout(scene, new Browser(), { id_token_hint: scene.idToken })
      expect(answer.status).to.equal(200)
      expect(answer.text).to.include('<h1>The session has ended</h1>')
      expect(answer.headers.get('content-security-policy')).to.include("default-src 'none'")
      expect(answer.headers.get('set-cookie')).to.equal(null)
      await hasEnded(scene)
      const { revocation } = (await scene.impersonation.records.get(scene.id)) ?? {}
      expect(revocation).to.deep.equal({ cause: 'signedOut', client: 'shop' })
    }),
  ),
  values('L12, found', FOUND, ([method, path, given]) =>
    signedIn(async (scene) => {
      await METHODS[method]?.(scene, scene.own, { id_token_hint: scene.idToken }, path)
      expect(await scene.state()).to.equal('revoked')
    }, given),
  ),
  values('L12, and a 503 that goes nowhere where storage fails', METHODS, (logout) =>
    signedIn(async (scene) => {
      replace(scene.store, 'revoke', () => Promise.reject(new Error('private')))
      const to = { id_token_hint: scene.idToken, post_logout_redirect_uri: AFTER_LOGOUT }
      const { status, location, headers, text } = await logout(scene, scene.own, to)
      expect([status, location, headers.get('retry-after')]).to.deep.equal([503, undefined, '5'])
      expect(text).not.to.include('private')
      expect(scene.eventsOf('impersonation.failed')).to.have.nested.property('[0].door', 'session')
      expect(await scene.state()).to.equal('consumed')
    }),
  ),
  values('L13', METHODS, (logout) =>
    signedIn(async (scene) => {
      const { own, idToken, application } = scene
      const cookies = JSON.stringify(own.cookies)
      const to = { id_token_hint: idToken, post_logout_redirect_uri: AFTER_LOGOUT, state: 'a & b' }
      for (const _ of ['once', 'and again']) {
        const { status, location, headers } = await logout(scene, own, to)
        expect([status, location?.href]).to.deep.equal([303, `${AFTER_LOGOUT}?state=a+%26+b`])
        expect(headers.get('cache-control')).to.equal('no-store')
      }
      await hasEnded(scene)
      expect(await scene.state()).to.equal('revoked')
      await until(() => application.told.length === 1)
      // The engineer is still signed in, and nothing was asked of that session.
      expect(JSON.stringify(own.cookies)).to.equal(cookies)
      expect(errorOf(await scene.authorize(own, { prompt: 'none' }))).to.equal('consent_required')
    }),
  ),
  values('L13, and to no other address', METHODS, (logout) =>
    signedIn(async (scene) => {
      const to = { id_token_hint: scene.idToken, post_logout_redirect_uri: 'https://evil.example.com/' }
      const answer = await logout(scene, scene.own, to)
      expect([answer.status, answer.location]).to.deep.equal([200, undefined])
      expect(answer.text).not.to.include('evil')
      expect(await scene.state()).to.equal('revoked')
    }),
  ),
  ...Object.entries(METHODS).map(([method, logout]) =>
    values(`L14, by ${method}`, HINTS, (hint) =>
      signedIn(async (scene) => {
        const answer = await logout(scene, scene.own, await hint(scene))
        expect(answer.text).to.match(/op.logoutForm|invalid_request|invalid_client/)
        expect([await scene.state(), scene.application.told]).to.deep.equal(['consumed', []])
      }, SYMMETRIC),
    ),
  ),
])
