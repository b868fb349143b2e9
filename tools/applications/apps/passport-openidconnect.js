/** passport-openidconnect, of Jared Hanson. It knows no Back-Channel Logout. */
import express from 'express'
import session from 'express-session'
import passport from 'passport'
import Strategy from 'passport-openidconnect'

export const name = 'passport-openidconnect'
/** Where a sign-in begins, by the path. */
export const begins = '/login'
export const metadata = (baseUrl) => ({
  redirect_uris: [`${baseUrl}/callback`],
})

export async function handler({ issuer, client, baseUrl }) {
  const discovery = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()
  const authenticator = new passport.Passport()
  authenticator.use(
    new Strategy(
      {
        issuer,
        authorizationURL: discovery.authorization_endpoint,
        tokenURL: discovery.token_endpoint,
        userInfoURL: discovery.userinfo_endpoint,
        clientID: client.client_id,
        clientSecret: client.client_secret,
        callbackURL: `${baseUrl}/callback`,
      },
      (_issuer, profile, done) => done(null, profile),
    ),
  )
  authenticator.serializeUser((user, done) => done(null, user))
  authenticator.deserializeUser((user, done) => done(null, user))
  const app = express()
  app.use(session({ secret: 's'.repeat(32), resave: false, saveUninitialized: false }))
  app.use(authenticator.session())
  app.get('/login', authenticator.authenticate('openidconnect'))
  app.get('/callback', authenticator.authenticate('openidconnect', { successRedirect: '/' }))
  app.get('/', ({ user }, response) =>
    user ? response.json({ sub: user.id, act: user.act }) : response.redirect('/login'),
  )
  return app
}
