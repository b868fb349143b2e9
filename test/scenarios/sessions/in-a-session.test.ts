/**
 * A browser that is in a session, and what it may send: of any number of requests, one is answered for the customer, and no
 * byte of the customer's own sessions, grants and consents changes. `SESSION_REQUESTS` says how many, `SESSION_SEED` which.
 */
import { expect } from 'chai'
import fc from 'fast-check'
import { decodeJwt } from 'jose'
import type { Answer, Browser } from '../../../fixtures/browser.ts'
import { storedModels } from '../../../fixtures/clients.ts'
import { API } from '../../../fixtures/deployment.ts'
import { mintId } from '../../../src/tokens/id.ts'
import { ARMED, consent, inScene, type Scene, shop, shown } from '../../spec/arriving.ts'

const REQUESTS = Number(process.env.SESSION_REQUESTS ?? 1000)
const SEED = Number(process.env.SESSION_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** To one provider, and in one session. */
const IN_A_PROVIDER = 1000
const LONGEST = 25

const BOTH = ['shop', 'portal']
const CLIENTS = BOTH.map((client_id) =>
  shop({
    client_id,
    response_types: ['code', 'code id_token', 'id_token', 'none'],
    grant_types: ['authorization_code', 'implicit', 'refresh_token'],
  }),
)

interface Sent {
  readonly to: 'authorize' | 'head' | 'door' | 'bring' | 'confirm' | 'logout' | 'resume' | 'replant' | 'forge'
  readonly client: string
  readonly parameters: Record<string, string>
}

const some = (...values: readonly string[]) => fc.constantFrom(...values)
const VALUES: Readonly<Record<string, readonly string[]>> = {
  prompt: ['none', 'login', 'consent', 'consent login'],
  response_type: ['code', 'code id_token', 'id_token', 'none'],
  response_mode: ['query', 'fragment', 'form_post'],
  scope: ['openid', 'openid profile', 'openid offline_access', 'openid orders:read'],
  resource: [API],
  max_age: ['0', '5', '3600'],
  login_hint: ['alice', 'bob'],
  id_token_hint: ['@hint', 'forged'],
  claims: [
    '{"id_token":{"sub":{"value":"alice"}}}',
    '{"userinfo":{"act":null}}',
    '{"userinfo":{"email":null}}',
  ],
  acr_values: ['gold'],
  state: ['a', 'b'],
}
const parameter = fc.oneof(
  ...Object.entries(VALUES).map(([name, values]) => fc.tuple(fc.constant(name), some(...values))),
)
const parameters = fc.array(parameter, { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs))
const request: fc.Arbitrary<Sent> = fc.record({
  to: fc.oneof(
    { weight: 12, arbitrary: some('authorize') },
    {
      weight: 5,
      arbitrary: some('head', 'door', 'bring', 'confirm', 'logout', 'resume', 'replant', 'forge'),
    },
  ) as fc.Arbitrary<Sent['to']>,
  client: some('shop', 'portal'),
  parameters,
})

interface InSession {
  readonly scene: Scene
  readonly browser: Browser
  readonly token: string
  readonly hint: string
  readonly armed: { name: string; value: string; path: string }
  readonly asked: { action: string; fields: Record<string, string> }
  /** The arrival. */
  readonly answered: Answer
}

async function send(
  { scene, browser, token, hint, armed, asked, answered }: InSession,
  sent: Sent,
): Promise<Answer> {
  const { to, client, parameters: given } = sent
  const all = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value === '@hint' ? hint : value]),
  )
  switch (to) {
    case 'authorize':
      return scene.authorize(browser, { client_id: client, ...all })
    case 'head': {
      const url = new URL(answered.url)
      url.searchParams.set('client_id', client)
      return browser.head(url)
    }
    case 'door':
      return browser.get(`${scene.door}?${new URLSearchParams(all)}`)
    case 'bring':
      return shown(scene, browser, token)
    case 'confirm':
      return browser.post(asked.action, asked.fields)
    case 'logout':
      return browser.get(`${scene.issuer}/session/end?${new URLSearchParams({ client_id: client })}`)
    case 'resume':
      return browser.get(`${scene.issuer}/auth/an-interaction`)
    case 'forge':
      // As a site beside the provider may: the armed cookie under the name of another record, and junk.
      browser.set(armed.name.replace(/[^_]+$/, mintId()), armed.value, armed.path)
      browser.set(armed.name.replace(/[^_]+$/, mintId()), 'forged', armed.path)
      return scene.authorize(browser, { client_id: client, ...all })
    case 'replant':
      // The cookie that was taken away comes back, as from a copy of the browser.
      browser.set(armed.name, armed.value, armed.path)
      return scene.authorize(browser, { client_id: client, ...all })
  }
}

