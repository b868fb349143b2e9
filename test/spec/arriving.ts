/** A provider with sessions, an engineer's browser, and applications that it opens: what the tests of the way in share. */

import { expect } from 'chai'
import type { Middleware } from 'koa'
import type { ClientMetadata, Configuration, Provider } from 'oidc-provider'
import { type Answer, Browser } from '../../fixtures/browser.ts'
import { CHALLENGE, VERIFIER } from '../../fixtures/clients.ts'
import { type Deployment, type DeploymentOverrides, startDeployment } from '../../fixtures/deployment.ts'
import { form, type HttpResponse, send } from '../../fixtures/http.ts'
import { introspect, postToken } from '../../fixtures/requests.ts'
import {
  AFTER_LOGOUT,
  type Application,
  reachesLoopback,
  shopClient,
  startApplication,
} from '../../fixtures/sessions.ts'
import { createMemoryStore } from '../../packages/store-contract/src/index.ts'
import type { SessionOptions } from '../../src/options.ts'
import { sessionName } from '../../src/sessions/provider.ts'
import { type Purpose, sealOf } from '../../src/sessions/seal.ts'
import { mintId } from '../../src/tokens/id.ts'
import { hashToken, mintToken, readToken } from '../../src/tokens/secret.ts'
import type { SubjectTokenStore } from '../../src/tokens/store.ts'
import type { NewSubjectToken, SubjectToken, SubjectTokenUse } from '../../src/tokens/subject-token.ts'
import { answer, type Rule, record, rowsOf, type Steps } from './rule.ts'

export const CALLBACK = 'https://shop.example.com/callback'

/** Each client knows a person by an identifier of its own. */
export const PAIRWISE: Configuration = {
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: (_ctx, accountId, { clientId }) => `${accountId}@${clientId}`,
}

/** Signs and seals the cookies. */
export const KEY = 'a key of the tests'

/** An application that a session may open. */
export const shop = (metadata: Partial<ClientMetadata> = {}): ClientMetadata =>
  shopClient('https://shop.example.com/logout', {
    client_name: 'The shop',
    impersonation_sessions: 'https://shop.example.com/sign-in',
    post_logout_redirect_uris: undefined,
    ...metadata,
  })

export interface Given extends Omit<DeploymentOverrides, 'configuration' | 'options'> {
  readonly configuration?: Configuration
  readonly options?: DeploymentOverrides['options']
  readonly sessions?: Partial<SessionOptions>
  readonly clients?: readonly ClientMetadata[]
}

/** A session of the option `sessions` is one of a token that was issued for it. */
export interface Scene extends Deployment {
  readonly door: string
  /** Where its records are. A test may replace its calls. */
  readonly store: SubjectTokenStore
  /** A browser in which no one is signed in. */
  browser(): Browser
  /** A browser in which this person is signed in at the provider. */
  signedIn(accountId?: string, session?: Record<string, unknown>): Promise<Browser>
  /** The provider's, of this browser. */
  sessionOf(browser: Browser): Promise<OwnSession>
  /** A subject token that was issued with `use: 'session'`. */
  issue(changes?: Partial<NewSubjectToken>): Promise<{ readonly id: string; readonly token: string }>
  record(id: string): Promise<SubjectToken | undefined>
  /** Brings a token to the door and agrees. */
  arm(browser: Browser, token: string): Promise<Answer>
  /** An authorization request of the application, as its browser sends it: by default to this process. */
  authorize(browser: Browser, changes?: Record<string, string | null>, provider?: string): Promise<Answer>
  /** Redeems the code of a response. */
  redeem(
    answer: Answer,
    changes?: Record<string, string | null>,
    client?: ClientMetadata,
    headers?: Record<string, string>,
  ): Promise<HttpResponse>
  userinfo(accessToken: string): Promise<HttpResponse>
  refusals(): string[]
  /** The payloads of the events of this name, which others may come between. */
  eventsOf(name: string): unknown[]
  /** Who signs in at the provider when it asks, and how. `undefined`: they give up. */
  signingIn: { accountId: string; acr?: string; ts?: number } | undefined
}

