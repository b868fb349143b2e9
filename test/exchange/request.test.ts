/** The parameters of a token exchange (protocol.md §3). */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient } from '../../fixtures/clients.ts'
import { API, type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { exchange, issue, managementToken } from '../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/index.ts'
import { expectRefused } from './refusals.ts'

const TYPE = 'urn:ietf:params:oauth:token-type'

describe('token exchange: the request', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment()
  })
  after(() => deployment.close())

  /** One change to a valid request, and the error description of the response. */
  const refusals: [title: string, changes: Parameters, description: string][] = [
    ['a request without subject_token_type', { subject_token_type: null }, 'subject_token_type is required'],
    ['a blank subject_token_type', { subject_token_type: '' }, 'subject_token_type is required'],
    [
      'a subject token type other than access_token',
      { subject_token_type: `${TYPE}:jwt` },
      'subject_token_type is not supported',
    ],
    [
      'a subject token type that differs in case',
      { subject_token_type: ACCESS_TOKEN_TYPE.toUpperCase() },
      'subject_token_type is not supported',
    ],
    [
      'a subject token type with a space after it',
      { subject_token_type: `${ACCESS_TOKEN_TYPE} ` },
      'subject_token_type is not supported',
    ],
    [
      'a requested token type refresh_token',
      { requested_token_type: `${TYPE}:refresh_token` },
      'requested_token_type is not supported',
    ],
    [
      'a requested token type id_token',
      { requested_token_type: `${TYPE}:id_token` },
      'requested_token_type is not supported',
    ],
    [
      'a requested token type jwt',
      { requested_token_type: `${TYPE}:jwt` },
      'requested_token_type is not supported',
    ],
    [
      'a requested token type of one space',
      { requested_token_type: ' ' },
      'requested_token_type is not supported',
    ],
    [
      'an actor token without its type',
      { actor_token: 'some-token' },
      'actor_token_type is required with actor_token',
    ],
    [
      'an actor token with a blank type',
      { actor_token: 'some-token', actor_token_type: '' },
      'actor_token_type is required with actor_token',
    ],
    [
      'an actor token type without its token',
      { actor_token_type: ACCESS_TOKEN_TYPE },
      'actor_token is required with actor_token_type',
    ],
    [
      'an actor token type with a blank token',
      { actor_token: '', actor_token_type: ACCESS_TOKEN_TYPE },
      'actor_token is required with actor_token_type',
    ],
    [
      'an actor token type other than access_token',
      { actor_token: 'some-token', actor_token_type: `${TYPE}:id_token` },
      'actor_token_type is not supported',
    ],
    [
      'authorization_details',
      { authorization_details: '[{"type":"x"}]' },
      'authorization_details is not supported',
    ],
    [
      'an empty list of authorization_details',
      { authorization_details: '[]' },
      'authorization_details is not supported',
    ],
    [
      'authorization_details of one space',
      { authorization_details: ' ' },
      'authorization_details is not supported',
    ],
  ]
  for (const [title, changes, description] of refusals) {
    it(`refuses ${title}`, () =>
      expectRefused(deployment, {
        attempt: (subjectToken) => exchange(deployment, { subject_token: subjectToken, ...changes }),
        error: 'invalid_request',
        description,
        check: 'request',
      }))
  }

  for (const [title, value] of [
    ['without', null],
    ['with a blank', ''],
  ] as const) {
    it(`refuses a request ${title} subject_token`, async () => {
      await expectRefused(deployment, {
        attempt: () => exchange(deployment, { subject_token: value }),
        error: 'invalid_request',
        description: 'subject_token is required',
        check: 'request',
      })
    })
  }

  it('refuses the audience parameter, with and without a resource, and says what to send', async () => {
    const description = 'audience is not supported: send resource instead'
    for (const audience of [API, 'https://other.example.com', ' ', [API, API]]) {
      for (const resource of [API, null]) {
        await expectRefused(deployment, {
          attempt: (subjectToken) =>
            exchange(deployment, { subject_token: subjectToken, audience, resource }),
          error: 'invalid_target',
          description,
          check: 'target',
        })
        const [refused] = deployment.events.filter(({ name }) => name === 'subject_token.refused').slice(-1)
        expect(refused?.payload).to.include({ reason: description })
      }
    }
  })

  const repeated: [parameter: string, first: string, second: string][] = [
    ['grant_type', TOKEN_EXCHANGE, TOKEN_EXCHANGE],
    ['client_id', 'spa', 'spa'],
    ['subject_token_type', ACCESS_TOKEN_TYPE, ACCESS_TOKEN_TYPE],
    ['actor_token', 'one', 'two'],
    ['actor_token_type', ACCESS_TOKEN_TYPE, ACCESS_TOKEN_TYPE],
    ['requested_token_type', ACCESS_TOKEN_TYPE, ACCESS_TOKEN_TYPE],
    ['scope', 'orders:read', 'orders:read'],
    ['authorization_details', '[]', '[]'],
  ]
  for (const [parameter, ...values] of repeated) {
    it(`refuses a repeated ${parameter}, and names it`, async () => {
      const response = await expectRefused(deployment, {
        attempt: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken, client_id: 'spa', [parameter]: values }),
        error: 'invalid_request',
        check: null,
      })
      expect(response.body.error_description).to.include(parameter)
    })
  }

  it('refuses a repeated subject_token, even when one of the two is valid', async () => {
    const response = await expectRefused(deployment, {
      attempt: (subjectToken) => exchange(deployment, { subject_token: [subjectToken, subjectToken] }),
      error: 'invalid_request',
      check: null,
    })
    expect(response.body.error_description).to.include('subject_token')
  })

  it('treats blank optional parameters as omitted', async () => {
    const { subjectToken } = await issue(deployment)
    const blank = { actor_token: '', actor_token_type: '', requested_token_type: '', scope: '', audience: '' }
    const response = await exchange(deployment, {
      subject_token: subjectToken,
      ...blank,
      authorization_details: '',
    })
    expect(response.status, response.text).to.equal(200)
    expect(response.body).not.to.have.property('scope')
  })

  it('accepts the requested token type access_token', async () => {
    const { subjectToken } = await issue(deployment)
    const response = await exchange(deployment, {
      subject_token: subjectToken,
      requested_token_type: ACCESS_TOKEN_TYPE,
    })
    expect(response.status, response.text).to.equal(200)
    expect(response.body.issued_token_type).to.equal(ACCESS_TOKEN_TYPE)
  })

  it('ignores parameters it does not know (RFC 6749 §3.2)', async () => {
    const { subjectToken } = await issue(deployment)
    const response = await exchange(deployment, {
      subject_token: subjectToken,
      claims: '{}',
      userId: 'bob',
      act: 'x',
    })
    expect(response.status, response.text).to.equal(200)
  })

  it('refuses a request in JSON, and spends nothing', async () => {
    await expectRefused(deployment, {
      attempt: (subjectToken) =>
        exchange(
          deployment,
          { subject_token: subjectToken },
          { headers: { 'content-type': 'application/json' } },
        ),
      error: 'invalid_request',
      check: null,
    })
  })

  describe('with requireActor', () => {
    it('refuses an exchange without actor token', () =>
      withDeployment({ options: { requireActor: true } }, async (strict) => {
        const token = await actorToken(strict)
        await expectRefused(strict, {
          attempt: (subjectToken) => exchange(strict, { subject_token: subjectToken }),
          valid: (subjectToken) => exchange(strict, { subject_token: subjectToken, ...withActor(token) }),
          error: 'invalid_request',
          description: 'actor_token is required',
          check: 'requireActor',
        })
      }))
  })

  it('refuses authorization_details where the provider would drop an empty list of it', async () => {
    const richAuthorizationRequests = { enabled: true, types: { payment: { validate() {} } } }
    const configuration = { features: { richAuthorizationRequests } as never }
    await withDeployment({ configuration }, async (other) => {
      const { subjectToken } = await issue(other)
      const response = await exchange(other, { subject_token: subjectToken, authorization_details: '[]' })
      expect(response.status).to.equal(400)
      expect(response.body).to.deep.equal({
        error: 'invalid_request',
        error_description: 'authorization_details is not supported',
      })
      expect((await exchange(other, { subject_token: subjectToken })).status).to.equal(200)
    })
  })

  it('refuses a client that is not registered for the grant', async () => {
    const response = await expectRefused(deployment, {
      attempt: (subjectToken) =>
        exchange(deployment, { subject_token: subjectToken }, { client: machineClient() }),
      error: 'invalid_request',
      check: null,
    })
    expect(response.body.error_description).to.equal('requested grant type is not allowed for this client')
  })

  it('does not accept a management token as a subject token', async () => {
    const token = await managementToken(deployment)
    await expectRefused(deployment, {
      attempt: () => exchange(deployment, { subject_token: token }),
      error: 'invalid_request',
      description: 'subject_token is invalid',
      check: 'subject_token',
    })
  })
})
