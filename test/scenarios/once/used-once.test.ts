/**
 * What may be used once is used once, however many requests arrive at the same time, at two processes: codes and tokens of
 * the provider itself, client assertions (RFC 7523 §3) and DPoP proofs (RFC 9449 §11.1). All have read what they race for
 * before one of them writes.
 */
import { expect } from 'chai'
import { CompactSign, importJWK } from 'jose'
import type { AdapterFactory } from 'oidc-provider'
import { CALLBACK, machineClient, publicClient } from '../../../fixtures/clients.ts'
import { now } from '../../../fixtures/clock.ts'
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import { type Deployment, startDeployment } from '../../../fixtures/deployment.ts'
import { dpopKey } from '../../../fixtures/dpop.ts'
import { form, type HttpResponse, send } from '../../../fixtures/http.ts'
import { signingKey } from '../../../fixtures/keys.ts'
import { exchange, issue, postToken } from '../../../fixtures/requests.ts'
import { unique } from '../../../fixtures/unique.ts'
import { createAdapter } from '../../../src/sequelize/index.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
const KEY = signingKey('ES256', 'client')
const { d: _, ...PUBLIC_KEY } = KEY
const ASSERTING = machineClient({
  client_id: 'asserting',
  client_secret: undefined,
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [PUBLIC_KEY] },
})
const NATIVE = publicClient({
  client_id: 'native',
  grant_types: ['authorization_code', 'refresh_token', DEVICE_CODE],
})
const RACERS = 8

