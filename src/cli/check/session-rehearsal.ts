/**
 * One sign-in as a user, from the subject token to the ID token, through a second provider in memory, with the deployment's own
 * functions.
 */
import { createHash, randomBytes } from 'node:crypto'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { decodeJwt } from 'jose'
import { epochTime } from '../../clock.ts'
import { insideOf } from '../../impersonation.ts'
import { isPlainObject } from '../../plain-json.ts'
import type { Deployment, Example } from './module.ts'
import { type Stage, setStage } from './session-stage.ts'

type Inside = Deployment['inside']
type SessionExample = Example & {
  readonly session: NonNullable<Example['session']>
  readonly actorId: string
}

/** @returns the `act` of the ID token. @throws {Error} that says at which step it was refused, and why. */
export async function rehearseSession(inside: Inside, example: SessionExample): Promise<unknown> {
  const stage = await setStage(inside, example.session.clientId)
  try {
    return await play(stage, example)
  } finally {
    stage.close()
  }
}

/** In the order of docs/protocol.md §10. */
async function play(stage: Stage, example: SessionExample): Promise<unknown> {
  const { impersonation, client, door } = stage
  const { userId, actorId, createdBy, context, session } = example
  const issued = await impersonation.records.issue({
    ...{ userId, actorId, createdBy, context: context as never, clientId: client.client_id },
    use: 'session',
  })
  await signIn(stage, actorId)
  const refused = (step: string, why: string) => new Error(`${step}: ${stage.reason() ?? why}`)

  await stage.send(door, { subject_token: issued.subjectToken })
  const page = await stage.send(door)
  const [, sealed] = /name="sealed" value="([^"]+)"/.exec(page.text) ?? []
  if (sealed === undefined) throw refused('the door', `it responded with ${page.status}`)
  const opened = await stage.send(`${door}/confirm`, { sealed })
  if (opened.status !== 200) throw refused('the button', `it responded with ${opened.status}`)

  const verifier = randomBytes(32).toString('base64url')
  const [redirectUri = ''] = client.redirect_uris ?? []
  const arrival = await stage.send(
    authorizationOf(stage, { scope: session.scope ?? 'openid', redirectUri, verifier }),
  )
  const answer = URL.parse(arrival.location)?.searchParams
  const code = answer?.get('code')
  if (!code)
    throw refused('the arrival', answer?.get('error_description') ?? `it responded with ${arrival.status}`)
  return redeem(stage, { code, redirectUri, verifier })
}

/** The engineer's own session, as the provider keeps it. */
async function signIn({ provider, impersonation, keep }: Stage, accountId: string): Promise<void> {
  const { configuration, door } = insideOf(impersonation)
  const [acr] = door?.sessions.acrValues ?? []
  const session = Object.assign(new provider.Session(), { accountId, loginTs: epochTime(), acr })
  await session.save(600)
  const incoming = new IncomingMessage(new Socket())
  const response = new ServerResponse(incoming)
  const { cookies } = provider.createContext(incoming, response)
  const { signed } = configuration.cookies?.long ?? {}
  Object.assign(cookies, { secure: true })
  cookies.set(provider.cookieName('session'), session.jti, signed === undefined ? {} : { signed })
  keep([response.getHeader('set-cookie') ?? []].flat().map(String))
}

interface Proof {
  readonly redirectUri: string
  readonly verifier: string
}

function authorizationOf(
  { provider, client }: Stage,
  { scope, redirectUri, verifier }: Proof & { scope: string },
) {
  const address = new URL(provider.urlFor('authorization'))
  address.search = new URLSearchParams({
    ...{ client_id: client.client_id, response_type: 'code', scope, redirect_uri: redirectUri },
    ...{ state: 'a-rehearsal', nonce: 'a-rehearsal', code_challenge_method: 'S256' },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  }).toString()
  return address.href
}

async function redeem(
  { provider, client, send }: Stage,
  { code, redirectUri, verifier }: Proof & { readonly code: string },
): Promise<unknown> {
  const { text } = await send(provider.urlFor('token'), {
    ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri },
    ...{ client_id: client.client_id, code_verifier: verifier },
  })
  const body: unknown = JSON.parse(text)
  const { id_token: idToken, error, error_description: why } = isPlainObject(body) ? body : {}
  if (typeof idToken !== 'string') throw new Error(`the code: ${why ?? error}`)
  return decodeJwt(idToken).act
}
