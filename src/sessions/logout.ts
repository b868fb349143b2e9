/** RP-Initiated Logout 1.0 with an ID token of a session ends that session, and nothing of the browser that it comes from. */
import { parse } from 'node:querystring'
import { Readable } from 'node:stream'
import { decodeJwt, type JWTPayload } from 'jose'
import type { Context, Middleware } from 'koa'
import type { Client, Provider } from 'oidc-provider'
import { parsedBody, read } from '../base/body.ts'
import { isPlainObject } from '../base/json.ts'
import { findClient } from '../provider/client-metadata.ts'
import { setRoute } from '../provider/failures.ts'
import type { Service } from '../provider/settings.ts'
import { refuse } from '../router/respond.ts'
import { signOut } from './code-replay.ts'
import { endedPage, setHeaders, showFailure } from './page.ts'
import { recordIdOf, verifyIdToken } from './provider.ts'

/** Middleware of the provider, before its own routes. A logout that is not of a session passes through. */
export function logoutOfSessions(service: Service, route = '/session/end'): Middleware {
  return async (ctx, next) => {
    let ended: Ended | undefined
    try {
      ended = isAt(ctx, route) ? await endSessionOf(ctx, service) : undefined
    } catch (thrown) {
      setRoute(ctx, { provider: service.provider, door: 'session' })
      setHeaders(ctx)
      showFailure(ctx, refuse(ctx, thrown).status)
      return
    }
    if (ended) leave(ctx, ended)
    else await next()
  }
}

/** A session that has ended, and where its browser wants to go. */
interface Ended {
  readonly client: Client
  readonly request: Parameters
}

async function endSessionOf(ctx: Context, service: Service): Promise<Ended | undefined> {
  const request = await parametersOf(ctx)
  const session = await sessionOf(service, request)
  if (!session) return undefined
  const { id, client } = session
  await signOut(service, { id, clientId: client.clientId, ctx })
  return { client, request }
}

/** Whether a request is for this route, as the provider reads paths. */
function isAt({ path, method }: Context, route: string): boolean {
  if (method !== 'GET' && method !== 'POST') return false
  return path.replace(/(?<=.)\/$/, '').toUpperCase() === route.toUpperCase()
}

type Parameters = Readonly<Record<string, unknown>>

async function parametersOf(ctx: Context): Promise<Parameters> {
  if (ctx.method === 'GET') return ctx.query
  if (!ctx.is('application/x-www-form-urlencoded')) return {}
  const parsed = parsedBody(ctx)
  if (isPlainObject(parsed)) return parsed
  const bytes = await read(ctx)
  leaveBody(ctx, bytes)
  return parse(bytes.toString())
}

/** The provider will read the body again, if this logout is its own. */
function leaveBody(ctx: Context, bytes: Buffer): void {
  const iterator = () => Readable.from([bytes]).iterator()
  ctx.req = Object.create(ctx.req, { readable: { value: true }, iterator: { value: iterator } })
}

const SINGLE = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state']

/** The session that the hint names. A request with a parameter twice, or with another client, is left to the provider to refuse. */
async function sessionOf(
  { provider, store }: Service,
  request: Parameters,
): Promise<{ readonly id: string; readonly client: Client } | undefined> {
  const { id_token_hint: hint, client_id: clientId } = request
  if (typeof hint !== 'string' || SINGLE.some((name) => Array.isArray(request[name]))) return undefined
  const token = await readIdToken(provider, hint)
  const id = recordIdOf(token?.sid)
  if (!token || id === undefined) return undefined
  const { client } = token
  if (clientId !== undefined && clientId !== '' && clientId !== client.clientId) return undefined
  // A client that shares its secret with the provider can sign ID tokens, and name any session in them.
  const record = await store.find(provider.issuer, id)
  return record?.use?.clientId === client.clientId ? { id, client } : undefined
}

/** The client and the `sid` of an ID token that this provider issued, expired or not; `undefined` for every other text. */
async function readIdToken(
  provider: Provider,
  text: string,
): Promise<{ readonly client: Client; readonly sid: unknown } | undefined> {
  const { aud, sid } = claimsOf(text)
  const client = typeof aud === 'string' ? await findClient(provider, aud) : undefined
  if (!client) return undefined
  try {
    await verifyIdToken(provider, text, client)
    return { client, sid }
  } catch {
    return undefined
  }
}

/** The claims of a JWT, of which nothing is verified. */
function claimsOf(jwt: string): JWTPayload {
  try {
    return decodeJwt(jwt)
  } catch {
    return {}
  }
}

function leave(ctx: Context, { client, request }: Ended): void {
  const { post_logout_redirect_uri: to, state } = request
  if (typeof to !== 'string' || !client.postLogoutRedirectUriAllowed(to)) {
    endedPage(ctx)
    return
  }
  ctx.set('Cache-Control', 'no-store')
  const url = new URL(to)
  if (typeof state === 'string') url.searchParams.set('state', state)
  ctx.status = 303
  ctx.redirect(url.href)
}