type OwnSession = InstanceType<Provider['Session']> & { readonly uid: string; readonly loginTs?: number }

export async function startScene(given: Given = {}): Promise<Scene> {
  const { configuration = {}, options, sessions, clients = [shop()], before = [], ...rest } = given
  const { features, ...others } = configuration
  const signIn: Pick<Scene, 'signingIn'> = { signingIn: { accountId: 'bob' } }
  let provider: Provider
  let store: SubjectTokenStore = createMemoryStore()
  const interaction: Middleware = async (ctx, next) => {
    // As the provider signs its cookies, which the application around it writes.
    ctx.app.keys = provider.keys ?? []
    if (!ctx.path.startsWith('/interaction/')) return next()
    const login = signIn.signingIn
    const result = login ? { login } : { error: 'access_denied' }
    ctx.respond = false
    await provider.interactionFinished(ctx.req, ctx.res, result)
  }
  const deployment = await startDeployment({
    ...rest,
    clients,
    before: [interaction, ...before],
    options(baseUrl, database) {
      const own = typeof options === 'function' ? options(baseUrl, database) : options
      store = own?.store ?? store
      return { ...own, store, sessions: { door: `${baseUrl}/impersonate`, ...sessions } }
    },
    configuration: {
      ...reachesLoopback(),
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      claims: { openid: ['sub'], profile: ['email'] },
      ...others,
      features: { backchannelLogout: { enabled: true }, ...features },
    },
  })
  const { baseUrl, events } = deployment
  provider = deployment.provider
  const door = `${baseUrl}/impersonate`
  return Object.assign(signIn, {
    ...deployment,
    ...{ door, store },
    browser: () => new Browser(),
    async signedIn(accountId = 'bob', session: Record<string, unknown> = {}) {
      const browser = new Browser()
      const saved = Object.assign(new provider.Session(), {
        accountId,
        loginTs: Math.floor(Date.now() / 1000) - 10,
        ...session,
      })
      await saved.save(3600)
      browser.setSigned(provider.cookieName('session'), saved.jti, KEY)
      return browser
    },
    async sessionOf(browser: Browser) {
      const { value = '' } = browser.cookie(provider.cookieName('session')) ?? {}
      return ((await provider.Session.find(value)) ?? expect.fail('no one is signed in')) as OwnSession
    },
    async issue(changes: Partial<NewSubjectToken> = {}) {
      const id = mintId()
      const token = mintToken(id, 'session')
      const at = Math.floor(Date.now() / 1000)
      await store.insert({
        ...{ id, issuer: provider.issuer, purpose: 'session' },
        ...{ userId: 'alice', actorId: 'bob', clientId: 'shop' },
        ...{ context: {}, createdBy: 'backend', createdAt: at, expiresAt: at + 600 },
        ...changes,
        tokenHash: hashToken(token),
      })
      return { id, token }
    },
    record: (id: string) => store.find(provider.issuer, id),
    async arm(browser: Browser, token: string) {
      const { action, fields } = browser.formOf(await shown({ door }, browser, token))
      return browser.post(action, fields)
    },
    authorize: (browser: Browser, changes: Record<string, string | null> = {}, to = `${baseUrl}/oidc`) => {
      const parameters = {
        ...{ client_id: 'shop', response_type: 'code', scope: 'openid profile', redirect_uri: CALLBACK },
        ...{ state: 'a-state', nonce: 'a-nonce', code_challenge: CHALLENGE, code_challenge_method: 'S256' },
        ...changes,
      }
      return browser.get(`${to}/auth?${form(parameters)}`)
    },
    redeem(
      answer: Answer,
      changes: Record<string, string | null> = {},
      client = clients[0] ?? shop(),
      headers: Record<string, string> = {},
    ) {
      const code = answer.location?.searchParams.get('code') ?? ''
      const redeeming = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK }
      return postToken(deployment, { ...redeeming, code_verifier: VERIFIER, ...changes }, { client, headers })
    },
    userinfo: (accessToken: string) =>
      send(`${baseUrl}/oidc/me`, { headers: { authorization: `Bearer ${accessToken}` } }),
    eventsOf: (name: string) => events.filter((event) => event.name === name).map(({ payload }) => payload),
    refusals: () =>
      events.flatMap((event) => (event.name === 'subject_token.refused' ? [event.payload.reason] : [])),
  })
}

