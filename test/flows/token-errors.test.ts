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

describe('the errors of the token endpoint', () => {
  let deployment: Deployment
  let subjectToken: string
  before(async () => {
    deployment = await startDeployment({
      clients: [publicClient({ client_id: 'dpop', dpop_bound_access_tokens: true })],
    })
  })
  beforeEach(async () => {
    subjectToken = (await issue(deployment)).subjectToken
  })
  after(() => deployment.close())

  it('a parameter is missing', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &client_id=spa
       &subject_token=${subjectToken}
       &resource=https%3A%2F%2Fapi.example.com`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_request","error_description":"subject_token_type is required"}`,
    ))

  it('a parameter is repeated', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &client_id=spa
       &subject_token=${subjectToken}
       &subject_token=${subjectToken}
       &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
       &resource=https%3A%2F%2Fapi.example.com`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_request","error_description":"'subject_token' parameter must not be provided twice"}`,
    ))

  it('a token comes without its type', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &client_id=spa
       &subject_token=${subjectToken}
       &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
       &actor_token=accVkjcJyb4BWCxGsndESCJQbdFMogUC5PbRDqceLTC
       &resource=https%3A%2F%2Fapi.example.com`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_request","error_description":"actor_token_type is required with actor_token"}`,
    ))

  it('a token type is not supported', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &client_id=spa
       &subject_token=${subjectToken}
       &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt
       &resource=https%3A%2F%2Fapi.example.com`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_request","error_description":"subject_token_type is not supported"}`,
    ))

  it('the actor token is missing where requireActor wants one', () =>
    withIssued({ options: { requireActor: true } }, (baseUrl, token) =>
      expectResponse(
        baseUrl,
        `POST /oidc/token HTTP/1.1
         Content-Type: application/x-www-form-urlencoded

         grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
         &client_id=spa
         &subject_token=${token}
         &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
         &resource=https%3A%2F%2Fapi.example.com`,
        `HTTP/1.1 400 Bad Request
         Content-Type: application/json; charset=utf-8
         Cache-Control: no-store

         {"error":"invalid_request","error_description":"actor_token is required"}`,
      ),
    ))

  it('the subject token is bad: one text for whatever is wrong with it', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &client_id=spa
       &subject_token=sub_4R9vXG0a9C2mXo7Xw1yGxF0uYcJ5wq3mQd8tTz6nBsE
       &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
       &resource=https%3A%2F%2Fapi.example.com`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_request","error_description":"subject_token is invalid"}`,
    ))

  it('the actor token is bad: one text of its own', async () => {
    const withoutOpenid = await actorToken(deployment, { scope: 'profile' })
    await expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &client_id=spa
       &subject_token=${subjectToken}
       &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
       &actor_token=${withoutOpenid}
       &actor_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
       &resource=https%3A%2F%2Fapi.example.com`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_request","error_description":"actor_token is invalid"}`,
    )
  })

  it('the resource is not one that is allowed', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &client_id=spa
       &subject_token=${subjectToken}
       &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
       &resource=https%3A%2F%2Felsewhere.example.com`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_target","error_description":"resource indicator is missing, or unknown"}`,
    ))

  it('audience is sent', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &client_id=spa
       &subject_token=${subjectToken}
       &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
       &audience=orders`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_target","error_description":"audience is not supported: send resource instead"}`,
    ))

  it('nothing is left of the scope', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &client_id=spa
       &subject_token=${subjectToken}
       &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
       &resource=https%3A%2F%2Fapi.example.com
       &scope=orders%3Adelete`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_scope","error_description":"none of the requested scopes can be granted"}`,
    ))

  it('the policy denies', () =>
    withIssued({ options: { isAllowed: ({ stage }) => stage === 'issuance' } }, (baseUrl, token) =>
      expectResponse(
        baseUrl,
        `POST /oidc/token HTTP/1.1
         Content-Type: application/x-www-form-urlencoded

         grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
         &client_id=spa
         &subject_token=${token}
         &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
         &resource=https%3A%2F%2Fapi.example.com`,
        `HTTP/1.1 400 Bad Request
         Content-Type: application/json; charset=utf-8
         Cache-Control: no-store

         {"error":"access_denied","error_description":"the request was denied by policy"}`,
      ),
    ))

  it('the claims function fails', () => {
    const getCustomJwtClaims = () => {
      throw new Error('private')
    }
    return withIssued({ options: { getCustomJwtClaims } }, (baseUrl, token) =>
      expectResponse(
        baseUrl,
        `POST /oidc/token HTTP/1.1
         Content-Type: application/x-www-form-urlencoded

         grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
         &client_id=spa
         &subject_token=${token}
         &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
         &resource=https%3A%2F%2Fapi.example.com`,
        `HTTP/1.1 500 Internal Server Error
         Content-Type: application/json; charset=utf-8
         Cache-Control: no-store

         {"error":"server_error","error_description":"oops! something went wrong"}`,
      ),
    )
  })

  it('the client is not registered for the grant', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Authorization: Basic ${btoa('backend:backend-secret')}
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &subject_token=${subjectToken}
       &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
       &resource=https%3A%2F%2Fapi.example.com`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_request","error_description":"requested grant type is not allowed for this client"}`,
    ))

  for (const [title, secret, text] of [
    ['wrong', 'x', 'client authentication failed'],
    [
      'in the body, and the client is registered with client_secret_basic',
      'web-secret',
      'the client is registered with client_secret_basic: send its secret in the Authorization header',
    ],
  ] as const) {
    // Without a challenge: the client did not use the header (RFC 6749 §5.2).
    it(`the secret of the client is ${title}`, () =>
      expectResponse(
        deployment.baseUrl,
        `POST /oidc/token HTTP/1.1
         Content-Type: application/x-www-form-urlencoded

         grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
         &client_id=web
         &client_secret=${secret}
         &subject_token=${subjectToken}
         &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
         &resource=https%3A%2F%2Fapi.example.com`,
        `HTTP/1.1 401 Unauthorized
         Content-Type: application/json; charset=utf-8
         Cache-Control: no-store

         {"error":"invalid_client","error_description":"${text}"}`,
      ))
  }

  it('a DPoP proof is missing', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /oidc/token HTTP/1.1
       Content-Type: application/x-www-form-urlencoded

       grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
       &client_id=dpop
       &subject_token=${subjectToken}
       &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
       &resource=https%3A%2F%2Fapi.example.com`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_grant","error_description":"grant request is invalid"}`,
    ))

  it('the outcome of the spend is unknown', async () => {
    const database = await openDatabase('sqlite')
    const consume = () => Promise.reject(new Error('the connection is lost'))
    const store = { ...createSubjectTokenStore(database.sequelize), consume }
    try {
      await withIssued({ database, options: { store } }, (baseUrl, token) =>
        expectResponse(
          baseUrl,
          `POST /oidc/token HTTP/1.1
           Content-Type: application/x-www-form-urlencoded

           grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
           &client_id=spa
           &subject_token=${token}
           &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
           &resource=https%3A%2F%2Fapi.example.com`,
          `HTTP/1.1 503 Service Unavailable
           Content-Type: application/json; charset=utf-8
           Cache-Control: no-store

           {"error":"temporarily_unavailable","error_description":"request a new subject token"}`,
        ),
      )
    } finally {
      await database.close()
    }
  })

  it('the store fails', () =>
    withIssued({}, async (baseUrl, token, { database }) => {
      await database.sequelize.query('DROP TABLE subject_tokens')
      await expectResponse(
        baseUrl,
        `POST /oidc/token HTTP/1.1
         Content-Type: application/x-www-form-urlencoded

         grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange
         &client_id=spa
         &subject_token=${token}
         &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token
         &resource=https%3A%2F%2Fapi.example.com`,
        `HTTP/1.1 503 Service Unavailable
         Content-Type: application/json; charset=utf-8
         Cache-Control: no-store
         Retry-After: 5

         {"error":"temporarily_unavailable","error_description":"the service is temporarily unavailable"}`,
      )
    }))
})

/** A deployment of its own, and a subject token of it. */
const withIssued = (
  overrides: DeploymentOverrides,
  use: (baseUrl: string, subjectToken: string, deployment: Deployment) => Promise<void>,
): Promise<void> =>
  withDeployment(overrides, async (deployment) => {
    const { subjectToken } = await issue(deployment)
    await use(deployment.baseUrl, subjectToken, deployment)
  })
