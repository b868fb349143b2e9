/** Express with Passport, and two strategies, which know no Back-Channel Logout. */
import express from 'express'
import session from 'express-session'
import { decodeJwt } from 'jose'
import { allowInsecureRequests, discovery } from 'openid-client'
import { Strategy as OpenidClient } from 'openid-client/passport'
import passport from 'passport'
import PassportOpenidconnect from 'passport-openidconnect'
import { readOnly } from '../../../packages/resource-server/src/index.ts'

/** `strategyOf` resolves to a strategy whose user is the claims of the ID token. */
const application = (name, strategyOf) => ({
  name,
  /** Where a sign-in begins, by the path. */
  begins: '/login',
  metadata: (baseUrl) => ({ redirect_uris: [`${baseUrl}/callback`] }),
  signOut: (page) => page.evaluate(() => fetch('/logout', { method: 'POST', redirect: 'manual' })),
  async handler(given) {
    const authenticator = new passport.Passport()
    authenticator.use('oidc', await strategyOf({ ...given, callbackURL: `${given.baseUrl}/callback` }))
    authenticator.serializeUser((user, done) => done(null, user))
    authenticator.deserializeUser((user, done) => done(null, user))
    const app = express()
    app.use(session({ secret: 's'.repeat(32), resave: false, saveUninitialized: false }))
    app.use(authenticator.session())
    app.use(
      readOnly({
        claims: ({ user }) => user,
        allows: ({ method, originalUrl }) => method === 'POST' && originalUrl === '/logout',
      }),
    )
    app.post('/logout', (request, response, next) =>
      request.logout((error) => (error ? next(error) : response.redirect(303, '/login'))),
    )
    app.post('/change', (_, response) => response.send('changed'))
    app.get('/login', authenticator.authenticate('oidc'))
    app.get('/callback', authenticator.authenticate('oidc', { successRedirect: '/' }))
    app.get('/', ({ user }, response) => (user ? response.json(user) : response.redirect('/login')))
    return app
  },
})

/** The strategy of openid-client, of Filip Skokan. */
export const openidClientPassport = application(
  'openid-client/passport',
  async ({ issuer, client: { client_id, client_secret }, callbackURL }) => {
    // Plain HTTP is for loopback only.
    const options = { execute: [allowInsecureRequests] }
    const config = await discovery(new URL(issuer), client_id, client_secret, undefined, options)
    return new OpenidClient({ config, scope: 'openid', callbackURL }, (tokens, done) => {
      done(null, tokens.claims())
    })
  },
)

/** passport-openidconnect, of Jared Hanson. Its profile has neither `act` nor `read_only`: the ID token does. */
export const passportOpenidconnect = application(
  'passport-openidconnect',
  async ({ issuer, client, callbackURL }) => {
    const discovered = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()
    return new PassportOpenidconnect(
      {
        issuer,
        authorizationURL: discovered.authorization_endpoint,
        tokenURL: discovered.token_endpoint,
        userInfoURL: discovered.userinfo_endpoint,
        clientID: client.client_id,
        clientSecret: client.client_secret,
        callbackURL,
      },
      (_issuer, _profile, _context, idToken, done) => done(null, decodeJwt(idToken)),
    )
  },
)
