/** @auth/core, of Auth.js. Its session is a cookie of its own, and it knows no Back-Channel Logout. */
import { Auth } from '@auth/core'
import express from 'express'
import { readOnly } from '../../../packages/resource-server/src/index.ts'

export const name = '@auth/core'
/** Where a sign-in begins, by the path. */
export const begins = '/auth/signin'
export const metadata = (baseUrl) => ({
  redirect_uris: [`${baseUrl}/auth/callback/provider`],
})

/** A new sign-in begins by the second. */
const ALLOWED = ['/auth/signout', '/auth/signin/provider']

export async function signOut(page, baseUrl) {
  await page.goto(`${baseUrl}/auth/signout`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL((url) => url.pathname !== '/auth/signout')
}

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
        profile: (claims) => ({ id: claims.sub, name: JSON.stringify(claims) }),
      },
    ],
    secret: 's'.repeat(32),
    trustHost: true,
    basePath: '/auth',
  }
  async function sessionOf(cookie = '') {
    const asked = new Request(`${baseUrl}/auth/session`, { headers: { cookie } })
    return (await Auth(asked, config)).json()
  }
  const guard = readOnly({
    async claims({ headers }) {
      const session = await sessionOf(headers.get('cookie') ?? '')
      return session ? JSON.parse(session.user.name) : undefined
    },
    allows: ({ method, url }) => method === 'POST' && ALLOWED.includes(new URL(url).pathname),
  })
  const app = express()
  app.use(async ({ originalUrl, method, headers }, response, next) => {
    const refused = await guard(new Request(new URL(originalUrl, baseUrl), { method, headers }))
    if (refused) await send(refused, response)
    else next()
  })
  app.post('/change', (_, response) => response.send('changed'))
  app.use('/auth', express.text({ type: '*/*' }), async (request, response) => {
    await send(await Auth(requestOf(request, baseUrl), config), response)
  })
  app.get('/', async (request, response) => {
    const session = await sessionOf(request.headers.cookie)
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
