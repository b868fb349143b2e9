/**
 * Signing in: authorization code with PKCE. The access token is kept in this module and nowhere else: no storage, no
 * URL, no DOM. The values that the callback is compared with are kept in sessionStorage until then.
 */
import { afterSignOut, client, redirectUri } from './configuration.js'
import { provider, transport } from './provider.js'
import { compareClocks, GLANCE } from './times.js'
import * as oauth from './vendor/oauth4webapi.js'

const WAITING = 'sign-in'

let signedIn
let timer

/** The sign-in ended while a request was under way. */
export class SignInOver extends Error {}

/** Who is signed in: `{ id, name, accessToken, endsAt }`, or `undefined`. `endsAt` in milliseconds. */
export const engineer = () => signedIn

/** Goes to the provider, and remembers which view to return to. `prompt` as in OpenID Connect. */
export async function signIn(view, prompt = {}) {
  const { authorization_endpoint } = await provider()
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const nonce = oauth.generateRandomNonce()
  sessionStorage.setItem(WAITING, JSON.stringify({ verifier, state, nonce, view }))
  const url = new URL(authorization_endpoint)
  url.search = new URLSearchParams({
    ...client,
    ...prompt,
    response_type: 'code',
    redirect_uri: redirectUri,
    // No resource: this access token only says who the engineer is.
    scope: 'openid',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  })
  location.assign(url)
}

/** Turns the callback into a session. Resolves to the view to return to. */
export async function finishSignIn(callback, onEnd) {
  const waiting = JSON.parse(sessionStorage.getItem(WAITING))
  sessionStorage.removeItem(WAITING)
  if (!waiting) throw new Error('this sign-in was started elsewhere, or has ended')
  const { verifier, state, nonce, view } = waiting
  const as = await provider()
  const parameters = oauth.validateAuthResponse(as, client, callback, state)
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    verifier,
    transport,
  )
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  const endsAt = Date.now() + tokens.expires_in * 1000
  signedIn = { ...(await personOf(as, tokens)), accessToken: tokens.access_token, endsAt }
  timer = setInterval(() => {
    if (Date.now() >= endsAt) onEnd()
  }, GLANCE)
  return view
}

async function personOf(as, tokens) {
  const { sub, iat } = oauth.getValidatedIdTokenClaims(tokens)
  compareClocks(iat)
  const response = await oauth.userInfoRequest(as, client, tokens.access_token, transport)
  const { name } = await oauth.processUserInfoResponse(as, client, sub, response)
  return { id: sub, name }
}

export function forgetSignIn() {
  clearInterval(timer)
  signedIn = undefined
}

/** Goes to the provider's sign-out page. No `id_token_hint`: a token in a URL ends up in logs. */
export async function signOut() {
  const url = new URL((await provider()).end_session_endpoint)
  url.search = new URLSearchParams({ ...client, post_logout_redirect_uri: afterSignOut })
  forgetSignIn()
  location.assign(url)
}
