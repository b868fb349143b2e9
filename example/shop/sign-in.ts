/** Signing in at the provider: authorization code with PKCE, state and nonce. */
import { randomBytes } from 'node:crypto'
import * as client from 'openid-client'
import { shop } from '../clients.ts'
import { discoverOnce } from '../discovery.ts'
import type { Session } from './sessions.ts'

/** Seconds. */
const PATIENCE = 5
/** How long a customer stays signed in here, and how long a sign-in may take. */
const STAYS = 3600
const TO_SIGN_IN = 600

interface Waiting {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly until: number
}

const now = () => Date.now() / 1000

export function signInAt(issuer: string, baseUrl: string) {
  const waiting = new Map<string, Waiting>()
  const provider = discoverOnce(issuer, shop, PATIENCE)
  const metadata = async () => (await provider()).serverMetadata()

  return {
    /** Resolves to where to send the browser, and the value of its cookie. */
    async begin() {
      const config = await provider()
      for (const [id, { until }] of waiting) if (until < now()) waiting.delete(id)
      const id = randomBytes(32).toString('base64url')
      const verifier = client.randomPKCECodeVerifier()
      const [state, nonce] = [client.randomState(), client.randomNonce()]
      waiting.set(id, { state, nonce, verifier, until: now() + TO_SIGN_IN })
      const address = client.buildAuthorizationUrl(config, {
        redirect_uri: `${baseUrl}/callback`,
        scope: 'openid',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...{ state, nonce },
      })
      return { address: address.href, id }
    },

    /** Each sign-in finishes once, in the browser that began it: `undefined` for any other. */
    async finish(callback: URL, id = ''): Promise<Session | undefined> {
      const expected = waiting.get(id)
      waiting.delete(id)
      if (!expected || expected.until < now()) return undefined
      const { state, nonce, verifier } = expected
      const config = await provider()
      const tokens = await client.authorizationCodeGrant(config, callback, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      })
      const claims = tokens.claims() as client.IDToken
      const { name } = await client.fetchUserInfo(config, tokens.access_token, claims.sub)
      return sessionOf(claims, { name: name ?? claims.sub, idToken: tokens.id_token as string })
    },

    /** Ends an impersonation. */
    async endAtProvider({ idToken }: Session) {
      // By a form from here: in an address of the browser, the token would end up in a history and in logs.
      const response = await fetch((await metadata()).end_session_endpoint as string, {
        method: 'POST',
        body: new URLSearchParams({ id_token_hint: idToken, client_id: shop.client_id }),
        redirect: 'manual',
        signal: AbortSignal.timeout(PATIENCE * 1000),
      })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`the provider responded with ${response.status}`)
    },

    /** Where the browser goes to sign out. */
    async signOutAddress() {
      const query = { client_id: shop.client_id, post_logout_redirect_uri: `${baseUrl}/` }
      return `${(await metadata()).end_session_endpoint}?${new URLSearchParams(query)}`
    },

    keysAddress: async () => (await metadata()).jwks_uri as string,
  }
}

/** These lines are all that the shop does about impersonation, besides the banner: `act` names who acts. */
function sessionOf(claims: client.IDToken, more: Pick<Session, 'name' | 'idToken'>): Session {
  const { sub: customer, sid, act, exp } = claims
  const session = { claims, customer, ...more, ...(typeof sid === 'string' && { sid }) }
  if (act === undefined) return { ...session, endsAt: now() + STAYS }
  const actor = Object(act).sub
  // Better no sign-in than one that hides who acts.
  if (typeof actor !== 'string') throw new Error('act of the ID token names no one')
  return { ...session, actor, endsAt: exp }
}
