/** The whole flow over HTTP: the backend issues, an engineer signs in, the desk exchanges, the API verifies. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import * as openid from 'openid-client'
import { Browser } from '../../../example/demo/browser.ts'
import { form, send } from '../../../fixtures/http.ts'
import {
  createVerifier,
  ProviderUnavailable,
  Unauthorized,
} from '../../../packages/resource-server/src/index.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../../src/constants.ts'
import { insideOf } from '../../../src/impersonation.ts'
import { resolveStatusLists } from '../../../src/provider/status-reference.ts'
import { API, backend, CALLBACK, type Deployed, desk, type Make } from './deployment.ts'

/** What came of it: who acts as whom at the API, or which request was refused. */
export async function wholeFlow(make: Make, engineer = 'sam'): Promise<string> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const deployed = await make({ baseUrl })
  server.on('request', deployed.app.callback())
  try {
    return await run(deployed, engineer)
  } finally {
    server.closeAllConnections()
    server.close()
    await deployed.sequelize.close()
  }
}

class Stopped extends Error {}

async function run({ provider, impersonation }: Deployed, engineer: string): Promise<string> {
  const { settings, configuration, options } = insideOf(impersonation)
  const { issuer } = provider
  const clients = Object.fromEntries(
    (configuration.clients ?? []).map((client) => [client.client_id, client]),
  )
  // As curl does it: what is in the metadata is sent as it is.
  const basic = (id: string) =>
    `Basic ${Buffer.from(`${id}:${clients[id]?.client_secret}`).toString('base64')}`
  const post = async (what: string, url: string, init: RequestInit) => {
    const { status, text, body } = await send(url, { method: 'POST', ...init })
    if (status >= 300) throw new Stopped(`${what}: ${status} ${body?.error_description ?? text}`)
    return body
  }
  const resource = settings.managementResource(provider)
  try {
    const management = await post('management token', `${issuer}/token`, {
      headers: { authorization: basic(backend.client_id) },
      body: form({ grant_type: 'client_credentials', resource, scope: backend.scope }),
    })
    const issued = await post('issue', `${resource}/subject-tokens`, {
      headers: { authorization: `Bearer ${management.access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ userId: 'alice', clientId: desk.client_id, actorId: engineer }),
    })
    const exchanged = await post('exchange', `${issuer}/token`, {
      headers: { authorization: basic(desk.client_id) },
      body: form({
        grant_type: TOKEN_EXCHANGE,
        subject_token: issued.subjectToken,
        subject_token_type: ACCESS_TOKEN_TYPE,
        actor_token: await signIn(issuer, engineer),
        actor_token_type: ACCESS_TOKEN_TYPE,
        resource: API,
        scope: 'orders:read',
      }),
    })
    const lists = resolveStatusLists(options.statusList, resource)
    const verify = createVerifier({ issuer, audience: API, statusLists: lists?.base ?? false })
    const headers = { authorization: `Bearer ${exchanged.access_token}` }
    const { actor, user } = await verify(new Request(API, { headers })).catch((error) => {
      const isRefusal = error instanceof Unauthorized || error instanceof ProviderUnavailable
      throw isRefusal ? new Stopped(`API: ${error.status} ${error.reason}`) : error
    })
    return `${actor?.sub} acts as ${user}`
  } catch (error) {
    if (error instanceof Stopped) return error.message
    throw error
  }
}

/** Resolves to the access token that the desk gets for the engineer's code. */
async function signIn(issuer: string, engineer: string): Promise<string> {
  const secret = openid.ClientSecretBasic(desk.client_secret)
  const application = await openid.discovery(new URL(issuer), desk.client_id, undefined, secret, {
    execute: [openid.allowInsecureRequests],
  })
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const asEngineer: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...init?.headers, 'x-who': engineer } })
  const callback = await new Browser(asEngineer, () => {}, CALLBACK).visit(
    openid.buildAuthorizationUrl(application, {
      redirect_uri: CALLBACK,
      scope: 'openid orders:read',
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    }),
  )
  const tokens = await openid.authorizationCodeGrant(application, callback, { pkceCodeVerifier })
  return tokens.access_token
}
