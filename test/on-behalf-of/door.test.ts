/** Which clients may send which tokens (protocol.md §8.1): decided by the form of the token and by registration. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { publicClient, webClient } from '../../fixtures/clients.ts'
import { API, type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { askAsMachine, metadataWeb, SELF_DESCRIBED_MACHINE } from '../../fixtures/metadata-documents.ts'
import {
  apiClient,
  BILLING,
  downstream,
  ownToken,
  passedOn,
  passOn,
  viewed,
} from '../../fixtures/on-behalf-of.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { UNKNOWN_TOKEN } from '../../fixtures/subject-tokens.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/index.ts'
import { expectNotPassedOn, UNAUTHORIZED } from './refusals.ts'

const plainApi = apiClient({ client_id: 'plain-api', token_exchange_audiences: undefined })
const emptyApi = apiClient({ client_id: 'empty-api', token_exchange_audiences: [] })
const publicApi = publicClient({
  client_id: 'public-api',
  grant_types: [TOKEN_EXCHANGE],
  response_types: [],
  redirect_uris: [],
  token_exchange_audiences: [API],
  token_exchange_resources: [BILLING],
})
const grantless = apiClient({ client_id: 'grantless', grant_types: [] })
const clients = [plainApi, emptyApi, publicApi, grantless]

describe('on behalf of: who may send what', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment(downstream({}, { clients }))
  })
  after(() => deployment.close())

  const looked = async (work: () => Promise<unknown>) => {
    const before = deployment.database.statements.length
    await work()
    return deployment.database.statements.slice(before)
  }

  for (const [title, client, reason] of [
    ['an application', webClient(), 'no token_exchange_audiences'],
    ['a client without token_exchange_audiences', plainApi, 'no token_exchange_audiences'],
    ['a public application', publicClient(), 'no token_exchange_audiences'],
    ['an API that does not authenticate', publicApi, 'the client does not authenticate'],
  ] as const) {
    it(`refuses ${title} before its token is looked at`, async () => {
      const { accessToken } = await viewed(deployment)
      for (const token of [accessToken, await ownToken(deployment), 'anything', `${UNKNOWN_TOKEN}x`]) {
        const statements = await looked(() =>
          expectNotPassedOn(deployment, () => passOn(deployment, token, {}, { client }), {
            ...UNAUTHORIZED,
            reason,
          }),
        )
        expect(statements).to.deep.equal([])
      }
    })
  }

  it('refuses an API without the grant as the provider refuses every client without it', async () => {
    const { body } = await passOn(deployment, await ownToken(deployment), {}, { client: grantless })
    expect(body).to.deep.equal({
      error: 'invalid_request',
      error_description: 'requested grant type is not allowed for this client',
    })
  })

  it('refuses a client that describes itself as an API in a metadata document', async () => {
    const web = metadataWeb()
    const { token_exchange_audiences, token_exchange_resources } = apiClient()
    web.document = { ...SELF_DESCRIBED_MACHINE, token_exchange_audiences, token_exchange_resources }
    await withDeployment(downstream({}, { configuration: web.configuration }), async (own) => {
      const request = { grant_type: TOKEN_EXCHANGE, subject_token_type: ACCESS_TOKEN_TYPE, resource: BILLING }
      const token = await ownToken(own)
      await passedOn(own, token)
      const { status, body } = await askAsMachine(own, { ...request, subject_token: token })
      expect([status, body.error]).to.deep.equal([400, 'invalid_request'])
      expect(own.events.at(-1)).to.deep.include({ name: 'access_token.refused' })
      expect(own.events.at(-1)?.payload).to.include({
        reason: 'the client describes itself in a metadata document',
      })
    })
  })

  it('asks for credentials before anything else', async () => {
    const client = apiClient({ client_secret: undefined })
    const { status, body } = await passOn(deployment, await ownToken(deployment), {}, { client })
    expect([status, body.error]).to.deep.equal([401, 'invalid_client'])
  })

  for (const client of [apiClient(), emptyApi, publicApi]) {
    it(`lets ${client.client_id} send no subject token, and looks nothing up`, async () => {
      const { subjectToken } = await issue(deployment)
      for (const [token, reason] of [
        [subjectToken, 'the client is an API'],
        [UNKNOWN_TOKEN, 'the client is an API'],
      ] as const) {
        const events = deployment.events.length
        const statements = await looked(async () => {
          const { status, body } = await passOn(deployment, token, {}, { client })
          expect([status, body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
        })
        expect(statements).to.deep.equal([])
        const [event] = deployment.events.slice(events)
        expect(event?.name).to.equal('subject_token.refused')
        expect(event?.payload).to.include({ stage: 'exchange', check: 'subject_token', reason })
      }
      const { status } = await exchange(deployment, { subject_token: subjectToken })
      expect(status, 'the subject token is spent').to.equal(200)
    })
  }

  it('takes an empty list for an API that receives nothing', () =>
    viewed(deployment).then(({ accessToken }) =>
      expectNotPassedOn(deployment, () => passOn(deployment, accessToken, {}, { client: emptyApi }), {
        reason: 'for another audience',
      }),
    ))

  for (const [title, token] of [
    ['one character too many', `${UNKNOWN_TOKEN}x`],
    ['one too few', UNKNOWN_TOKEN.slice(0, -1)],
    ['another character', `${UNKNOWN_TOKEN.slice(0, -1)}.`],
    ['another prefix', UNKNOWN_TOKEN.replace('sub_', 'Sub_')],
    ['white space before it', ` ${UNKNOWN_TOKEN}`],
    ['a line break after it', `${UNKNOWN_TOKEN}\n`],
  ]) {
    it(`takes a subject token with ${title} for an access token`, async () => {
      const event = await expectNotPassedOn(deployment, () => passOn(deployment, token ?? ''), {
        reason: token?.includes('.') ? 'ERR_JWS_INVALID' : 'unknown or expired',
      })
      expect(event.clientId).to.equal('orders-api')
    })
  }

  it('checks the parameters first, and tells of each refusal at this door', async () => {
    const token = await ownToken(deployment)
    const actor = withActor(await actorToken(deployment))
    const cases: [changes: Parameters, error: string, description: string, check?: string][] = [
      [{ subject_token_type: null }, 'invalid_request', 'subject_token_type is required'],
      [{ requested_token_type: 'x' }, 'invalid_request', 'requested_token_type is not supported'],
      [{ audience: 'x' }, 'invalid_target', 'audience is not supported: send resource instead', 'target'],
      [{ authorization_details: '[]' }, 'invalid_request', 'authorization_details is not supported'],
      [
        { ...actor, actor_token_type: null },
        'invalid_request',
        'actor_token_type is required with actor_token',
      ],
      [actor, 'invalid_request', 'actor_token is not supported'],
    ]
    for (const client of [apiClient(), webClient()]) {
      for (const [changes, error, description, check = 'request'] of cases) {
        const attempt = () => passOn(deployment, token, changes, { client })
        await expectNotPassedOn(deployment, attempt, { error, description, check, reason: description })
      }
    }
  })

  it('does not apply requireActor and requiredContext', () =>
    withDeployment(downstream({ requireActor: true, requiredContext: ['ticketId'] }), async (own) => {
      await passedOn(own, await ownToken(own))
      const { accessToken } = await viewed(own, {}, { context: { ticketId: 'T-1' } })
      await passedOn(own, accessToken)
      const { subjectToken } = await issue(own, { context: { ticketId: 'T-1' } })
      const { body } = await exchange(own, { subject_token: subjectToken })
      expect(body.error_description).to.equal('actor_token is required')
    }))

  for (const onBehalfOf of [true, false]) {
    it(`does not tell an API of requireActor, with the option ${onBehalfOf ? 'on' : 'off'}`, () =>
      withDeployment(downstream({ requireActor: true, onBehalfOf }, { clients }), async (own) => {
        const { subjectToken } = await issue(own)
        const tokens = onBehalfOf
          ? [subjectToken, UNKNOWN_TOKEN]
          : [subjectToken, UNKNOWN_TOKEN, await ownToken(own)]
        for (const client of [apiClient(), emptyApi, publicApi]) {
          for (const token of tokens)
            expect((await passOn(own, token, {}, { client })).body).to.deep.equal(SUBJECT_TOKEN_REFUSED)
        }
      }))
  }

  it('is by form alone: no declared type changes it', async () => {
    const { subjectToken } = await issue(deployment)
    for (const type of ['jwt', 'id_token', 'refresh_token']) {
      const declared = { subject_token_type: `urn:ietf:params:oauth:token-type:${type}` }
      for (const token of [subjectToken, await ownToken(deployment)]) {
        const { body } = await passOn(deployment, token, declared)
        expect(body.error_description).to.equal('subject_token_type is not supported')
      }
    }
  })
})

describe('on behalf of, switched off', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment(downstream({ onBehalfOf: false }, { clients }))
  })
  after(() => deployment.close())

  for (const client of [apiClient(), webClient(), plainApi, publicApi, emptyApi]) {
    it(`refuses every token that ${client.client_id} received, in the words of a bad subject token`, async () => {
      const { accessToken } = await viewed(deployment)
      for (const token of [accessToken, await ownToken(deployment), 'x']) {
        const events = deployment.events.length
        const { status, body } = await passOn(deployment, token, {}, { client })
        expect([status, body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
        const names = deployment.events.slice(events).map(({ name }) => name)
        expect(names).to.deep.equal(['subject_token.refused'])
      }
    })
  }

  it('bars APIs from subject tokens all the same', async () => {
    const { subjectToken } = await issue(deployment)
    for (const client of [apiClient(), emptyApi, publicApi]) {
      const { body } = await exchange(deployment, { subject_token: subjectToken }, { client })
      expect(body).to.deep.equal(SUBJECT_TOKEN_REFUSED)
    }
    expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
  })
})
