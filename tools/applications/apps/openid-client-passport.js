/** The passport strategy of openid-client, of Filip Skokan. It knows no Back-Channel Logout. */
import express from 'express'
import session from 'express-session'
import { allowInsecureRequests, discovery } from 'openid-client'
import { Strategy } from 'openid-client/passport'
import passport from 'passport'

export const name = 'openid-client/passport'
/** Where a sign-in begins, by the path. */
export const begins = '/login'
export const metadata = (baseUrl) => ({
  redirect_uris: [`${baseUrl}/callback`],
})

export async function handler({ issuer, client, baseUrl }) {
  // Plain HTTP is for loopback only.
  const options = { execute: [allowInsecureRequests] }
  const config = await discovery(new URL(issuer), client.client_id, client.client_secret, undefined, options)
  const authenticator = new passport.Passport()
  authenticator.use(
    'oidc',
    new Strategy({ config, scope: 'openid', callbackURL: `${baseUrl}/callback` }, (tokens, done) =>
      done(null, tokens.claims()),
    ),
  )
  authenticator.serializeUser((user, done) => done(null, user))
  authenticator.deserializeUser((user, done) => done(null, user))
  const app = express()
  app.use(session({ secret: 's'.repeat(32), resave: false, saveUninitialized: false }))
  app.use(authenticator.session())
  app.get('/login', authenticator.authenticate('oidc'))
  app.get('/callback', authenticator.authenticate('oidc', { successRedirect: '/' }))
  app.get('/', ({ user }, response) =>
    user ? response.json({ sub: user.sub, act: user.act }) : response.redirect('/login'),
  )
  return app
}
