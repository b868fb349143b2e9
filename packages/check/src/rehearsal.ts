/** The requests of the people and programs in an example, one after the other. Each throws its refusal. */

import { createHash, randomBytes } from 'node:crypto'
import { decodeJwt } from 'jose'
import { errors } from 'oidc-provider'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from 'oidc-provider-impersonation'
import {
  CLIENT_CREDENTIALS,
  checkOf,
  epochTime,
  RESERVED_CLAIMS,
  reasonOf,
  unsentRequest,
  withoutUndefined,
} from 'oidc-provider-impersonation/inside'
import type { Example, Step } from './example.ts'
import { thrownOf } from './finding.ts'
import type { Shown, Stage } from './stage.ts'

/** A refusal by the provider, and the plugin's check behind it, if it was one. */
export class Refused extends Error {
  readonly check: string | undefined
  readonly isDenial: boolean
  /** With 5xx. */
  readonly isFailure: boolean
  constructor(
    text: string,
    { check, isDenial, isFailure }: Pick<Refused, 'check' | 'isDenial' | 'isFailure'>,
  ) {
    super(text)
    this.check = check
    this.isDenial = isDenial
    this.isFailure = isFailure
  }
}

/** The exception of a function of the deployment behind a refusal, if there is one, to be added to its reason. */
function exceptionIn(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const own = checkOf(error) !== undefined || error instanceof errors.OIDCProviderError
  const thrown = own ? error.cause : error
  return thrown === undefined || thrown instanceof errors.OIDCProviderError ? '' : `: ${thrownOf(thrown)}`
}

/** The backend gets a token of the management API, and issues. */
export async function issue(
  stage: Stage,
  { userId, createdBy, readOnly, context }: Example,
  constraints: Readonly<Record<string, unknown>>,
): Promise<string> {
  const resource = stage.settings.managementResource(stage.provider)
  const form = { grant_type: CLIENT_CREDENTIALS, scope: 'subject-tokens:create', resource }
  const { access_token: token } = await requestTokens(stage, createdBy, form)
  const body = withoutUndefined({ userId, readOnly, context, ...constraints })
  return bodyOf(stage, await stage.sendToApi(token, body)).subjectToken
}

/** The application exchanges. The engineer, if there is one, has signed in there. */
export async function exchange(stage: Stage, example: Example, subjectToken: string): Promise<string> {
  const { clientId, actorId } = example
  const actor = actorId !== undefined && {
    actor_token: await engineersToken(stage, clientId, actorId),
    actor_token_type: ACCESS_TOKEN_TYPE,
  }
  return exchangeAt(stage, example, { subject_token: subjectToken, ...actor })
}

/** An API exchanges the access token that it has received. */
export const passOn = (stage: Stage, to: Step, received: string): Promise<string> =>
  exchangeAt(stage, to, { subject_token: received })

async function exchangeAt(
  stage: Stage,
  { clientId, resource, scope }: Step,
  tokens: Readonly<Record<string, string>>,
): Promise<string> {
  const form = { ...tokens, subject_token_type: ACCESS_TOKEN_TYPE, resource, scope }
  return String((await requestTokens(stage, clientId, { grant_type: TOKEN_EXCHANGE, ...form })).access_token)
}

async function requestTokens(
  stage: Stage,
  clientId: string,
  form: Readonly<Record<string, string | undefined>>,
) {
  const { client_id, client_secret } = stage.client(clientId)
  const to = stage.provider.urlFor('token')
  return bodyOf(stage, await stage.send(to, { client_id, client_secret, ...form }))
}

function bodyOf(stage: Stage, { status, text }: Shown) {
  const body = JSON.parse(text)
  if (status < 300) return body
  const { told, thrown } = stage.refused()
  const own = told && told.check !== told.error ? told : failureOf(thrown)
  throw new Refused(`${own?.reason ?? body.error_description}${exceptionIn(thrown)}`, {
    check: own?.check,
    isDenial: told?.error === 'access_denied',
    isFailure: status >= 500,
  })
}

function failureOf(thrown: unknown) {
  const check = thrown instanceof Error ? checkOf(thrown) : undefined
  return check && { check, reason: reasonOf(thrown as Error) }
}