/** Everyone for whom an answer speaks. */
async function subjectsOf(scene: Scene, client: string, answer: Answer): Promise<string[]> {
  const { location, text } = answer
  const pairs: [string, string][] = [
    ...(location?.searchParams ?? []),
    ...new URLSearchParams(location?.hash.slice(1)),
  ]
  for (const [, name = '', value = ''] of text.matchAll(/name="(code|id_token)" value="([^"]+)"/g))
    pairs.push([name, value])
  const given = new URLSearchParams(pairs)
  const subjects: string[] = []
  const idToken = given.get('id_token')
  if (idToken) subjects.push(String(decodeJwt(idToken).sub))
  const code = given.get('code')
  if (code) {
    const url = new URL(`https://shop.example.com/?${new URLSearchParams({ code })}`)
    const registered = CLIENTS.find(({ client_id: id }) => id === client)
    const { body, text: said } = await scene.redeem({ ...answer, location: url }, {}, registered)
    if (!body.access_token) throw new Error(said)
    if (body.id_token) subjects.push(String(decodeJwt(body.id_token).sub))
    const stored = await scene.provider.AccessToken.find(body.access_token)
    if (stored?.accountId) subjects.push(stored.accountId)
  }
  return subjects
}

describe('a browser in a session', function () {
  this.timeout(Math.max(60_000, REQUESTS * 60))

  it(`gets no other answer for the customer: ${REQUESTS} requests, seed ${SEED}`, async () => {
    const seen = { requests: 0, own: 0 }
    for (let seed = SEED; seen.requests < REQUESTS; seed += 1) await play(seed, seen)
    // The engineer's own sign-ins go on, so that there was something to go wrong.
    expect(seen.own).to.be.greaterThan(REQUESTS / 50)
  })
})

/** In a provider of its own. */
async function play(seed: number, seen: { requests: number; own: number }): Promise<void> {
  const models = storedModels()
  const given = {
    clients: CLIENTS,
    configuration: {
      adapter: models.adapter as never,
      responseTypes: ['code', 'code id_token', 'id_token', 'none'] as never,
      acrValues: ['gold'],
      features: { claimsParameter: { enabled: true } },
      issueRefreshToken: () => true,
    },
  }
  await inScene(given, async (scene) => {
    await consent(scene, await scene.signedIn('alice'), BOTH)
    const before = rowsOf(models.payloads)
    expect(before.length).to.be.greaterThan(2)
    const property = fc.asyncProperty(
      fc.array(request, { minLength: LONGEST, maxLength: LONGEST }),
      async (all) => {
        const session = await enter(scene)
        for (const sent of all) {
          seen.requests += 1
          const answer = await send(session, sent)
          const subjects = await subjectsOf(scene, sent.client, answer)
          seen.own += subjects.length
          expect(subjects.filter((sub) => sub !== 'bob')).to.deep.equal([])
          expect(session.browser.cookies.map(({ value }) => value)).not.to.include(session.headless)
        }
        expect(rowsOf(models.payloads)).to.deep.equal(before)
      },
    )
    await fc.assert(property, { seed, numRuns: IN_A_PROVIDER / LONGEST, endOnFailure: true })
    expect(scene.errors).to.deep.equal([])
  })
}

/** Everything of the customer's own, as it is stored. */
const rowsOf = (payloads: ReadonlyMap<string, object>): string[] =>
  [...payloads]
    .filter(
      ([key, payload]) =>
        Reflect.get(payload, 'accountId') === 'alice' && !/imp_/.test(JSON.stringify(payload) + key),
    )
    .map(([key, payload]) => `${key} ${JSON.stringify(payload)}`)
    .sort()

async function enter(scene: Scene): Promise<InSession & { readonly headless: string | undefined }> {
  const browser = await scene.signedIn('bob', { acr: 'gold' })
  await consent(scene, browser, BOTH)
  const { token, id } = await scene.issue()
  const asked = browser.formOf(await shown(scene, browser, token))
  await browser.post(asked.action, asked.fields)
  const armed = browser.cookie(ARMED) ?? expect.fail('not armed')
  const answer = await scene.authorize(browser)
  const { body } = await scene.redeem(answer)
  expect(decodeJwt(body.id_token).sub).to.equal('alice')
  const headless = await scene.provider.Session.findByUid(`imp_${id}`)
  return {
    ...{ scene, browser, token, hint: body.id_token, armed, asked },
    ...{ answered: answer, headless: headless?.jti },
  }
}