/** In a provider of its own. */
export async function inScene<Result>(given: Given, use: (scene: Scene) => Promise<Result>): Promise<Result> {
  const scene = await startScene(given)
  try {
    return await use(scene)
  } finally {
    await scene.close()
  }
}

/** Replaces a call of the store. Returns what puts it back. */
export function replace<Name extends keyof SubjectTokenStore>(
  store: SubjectTokenStore,
  name: Name,
  call: SubjectTokenStore[Name],
): () => void {
  const own = store[name]
  Object.assign(store, { [name]: call })
  return () => void Object.assign(store, { [name]: own })
}

/** A cell says what is answered and what the record says. */
export const cell = (use: (scene: Scene) => Promise<void>, given: Given = {}): Steps => [
  answer(record(() => inScene(given, use))),
]

/** A subject token was issued, and after all that happens to it, nothing is spent. */
export const unspent = (
  use: (scene: Scene & { readonly token: string; readonly id: string }) => Promise<void>,
  given: Given = {},
  issued: Partial<NewSubjectToken> = {},
): Steps =>
  cell(async (scene) => {
    const { token, id } = await scene.issue(issued)
    await use(Object.assign(scene, { token, id }))
    expect((await scene.record(id))?.use).to.equal(undefined)
  }, given)

/** Bob, whose browser is armed for the shop, to sign in as alice. */
export interface Armed extends Omit<Scene, 'browser'> {
  readonly browser: Browser
  readonly token: string
  readonly id: string
  /** What the record says of the use. */
  readonly use: () => Promise<SubjectTokenUse | undefined>
}

export const armed = (
  use: (scene: Armed) => Promise<void>,
  given: Given = {},
  issued: Partial<NewSubjectToken> = {},
): Steps =>
  cell(async (scene) => {
    const browser = await scene.signedIn('bob', { acr: 'gold' })
    const { token, id } = await scene.issue(issued)
    const { status, text } = await scene.arm(browser, token)
    expect(status, text).to.equal(200)
    const armedScene = { browser, token, id, use: async () => (await scene.record(id))?.use }
    // The same object: who signs in later is written into it.
    await use(Object.assign(scene, armedScene))
  }, given)

const one = rowsOf(['a session'])
export const rule = (title: string, steps: Steps): Rule => one(title, { 'a session': steps })

export const errorOf = ({ location }: Answer): string | null =>
  location?.searchParams.get('error') ?? new URLSearchParams(location?.hash.slice(1)).get('error')
export const ARMED = /^_imp_[0-9a-f]{16}_[0-9a-f]{32}$/
export const armedCookies = (browser: Browser) => browser.cookies.filter(({ name }) => ARMED.test(name))
export const isArmed = (browser: Browser): boolean => armedCookies(browser).length > 0

/** The token is brought to the door, which shows its page. */
export const shown = async ({ door }: Pick<Scene, 'door'>, browser: Browser, token: string) =>
  browser.follow(await browser.post(door, { subject_token: token }))

/** What the door would seal for this browser about the token. */
export async function sealed(
  { issuer, sessionOf }: Pick<Scene, 'issuer' | 'sessionOf'>,
  browser: Browser,
  purpose: Purpose,
  token: string,
  changes: object = {},
): Promise<string> {
  const { uid, loginTs } = await sessionOf(browser)
  const { id, hash } = readToken(token) ?? expect.fail('no token')
  const content = { id, hash, client: 'shop', session: uid, ...(loginTs && { loginTs }), ...changes }
  return sealOf(issuer, { cookies: { keys: [KEY] } }).seal(purpose, content, 60)
}