/** The access token of a sign-in at the application. An engineer who cannot sign in there has one from elsewhere. */
async function engineersToken(stage: Stage, clientId: string, actorId: string): Promise<string> {
  await signIn(stage, actorId)
  const { code, redeem } = await authorize(stage, clientId, 'openid')
  return code === undefined ? userinfoToken(stage, clientId, actorId) : (await redeem()).access_token
}

async function userinfoToken({ provider }: Stage, clientId: string, accountId: string): Promise<string> {
  const jti = randomBytes(32).toString('base64url')
  const of = { clientId, accountId, gty: 'authorization_code', scope: 'openid', kind: 'AccessToken' }
  const iat = epochTime()
  await provider.AccessToken.adapter.upsert(jti, { ...of, jti, iat, exp: iat + 60 }, 60)
  return jti
}

/** The claims that functions of the deployment have returned. */
export async function ownClaims({ provider }: Stage, accessToken: string): Promise<object> {
  const claims = accessToken.includes('.')
    ? decodeJwt(accessToken)
    : (await provider.AccessToken.find(accessToken))?.extra
  return Object.fromEntries(Object.entries(claims ?? {}).filter(([name]) => !RESERVED_CLAIMS.has(name)))
}

/**
 * The engineer opens an application as the user (docs/protocol.md §10).
 *
 * @returns the `act` of the ID token. @throws {Error} that says at which step it was refused, and why.
 */
export async function open(stage: Stage, example: Example): Promise<unknown> {
  const { session: { clientId = '', scope = 'openid' } = {}, actorId = '' } = example
  const door = stage.options.sessions?.door.href ?? ''
  const refused = (step: string, why: string) => {
    const { told, thrown } = stage.refused()
    return new Error(`${step}: ${told ? `${told.check}: ${told.reason}` : why}${exceptionIn(thrown)}`)
  }
  const subjectToken = await issue(stage, example, { clientId, actorId, use: 'session' })
  await signIn(stage, actorId)
  await stage.send(door, { subject_token: subjectToken })
  const page = await stage.send(door)
  const [, sealed] = /name="sealed" value="([^"]+)"/.exec(page.text) ?? []
  if (sealed === undefined) throw refused('the door', `it responded with ${page.status}`)
  const opened = await stage.send(`${door}/confirm`, { sealed })
  if (opened.status !== 200) throw refused('the button', `it responded with ${opened.status}`)

  const { code, answer, redeem } = await authorize(stage, clientId, scope)
  if (code === undefined) throw refused('the arrival', answer)
  const { id_token } = await redeem().catch((error) => {
    throw new Error(`the code: ${error.message}`)
  })
  return decodeJwt(id_token).act
}

/** The browser asks for a code of the application. Without one, `answer` is what the application or the person reads. */
async function authorize(stage: Stage, clientId: string, scope: string) {
  const { redirect_uris: [redirect_uri = ''] = [] } = stage.client(clientId)
  const code_verifier = randomBytes(32).toString('base64url')
  const address = new URL(stage.provider.urlFor('authorization'))
  address.search = new URLSearchParams({
    ...{ client_id: clientId, response_type: 'code', scope, redirect_uri },
    ...{ state: 'a-rehearsal', nonce: 'a-rehearsal', code_challenge_method: 'S256' },
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
  }).toString()
  const { status, location } = await stage.send(address.href)
  const answered = URL.parse(location)?.searchParams
  const code = answered?.get('code') ?? undefined
  const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier }
  return {
    code,
    answer: answered?.get('error_description') ?? `it responded with ${status}`,
    redeem: () => requestTokens(stage, clientId, form),
  }
}

/** The engineer's own session, as the provider keeps it. */
async function signIn({ provider, configuration, options, keep }: Stage, accountId: string): Promise<void> {
  const [acr] = options.sessions?.acrValues ?? []
  const session = Object.assign(new provider.Session(), { accountId, loginTs: epochTime(), acr })
  await session.save(600)
  const { cookies, res: response } = unsentRequest(provider)
  const { signed } = configuration.cookies?.long ?? {}
  Object.assign(cookies, { secure: true })
  cookies.set(provider.cookieName('session'), session.jti, signed === undefined ? {} : { signed })
  keep([response.getHeader('set-cookie') ?? []].flat().map(String))
}
