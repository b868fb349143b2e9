/** How a session of protocol.md §10 ends at the provider, and what of the provider's own ends it. */
import { decodeJwt, type JWTPayload } from 'jose'
import type { AuthorizationCode, Client, KoaContextWithOIDC, Provider } from 'oidc-provider'
import { nameOf } from '../base/errors.ts'
import { endAccessToken } from './access-token.ts'
import { findClient } from './clients.ts'
import { sendLogoutToken, verifyIdToken } from './sessions.ts'

/** Destroys the Session and the Grant of this name, and its opaque tokens. May be repeated, and works at any moment. */
export async function endHeadlessSession(provider: Provider, name: string): Promise<void> {
  const [session] = await Promise.all([provider.Session.findByUid(name), endAccessToken(provider, name)])
  await session?.destroy()
}

/** Why an application could not be told. The code is for events: it holds nothing that anyone sent. */
class LogoutFailure extends Error {
  override readonly name = 'LogoutFailure'
  readonly code: string
  constructor(code: string, options?: ErrorOptions) {
    super('the application has not confirmed the logout token', options)
    this.code = code
  }
}

/**
 * Tells the application that this one session has ended (OpenID Connect Back-Channel Logout 1.0).
 *
 * @throws {LogoutFailure} unless the application has confirmed it: with 200 or 204.
 */
export async function tellApplication(
  provider: Provider,
  { clientId, userId, sid }: { readonly clientId: string; readonly userId: string; readonly sid: string },
): Promise<void> {
  const client = await provider.Client.find(clientId)
  if (!client?.backchannelLogoutUri) throw new LogoutFailure('NO_BACKCHANNEL_LOGOUT')
  // Without `sid` it would end every session that the user has in this application.
  if (!client.backchannelLogoutSessionRequired) throw new LogoutFailure('NO_SESSION_REQUIRED')
  try {
    // The account id: the provider makes the `sub` of it that this client knows.
    await sendLogoutToken(client, userId, sid)
  } catch (error) {
    throw new LogoutFailure(codeOf(error), { cause: error })
  }
}

/** The status that the application responded with, or the error of the connection. */
function codeOf(error: unknown): string {
  const { response, cause } = Object(error)
  if (Number.isInteger(response?.status)) return `HTTP_${response.status}`
  const { code, message } = Object(cause)
  // The provider's own `fetch` connects to no internal address, and has no code for it.
  if (/special-use/.test(String(message))) return 'SPECIAL_USE_ADDRESS'
  return typeof code === 'string' ? nameOf(cause) : nameOf(error)
}

/** The code that a request at the token endpoint redeems, used or not; `undefined` at every other request. */
export async function codeOfRequest({ oidc }: KoaContextWithOIDC): Promise<AuthorizationCode | undefined> {
  const { route, params, provider } = oidc
  if (route !== 'token' || params?.grant_type !== 'authorization_code') return undefined
  return provider.AuthorizationCode.find(String(params.code), { ignoreExpiration: true })
}

/** The client and the `sid` of an ID token that this provider issued, expired or not; `undefined` for every other text. */
export async function readIdToken(
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

/** Nothing of them is verified. */
function claimsOf(jwt: string): JWTPayload {
  try {
    return decodeJwt(jwt)
  } catch {
    return {}
  }
}
