/** Each row of protocol.md §2.4 as it goes over the wire: one request, and the whole response. */
import { type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { expectResponse } from '../../fixtures/raw-http.ts'
import { managementToken } from '../../fixtures/requests.ts'

describe('the errors of the management API', () => {
  let deployment: Deployment
  let token: string
  before(async () => {
    deployment = await startDeployment({
      options: { requiredContext: ['ticketId'], isAllowed: ({ userId }) => userId !== 'carol' },
    })
    token = await managementToken(deployment)
  })
  after(() => deployment.close())

  it('no access token is sent', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /api/subject-tokens HTTP/1.1
       Content-Type: application/json

       {"userId":"alice","context":{"ticketId":"T-1"}}`,
      `HTTP/1.1 401 Unauthorized
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store
       WWW-Authenticate: Bearer realm="${deployment.issuer}"

       {"error":"invalid_token","error_description":"an access token is required"}`,
    ))

  it('the access token is not valid', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /api/subject-tokens HTTP/1.1
       Authorization: Bearer mF_9.B5f-4.1JqM
       Content-Type: application/json

       {"userId":"alice","context":{"ticketId":"T-1"}}`,
      `HTTP/1.1 401 Unauthorized
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store
       WWW-Authenticate: Bearer realm="${deployment.issuer}", error="invalid_token", error_description="the access token is invalid"

       {"error":"invalid_token","error_description":"the access token is invalid"}`,
    ))

  it('the access token lacks the scope', async () => {
    const reading = await managementToken(deployment, { scope: 'subject-tokens:read' })
    await expectResponse(
      deployment.baseUrl,
      `POST /api/subject-tokens HTTP/1.1
       Authorization: Bearer ${reading}
       Content-Type: application/json

       {"userId":"alice","context":{"ticketId":"T-1"}}`,
      `HTTP/1.1 403 Forbidden
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store
       WWW-Authenticate: Bearer realm="${deployment.issuer}", error="insufficient_scope", error_description="the access token lacks the scope subject-tokens:create", scope="subject-tokens:create"

       {"error":"insufficient_scope","error_description":"the access token lacks the scope subject-tokens:create"}`,
    )
  })

  it('the body is not JSON', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /api/subject-tokens HTTP/1.1
       Authorization: Bearer ${token}
       Content-Type: application/json

       {"userId`,
      `HTTP/1.1 400 Bad Request
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_request","error_description":"the body must be JSON"}`,
    ))

  it('the media type is not JSON', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /api/subject-tokens HTTP/1.1
       Authorization: Bearer ${token}
       Content-Type: application/x-www-form-urlencoded

       userId=alice`,
      `HTTP/1.1 415 Unsupported Media Type
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_request","error_description":"the body must be application/json"}`,
    ))

  it('the body is too large', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /api/subject-tokens HTTP/1.1
       Authorization: Bearer ${token}
       Content-Type: application/json

       {"userId":"alice","context":{"ticketId":"${'1'.repeat(64 * 1024)}"}}`,
      `HTTP/1.1 413 Payload Too Large
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"invalid_request","error_description":"the body must not exceed 65536 bytes"}`,
    ))

  const bodies: [title: string, body: string, description: string][] = [
    ['a field is missing', '{"context":{"ticketId":"T-1"}}', 'userId is required'],
    ['a field is of a wrong type', '{"userId":7}', 'userId must be a string of 1 to 255 characters'],
    [
      'a field is out of range',
      '{"userId":"alice","expiresIn":3601}',
      'expiresIn must be whole seconds from 1 to 3600',
    ],
    ['a field is unknown', '{"userId":"alice","subjectTokenTTL":60}', 'unknown member: subjectTokenTTL'],
    [
      'a key that the deployment requires is missing from context',
      '{"userId":"alice","context":{"reason":"A teapot is missing"}}',
      'context.ticketId is required, and must not be blank',
    ],
  ]
  for (const [title, body, description] of bodies) {
    it(title, () =>
      expectResponse(
        deployment.baseUrl,
        `POST /api/subject-tokens HTTP/1.1
         Authorization: Bearer ${token}
         Content-Type: application/json

         ${body}`,
        `HTTP/1.1 400 Bad Request
         Content-Type: application/json; charset=utf-8
         Cache-Control: no-store

         {"error":"invalid_request","error_description":"${description}"}`,
      ),
    )
  }

  it('the user does not exist', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /api/subject-tokens HTTP/1.1
       Authorization: Bearer ${token}
       Content-Type: application/json

       {"userId":"mallory","context":{"ticketId":"T-1"}}`,
      `HTTP/1.1 404 Not Found
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"not_found","error_description":"user not found"}`,
    ))

  it('the id is unknown', () =>
    expectResponse(
      deployment.baseUrl,
      `DELETE /api/subject-tokens/019a9f3c1b7e7d2c8f5a6b4c3d2e1f00 HTTP/1.1
       Authorization: Bearer ${token}`,
      `HTTP/1.1 404 Not Found
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store

       {"error":"not_found","error_description":"subject token not found"}`,
    ))

  it('the policy says no', () =>
    expectResponse(
      deployment.baseUrl,
      `POST /api/subject-tokens HTTP/1.1
       Authorization: Bearer ${token}
       Content-Type: application/json

       {"userId":"carol","context":{"ticketId":"T-1"}}`,
      `HTTP/1.1 403 Forbidden
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store
       WWW-Authenticate: Bearer realm="${deployment.issuer}", error="access_denied", error_description="the request was denied by policy"

       {"error":"access_denied","error_description":"the request was denied by policy"}`,
    ))

  it('the method is not offered', () =>
    expectResponse(
      deployment.baseUrl,
      `PUT /api/subject-tokens HTTP/1.1
       Authorization: Bearer ${token}`,
      `HTTP/1.1 405 Method Not Allowed
       Content-Type: application/json; charset=utf-8
       Cache-Control: no-store
       Allow: GET, HEAD, POST, DELETE

       {"error":"invalid_request","error_description":"method not allowed"}`,
    ))

  it('storage is down', () =>
    withDeployment({}, async (broken) => {
      const creating = await managementToken(broken)
      await broken.database.sequelize.query('DROP TABLE subject_tokens')
      await expectResponse(
        broken.baseUrl,
        `POST /api/subject-tokens HTTP/1.1
         Authorization: Bearer ${creating}
         Content-Type: application/json

         {"userId":"alice"}`,
        `HTTP/1.1 503 Service Unavailable
         Content-Type: application/json; charset=utf-8
         Cache-Control: no-store
         Retry-After: 5

         {"error":"temporarily_unavailable","error_description":"the service is temporarily unavailable"}`,
      )
    }))
})