/** The person of this browser has consented to these applications before, as customers have. */
export async function consent(
  { provider, sessionOf }: Scene,
  browser: Browser,
  clientIds: readonly string[] = ['shop'],
): Promise<void> {
  const session = await sessionOf(browser)
  const { accountId } = session
  const authorizations: Record<string, object> = {}
  for (const clientId of clientIds) {
    const grant = new provider.Grant({ accountId, clientId })
    grant.addOIDCScope('openid profile')
    authorizations[clientId] = { sid: `${accountId} ${clientId}`, grantId: await grant.save() }
  }
  await Object.assign(session, { authorizations }).persist()
}

/** Someone has arrived at the shop as alice, by way of the door, and the shop can be told of the end. */
export interface Arrived extends Scene {
  readonly application: Application
  readonly id: string
  /** The engineer's browser. */
  readonly own: Browser
  /** The response that brings the code to the shop. */
  readonly arrival: Awaited<ReturnType<Scene['authorize']>>
  state(): Promise<string | undefined>
}

/** The shop has not redeemed the code yet. */
export async function withArrival(
  given: Given,
  use: (arrived: Arrived) => Promise<void>,
  issued: Partial<NewSubjectToken> = {},
): Promise<void> {
  const application = await startApplication()
  const client = shop({
    backchannel_logout_uri: application.uri,
    post_logout_redirect_uris: [AFTER_LOGOUT],
    impersonation_read_only: true,
  })
  const scene = await startScene({ ...given, clients: [client, ...(given.clients ?? [])] })
  const { impersonation } = scene
  try {
    const own = await scene.signedIn()
    const { id, token } = await scene.issue(issued)
    await scene.arm(own, token)
    const arrival = await scene.authorize(own)
    if (!arrival.location?.searchParams.has('code')) throw new Error(`no code: ${arrival.text}`)
    await use({
      ...scene,
      ...{ application, id, own, arrival },
      state: async () => (await impersonation.records.get(id))?.state,
    })
  } finally {
    await scene.close()
    await application.close()
  }
}

export interface SignedIn extends Arrived {
  readonly idToken: string
  readonly accessToken: string
}

/** The shop has redeemed the code. */
export const withSession = (given: Given, use: (signedIn: SignedIn) => Promise<void>): Promise<void> =>
  withArrival(given, async (arrived) => {
    const { status, body, text } = await arrived.redeem(arrived.arrival)
    if (status !== 200) throw new Error(text)
    await use({ ...arrived, idToken: body.id_token, accessToken: body.access_token })
  })

/** A cell about one who has arrived, or whose application has redeemed the code. */
export const arrived = (
  use: (scene: Arrived) => Promise<void>,
  given: Given = {},
  issued: Partial<NewSubjectToken> = {},
): Steps => [answer(record(() => withArrival(given, use, issued)))]
export const signedIn = (use: (scene: SignedIn) => Promise<void>, given: Given = {}): Steps => [
  answer(record(() => withSession(given, use))),
]

/** What is left of a session at the provider. */
export async function leftOf({ provider }: Pick<SignedIn, 'provider'>, id: string): Promise<string[]> {
  const name = sessionName(id)
  const [session, grant] = await Promise.all([provider.Session.findByUid(name), provider.Grant.find(name)])
  return [...(session ? ['Session'] : []), ...(grant ? ['Grant'] : [])]
}

export async function hasEnded(scene: SignedIn): Promise<void> {
  const { userinfo, accessToken, id } = scene
  expect(await leftOf(scene, id)).to.deep.equal([])
  expect((await userinfo(accessToken)).status).to.equal(401)
  expect((await introspect(scene, accessToken)).active).to.equal(false)
}