describe('what may be used once', () => {
  let database: Database
  /** Deployments of one issuer, each with a pool of its own. */
  let deployments: readonly [Deployment, Deployment]
  /** The model that is raced for, and who has read it. */
  let raced = ''
  const waiting: (() => void)[] = []

  const gathering =
    (adapter: AdapterFactory): AdapterFactory =>
    (model) => {
      const target = adapter(model)
      const find = target.find.bind(target)
      return Object.assign(target, {
        find: async (id: string) => {
          const found = await find(id)
          if (model === raced)
            await new Promise<void>((resolve) => {
              if (waiting.push(resolve) === RACERS) for (const go of waiting.splice(0)) go()
            })
          return found
        },
      })
    }

  before(async () => {
    database = await openDatabase('sqlite')
    const start = (issuer?: string) =>
      startDeployment({
        database,
        issuer,
        clients: [ASSERTING, NATIVE],
        configuration: {
          adapter: gathering(createAdapter(database.connect())),
          rotateRefreshToken: true,
          pkce: { required: () => false },
          features: { deviceFlow: { enabled: true } },
        },
      })
    const first = await start()
    deployments = [first, await start(first.issuer)]
  })
  after(async () => {
    for (const deployment of deployments) await deployment.close()
    await database.close()
  })
  beforeEach(() => {
    raced = ''
  })

  const at = (index: number): Deployment => deployments[index % 2 ? 1 : 0]
  const race = async (model: string, request: (index: number) => Promise<HttpResponse>) => {
    raced = model
    const responses = await Promise.all(Array.from({ length: RACERS }, (_, index) => request(index)))
    raced = ''
    for (const { errors } of deployments) expect(errors).to.deep.equal([])
    return responses.filter(({ status }) => status !== 200)
  }
  const expectRefused = ({ status, body, text }: HttpResponse, error: string, description: string) =>
    expect([status, body], text).to.deep.equal([
      error === 'invalid_client' ? 401 : 400,
      { error, error_description: description },
    ])
  const expectInvalidClient = (response: HttpResponse) =>
    expectRefused(response, 'invalid_client', 'client authentication failed')

  const issued = async (model: 'AuthorizationCode' | 'RefreshToken' | 'DeviceCode') => {
    const { provider } = at(0)
    const grant = new provider.Grant({ clientId: 'native', accountId: 'alice' })
    grant.addOIDCScope('openid offline_access')
    const grantId = await grant.save()
    const registered = (await provider.Client.find('native')) ?? expect.fail('no client')
    const common = { client: registered, accountId: 'alice', grantId, scope: 'openid' }
    const code = { ...common, gty: 'authorization_code' }
    const device = { params: { client_id: 'native', scope: 'openid' }, userCode: 'ABCD', deviceInfo: {} }
    const value = {
      AuthorizationCode: () => new provider.AuthorizationCode({ ...code, redirectUri: CALLBACK }).save(),
      RefreshToken: () => new provider.RefreshToken({ ...code, scope: 'openid offline_access' }).save(),
      DeviceCode: () => new provider.DeviceCode({ ...common, ...device, gty: DEVICE_CODE }).save(),
    }
    return { grantId, value: await value[model]() }
  }
  for (const [model, parametersOf, least] of [
    [
      'AuthorizationCode',
      (code: string) => ({ grant_type: 'authorization_code', code, redirect_uri: CALLBACK }),
      1,
    ],
    ['RefreshToken', (token: string) => ({ grant_type: 'refresh_token', refresh_token: token }), 1],
    // The provider checks the grant only after it has consumed a device code: a loser may end it before that.
    ['DeviceCode', (code: string) => ({ grant_type: DEVICE_CODE, device_code: code }), 0],
  ] as const)
    it(`as ${model}, wins ${least ? '' : 'at most '}once, and the grant ends`, async () => {
      const { grantId, value } = await issued(model)
      const refused = await race(model, (index) =>
        postToken(at(index), parametersOf(value), { client: NATIVE }),
      )
      expect(RACERS - refused.length).to.be.within(least, 1)
      for (const { status, body } of refused)
        expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
      expect(await at(0).provider.Grant.find(grantId)).to.equal(undefined)
    })

  /** `exp` is text, because JSON can name numbers that `JSON.stringify` does not write. */
  const assertion = async (exp = `${now() + 60}`): Promise<string> => {
    const claims = { iss: 'asserting', sub: 'asserting', aud: at(0).issuer, jti: unique('assertion') }
    const payload = JSON.stringify(claims).replace(/}$/, `,"exp":${exp}}`)
    return new CompactSign(Buffer.from(payload))
      .setProtectedHeader({ alg: 'ES256', kid: 'client' })
      .sign(await importJWK({ ...KEY, key_ops: undefined, x5c: undefined }, 'ES256'))
  }
  const authenticate = (clientAssertion: string, index = 0): Promise<HttpResponse> =>
    send(at(index).tokenEndpoint, {
      method: 'POST',
      body: form({
        grant_type: 'client_credentials',
        client_assertion: clientAssertion,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      }),
    })

  it('as client assertion is accepted once', async () => {
    const once = await assertion()
    const refused = await race('ReplayDetection', (index) => authenticate(once, index))
    expect(refused).to.have.length(RACERS - 1)
    for (const response of refused) expectInvalidClient(response)
  })

  for (const [exp, accepted] of [
    [`${now() + 60}.5`, [200, 401]],
    ['9007199254740000', [200, 401]],
    ['9007199254740992', [401, 401]],
    ['1e300', [401, 401]],
    ['1e400', [401, 401]],
  ] as const)
    it(`as client assertion whose exp is ${exp} is ${accepted[0] === 200 ? 'accepted once' : 'never accepted'}`, async () => {
      const given = await assertion(exp)
      const responses = [await authenticate(given), await authenticate(given)]
      expect(responses.map(({ status }) => status)).to.deep.equal(accepted)
      for (const response of responses) if (response.status !== 200) expectInvalidClient(response)
      expect(at(0).errors).to.deep.equal([])
    })

  it('as DPoP proof is accepted once, and spends one subject token of eight', async () => {
    const proof = await (await dpopKey()).proof(at(0))
    const tokens: string[] = []
    while (tokens.length < RACERS) tokens.push((await issue(at(0))).subjectToken)
    const bodies = tokens.map((subjectToken) => ({ subject_token: subjectToken }))
    const refused = await race('ReplayDetection', (index) =>
      exchange(at(0), bodies[index] ?? {}, { headers: { dpop: proof } }),
    )
    expect(refused).to.have.length(RACERS - 1)
    // The way the token endpoint of the provider refuses a proof that it has seen before.
    for (const response of refused) expectRefused(response, 'invalid_grant', 'grant request is invalid')
    const again = await Promise.all(bodies.map((body) => exchange(at(0), body)))
    expect(again.filter(({ status }) => status === 200)).to.have.length(RACERS - 1)
  })
})
