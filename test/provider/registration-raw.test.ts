/** Raw registration metadata is unvalidated: a value of any type may arrive, and none causes a privilege or a failure. */
import { expect } from 'chai'
import type { Configuration } from 'oidc-provider'
import { API } from '../../fixtures/deployment.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import { type HttpResponse, send } from '../../fixtures/http.ts'
import {
  HARMLESS,
  initialAccessToken,
  privileges,
  register,
  storeClient,
  update,
} from '../../fixtures/registration.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'

const CREATE = 'subject-tokens:create'
const NOTHING = { mayExchange: false, scopes: [] }

const ODD: readonly unknown[] = [
  null,
  true,
  false,
  0,
  1,
  -1.5,
  '',
  ' ',
  [],
  {},
  [null],
  [[]],
  [{}],
  { length: 1 },
]

/** Values for each member: odd ones, and those that a careless check would mistake for the privilege. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  scope: [
    ...ODD,
    [CREATE],
    [[CREATE]],
    { [CREATE]: true },
    { 0: CREATE, length: 1 },
    { toString: CREATE },
    { split: [CREATE] },
    `openid\t${CREATE}`,
    `openid\n${CREATE}`,
    `\u00a0${CREATE}`,
    CREATE.toUpperCase(),
    `${CREATE},`,
  ],
  grant_types: [
    ...ODD,
    TOKEN_EXCHANGE,
    `authorization_code ${TOKEN_EXCHANGE}`,
    [[TOKEN_EXCHANGE]],
    ['authorization_code', [TOKEN_EXCHANGE]],
    { 0: TOKEN_EXCHANGE, length: 1 },
    { [TOKEN_EXCHANGE]: true },
    { includes: TOKEN_EXCHANGE },
    [TOKEN_EXCHANGE.toUpperCase()],
    [`${TOKEN_EXCHANGE} `],
    [7],
  ],
  token_exchange_resources: [
    ...ODD,
    API,
    7,
    [7],
    [API, 7],
    [API, null],
    ['/relative'],
    [`${API}#fragment`],
    [''],
    { 0: API, length: 1 },
    { every: API },
  ],
  token_exchange_audiences: [
    ...ODD,
    API,
    7,
    [7],
    [API, 7],
    [API, null],
    [''],
    { 0: API, length: 1 },
    { every: API },
    [API],
  ],
  redirect_uris: ODD,
  response_types: ODD,
  client_id: [{}, [], 'spa', null],
  client_secret: [{}, 'x'],
}

const features = {
  registration: { enabled: true },
  registrationManagement: { enabled: true },
} as Configuration['features']

/** `undefined` for a request that was refused. */
function expectNoFailure(response: HttpResponse): HttpResponse['body'] | undefined {
  expect(response.status, response.text).to.be.lessThan(500)
  if (response.status < 300) return response.body
  expect(response.body?.error, response.text).to.be.a('string')
  return undefined
}

describe('registration: raw metadata', () => {
  onSqlite({ configuration: { features } }, (on) => {
    for (const [name, values] of Object.entries(VALUES)) {
      it(`of any type as ${name} registers no privilege, and does not fail`, async () => {
        for (const value of values) {
          const body = expectNoFailure(await register(on.deployment, { ...HARMLESS, [name]: value }))
          const shown = JSON.stringify(value)
          if (body) expect(await privileges(on.deployment, body), shown).to.deep.equal(NOTHING)
        }
        expect(on.deployment.errors).to.deep.equal([])
      })

      it(`of any type as ${name} updates no privilege, and does not fail`, async () => {
        const { body: client } = await register(on.deployment, HARMLESS)
        for (const value of values) {
          const body = expectNoFailure(await update(client, { [name]: value }))
          const shown = JSON.stringify(value)
          if (body) expect(await privileges(on.deployment, client), shown).to.deep.equal(NOTHING)
        }
        expect(await privileges(on.deployment, client)).to.deep.equal(NOTHING)
        expect(on.deployment.errors).to.deep.equal([])
      })
    }

    const bodies = [
      'null',
      '[]',
      '7',
      '"x"',
      '{',
      '',
      `{"__proto__":{"scope":"${CREATE}"}}`,
      `{"__proto__":{"grant_types":["${TOKEN_EXCHANGE}"]},"redirect_uris":["https://a.example.com"]}`,
      `{"constructor":{"prototype":{"scope":"${CREATE}"}},"redirect_uris":["https://a.example.com"]}`,
      `{"scope":"openid","scope":"${CREATE}","redirect_uris":["https://a.example.com"]}`,
      `{"grant_types":[],"grant_types":["${TOKEN_EXCHANGE}"],"redirect_uris":["https://a.example.com"]}`,
    ]
    for (const body of bodies) {
      it(`as the body ${JSON.stringify(body).slice(0, 60)} registers no privilege, and does not fail`, async () => {
        const registered = expectNoFailure(await register(on.deployment, body))
        if (registered) expect(await privileges(on.deployment, registered)).to.deep.equal(NOTHING)
      })
    }

    it('cannot name the client it becomes, nor one that exists', async () => {
      const { body } = await register(on.deployment, { ...HARMLESS, client_id: 'spa' })
      expect(body.client_id).to.be.a('string').and.not.equal('spa')
      const uri = body.registration_client_uri.replace(body.client_id, 'spa')
      const authorization = `Bearer ${body.registration_access_token}`
      expect((await send(uri, { headers: { authorization } })).status).to.equal(401)
    })

    it('is refused if malformed, even if the initial access token allows much', async () => {
      const trusting = await on.start({
        configuration: {
          features: {
            registration: { enabled: true, initialAccessToken: true },
          } as Configuration['features'],
        },
      })
      for (const value of VALUES.token_exchange_resources ?? []) {
        const token = await initialAccessToken(trusting, ['impersonation'])
        const metadata = { ...HARMLESS, grant_types: ['authorization_code', TOKEN_EXCHANGE] }
        const response = await register(trusting, { ...metadata, token_exchange_resources: value }, token)
        const empty = Array.isArray(value) && value.length === 0
        const { status, body } = response
        expect([status, body.error_description], JSON.stringify(value)).to.deep.equal(
          empty ? [201, undefined] : [400, 'token_exchange_resources must be an array of absolute URIs'],
        )
      }
    })
  })
})

describe('registration: a stored client whose metadata is malformed', () => {
  onSqlite({}, (on) => {
    it('exchanges for no resource rather than for any', async () => {
      for (const [index, value] of [API, 7, null, [7], { 0: API }].entries()) {
        const client = { client_id: `broken-${index}`, ...HARMLESS, grant_types: [TOKEN_EXCHANGE] }
        await storeClient(on.deployment, {
          ...client,
          response_types: [],
          token_exchange_resources: value,
        } as never)
        const { subjectToken } = await issue(on.deployment)
        const response = await exchange(on.deployment, { subject_token: subjectToken }, { client })
        expect([response.status, response.body?.error], response.text).to.deep.equal([
          400,
          'invalid_client_metadata',
        ])
        expect((await exchange(on.deployment, { subject_token: subjectToken })).status).to.equal(200)
      }
    })
  })
})
