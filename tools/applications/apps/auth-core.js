/** @auth/core, of Auth.js. Its session is a cookie of its own, and it knows no Back-Channel Logout. */
import { Auth } from '@auth/core'
import express from 'express'

export const name = '@auth/core'
/** Where a sign-in begins, by the path. */
export const begins = '/auth/signin'
export const metadata = (baseUrl) => ({
  redirect_uris: [`${baseUrl}/auth/callback/provider`],
})

export function handler({ issuer, client, baseUrl }) {
  const config = {
    providers: [
      {
        id: 'provider',
        name: 'the provider',
        type: 'oidc',
        issuer,
        clientId: client.client_id,
        clientSecret: client.client_secret,
        // What the application keeps of the sign-in.
        profile: ({ sub, act }) => ({ id: sub, name: JSON.stringify({ sub, act }) }),
      },
    ],
    secret: 's'.repeat(32),
    trustHost: true,
    basePath: '/auth',
  }
  const app = express()
  app.use('/auth', express.text({ type: '*/*' }), async (request, response) => {
    await send(await Auth(requestOf(request, baseUrl), config), response)
  })
  app.get('/', async (request, response) => {
    const asked = new Request(`${baseUrl}/auth/session`, { headers: headersOf(request) })
    const session = await (await Auth(asked, config)).json()
    if (session) response.type('json').send(session.user.name)
    else response.redirect('/auth/signin?callbackUrl=/')
  })
  return app
}

const headersOf = ({ headers }) => ({ cookie: headers.cookie ?? '', host: headers.host })

const requestOf = (request, baseUrl) =>
  new Request(new URL(request.originalUrl, baseUrl), {
    method: request.method,
    headers: { ...headersOf(request), 'content-type': request.headers['content-type'] ?? '' },
    ...(request.method === 'POST' && { body: request.body }),
  })

async function send(answer, response) {
  response.status(answer.status)
  for (const [header, value] of answer.headers) if (header !== 'set-cookie') response.set(header, value)
  for (const cookie of answer.headers.getSetCookie()) response.append('set-cookie', cookie)
  response.send(Buffer.from(await answer.arrayBuffer()))
}
