/** express-openid-connect, of Auth0. It signs in with `id_token` unless it has a secret and is told to use a code. */
import express from 'express'
import { auth } from 'express-openid-connect'
import { readOnly } from '../../../packages/resource-server/src/index.ts'

export const name = 'express-openid-connect'
/** Where a sign-in begins, by the path. */
export const begins = '/login'
export const metadata = (baseUrl) => ({
  redirect_uris: [`${baseUrl}/callback`],
  backchannel_logout_uri: `${baseUrl}/backchannel-logout`,
  backchannel_logout_session_required: true,
})

export const signOut = (page, baseUrl) => page.goto(`${baseUrl}/logout`)

/** In memory: with a cookie alone, nothing could end a session from elsewhere. */
function memoryStore() {
  const sessions = new Map()
  return {
    get: (id, callback) => callback(null, sessions.get(id)),
    set(id, session, callback) {
      sessions.set(id, session)
      callback(null)
    },
    destroy(id, callback) {
      sessions.delete(id)
      callback(null)
    },
  }
}

export function handler({ issuer, client, baseUrl }) {
  const app = express()
  app.use(
    auth({
      issuerBaseURL: issuer,
      baseURL: baseUrl,
      clientID: client.client_id,
      clientSecret: client.client_secret,
      secret: 's'.repeat(32),
      authorizationParams: { response_type: 'code' },
      session: { store: memoryStore() },
      backchannelLogout: true,
    }),
  )
  // Its own routes, GET /logout among them, are served before.
  app.use(readOnly({ claims: ({ oidc }) => oidc.idTokenClaims }))
  app.post('/change', (_, response) => response.send('changed'))
  app.get('/', ({ oidc }, response) => response.json({ sub: oidc.user.sub, act: oidc.user.act }))
  return app
}
