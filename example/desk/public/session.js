/**
 * Signing in: authorization code with PKCE. The access token lives in this module and nowhere else: no storage, no
 * URL, no DOM. What the callback has to be compared with waits in sessionStorage until then.
 */
import { afterSignOut, client, redirectUri } from './configuration.js'
import { provider, transport } from './provider.js'
import * as oauth from './vendor/oauth4webapi.js'

const WAITING = 'sign-in'

let signedIn
let timer

/** The sign-in ended under something that had begun. */
export class SignInOver extends Error {}

/** Who is signed in: `{ id, name, accessToken }`, or nobody. */
export const engineer = () => signedIn

/** Leaves for the provider, and remembers which view to come back to. */
export async function signIn(view) {
  const { authorization_endpoint } = await provider()
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const nonce = oauth.generateRandomNonce()
  sessionStorage.setItem(WAITING, JSON.stringify({ verifier, state, nonce, view }))
  const url = new URL(authorization_endpoint)
  url.search = new URLSearchParams({
    ...client,
    response_type: 'code',
    redirect_uri: redirectUri,
    // No resource: the access token is for saying who the engineer is.
    scope: 'openid',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  })
  location.assign(url)
}

/** Turns the callback into a session. Answers the view to come back to. */
export async function finishSignIn(callback, onEnd) {
  const waiting = JSON.parse(sessionStorage.getItem(WAITING))
  sessionStorage.removeItem(WAITING)
  if (!waiting) throw new Error('this sign-in was begun somewhere else, or is over')
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
  const answer = await oauth.processAuthorizationCodeResponse(as, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  signedIn = { ...(await personOf(as, answer)), accessToken: answer.access_token }
  timer = setTimeout(onEnd, answer.expires_in * 1000)
  return view
}

async function personOf(as, answer) {
  const { sub } = oauth.getValidatedIdTokenClaims(answer)
  const response = await oauth.userInfoRequest(as, client, answer.access_token, transport)
  const { name } = await oauth.processUserInfoResponse(as, client, sub, response)
  return { id: sub, name }
}

export function forgetSignIn() {
  clearTimeout(timer)
  signedIn = undefined
}

/** Leaves for the provider's sign-out page. No `id_token_hint`: a token in a URL ends up in logs. */
export async function signOut() {
  const url = new URL((await provider()).end_session_endpoint)
  url.search = new URLSearchParams({ ...client, post_logout_redirect_uri: afterSignOut })
  forgetSignIn()
  location.assign(url)
}
