/** Each row of protocol.md §3.2 as it goes over the wire: one request, and the whole response. */
import { actorToken } from '../../fixtures/actor-tokens.ts'
import { publicClient } from '../../fixtures/clients.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import {
  type Deployment,
  type DeploymentOverrides,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import { expectResponse } from '../../fixtures/raw-http.ts'
import { issue } from '../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const TOKEN_TYPE = 'urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token'
const SUBJECT = `&subject_token={subject}&subject_token_type=${TOKEN_TYPE}`
const RESOURCE = '&resource=https%3A%2F%2Fapi.example.com'

const BAD = '400 Bad Request'
const UNAUTHORIZED = '401 Unauthorized'
const UNAVAILABLE = '503 Service Unavailable'

interface Given {
  readonly authorization?: string
  readonly retryAfter?: string
}

async function expectError(
  { baseUrl }: Deployment,
  form: string,
  [status, error, description]: readonly [status: string, error: string, description: string],
  { authorization, retryAfter }: Given = {},
): Promise<void> {
  await expectResponse(
    baseUrl,
    `POST /oidc/token HTTP/1.1${authorization ? `\nAuthorization: ${authorization}` : ''}
     Content-Type: application/x-www-form-urlencoded

     grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange${form}`,
    `HTTP/1.1 ${status}
     Content-Type: application/json; charset=utf-8
     Cache-Control: no-store${retryAfter ? `\nRetry-After: ${retryAfter}` : ''}

     {"error":"${error}","error_description":"${description}"}`,
  )
}

describe('the errors of the token endpoint', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment({
      clients: [publicClient({ client_id: 'dpop', dpop_bound_access_tokens: true })],
    })
  })
  after(() => deployment.close())

  const itResponds = (
    title: string,
    form: string,
    response: readonly [status: string, error: string, description: string],
    given?: Given,
  ) =>
    it(title, async () => {
      const { subjectToken } = await issue(deployment)
      await expectError(deployment, form.replaceAll('{subject}', subjectToken), response, given)
    })

  itResponds('a parameter is missing', `&client_id=spa&subject_token={subject}${RESOURCE}`, [
    BAD,
    'invalid_request',
    'subject_token_type is required',
  ])

  itResponds('a parameter is repeated', `&client_id=spa&subject_token={subject}${SUBJECT}${RESOURCE}`, [
    BAD,
    'invalid_request',
    "'subject_token' parameter must not be provided twice",
  ])

  itResponds(
    'a token comes without its type',
    `&client_id=spa${SUBJECT}&actor_token=accVkjcJyb4BWCxGsndESCJQbdFMogUC5PbRDqceLTC${RESOURCE}`,
    [BAD, 'invalid_request', 'actor_token_type is required with actor_token'],
  )

  itResponds(
    'a token type is not supported',
    `&client_id=spa${SUBJECT.replace('access_token', 'jwt')}${RESOURCE}`,
    [BAD, 'invalid_request', 'subject_token_type is not supported'],
  )

  itResponds(
    'the subject token is bad: one text for whatever is wrong with it',
    `&client_id=spa${SUBJECT.replace('{subject}', 'sub_AaIH8qPsAABW3ksEu0V4Aw4R9vXG0a9C2mXo7Xw1yGxF0uYcJ5wq3mQd8tTz6nBsE')}${RESOURCE}`,
    [BAD, 'invalid_request', 'subject_token is invalid'],
  )

  itResponds(
    'the resource is not one that is allowed',
    `&client_id=spa${SUBJECT}&resource=https%3A%2F%2Felsewhere.example.com`,
    [BAD, 'invalid_target', 'resource indicator is missing, or unknown'],
  )

  itResponds('audience is sent', `&client_id=spa${SUBJECT}&audience=orders`, [
    BAD,
    'invalid_target',
    'audience is not supported: send resource instead',
  ])

  itResponds('nothing is left of the scope', `&client_id=spa${SUBJECT}${RESOURCE}&scope=orders%3Adelete`, [
    BAD,
    'invalid_scope',
    'none of the requested scopes can be granted',
  ])

  itResponds(
    'the client is not registered for the grant',
    `${SUBJECT}${RESOURCE}`,
    [BAD, 'invalid_request', 'requested grant type is not allowed for this client'],
    { authorization: `Basic ${btoa('backend:backend-secret')}` },
  )

  // Without a challenge: the client did not use the header (RFC 6749 §5.2).
  itResponds('the secret of the client is wrong', `&client_id=web&client_secret=x${SUBJECT}${RESOURCE}`, [
    UNAUTHORIZED,
    'invalid_client',
    'client authentication failed',
  ])

  itResponds(
    'the secret of the client is in the body, and the client is registered with client_secret_basic',
    `&client_id=web&client_secret=web-secret${SUBJECT}${RESOURCE}`,
    [
      UNAUTHORIZED,
      'invalid_client',
      'the client is registered with client_secret_basic: send its secret in the Authorization header',
    ],
  )

  itResponds('a DPoP proof is missing', `&client_id=dpop${SUBJECT}${RESOURCE}`, [
    BAD,
    'invalid_grant',
    'grant request is invalid',
  ])

  it('the actor token is bad: one text of its own', async () => {
    const { subjectToken } = await issue(deployment)
    const withoutOpenid = await actorToken(deployment, { scope: 'profile' })
    const actor = `&actor_token=${withoutOpenid}&actor_token_type=${TOKEN_TYPE}`
    await expectError(
      deployment,
      `&client_id=spa${SUBJECT.replace('{subject}', subjectToken)}${actor}${RESOURCE}`,
      [BAD, 'invalid_request', 'actor_token is invalid'],
    )
  })

  const withIssued = (
    overrides: DeploymentOverrides,
    use: (own: Deployment, form: string) => Promise<void>,
  ) =>
    withDeployment(overrides, async (own) => {
      const { subjectToken } = await issue(own)
      await use(own, `&client_id=spa${SUBJECT.replace('{subject}', subjectToken)}${RESOURCE}`)
    })

  it('the actor token is missing where requireActor wants one', () =>
    withIssued({ options: { requireActor: true } }, (own, form) =>
      expectError(own, form, [BAD, 'invalid_request', 'actor_token is required']),
    ))

  it('the policy denies', () =>
    withIssued({ options: { isAllowed: ({ stage }) => stage === 'issuance' } }, (own, form) =>
      expectError(own, form, [BAD, 'access_denied', 'the request was denied by policy']),
    ))

  it('the claims function fails', () => {
    const getCustomJwtClaims = () => {
      throw new Error('private')
    }
    return withIssued({ options: { getCustomJwtClaims } }, (own, form) =>
      expectError(own, form, ['500 Internal Server Error', 'server_error', 'oops! something went wrong']),
    )
  })

  it('the outcome of the spend is unknown', async () => {
    const database = await openDatabase('sqlite')
    const consume = () => Promise.reject(new Error('the connection is lost'))
    const store = { ...createSubjectTokenStore(database.sequelize), consume }
    try {
      await withIssued({ database, options: { store } }, (own, form) =>
        expectError(own, form, [UNAVAILABLE, 'temporarily_unavailable', 'request a new subject token']),
      )
    } finally {
      await database.close()
    }
  })

  it('the store fails', () =>
    withIssued({}, async (own, form) => {
      await own.database.sequelize.query('DROP TABLE subject_tokens')
      const description = 'the service is temporarily unavailable'
      await expectError(own, form, [UNAVAILABLE, 'temporarily_unavailable', description], { retryAfter: '5' })
    }))
})
