/** Each row of protocol.md §2.4 and §3.2 as it goes over the wire: one request, and the whole response. */
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import { publicClient } from '../../../fixtures/clients.ts'
import {
  type Deployment,
  type DeploymentOverrides,
  useDeployment,
  withDeployment,
} from '../../../fixtures/deployment.ts'
import { issue, keptToken, managementToken } from '../../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'
import { expectResponse } from './raw-http.ts'

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const VALID = '{"userId":"alice","context":{"ticketId":"T-1"}}'

/** A request by its lines. */
const request = (start: string, token?: string, body?: string, type = JSON_TYPE): string =>
  [
    `${start} HTTP/1.1`,
    ...(token === undefined ? [] : [`Authorization: ${token}`]),
    ...(body === undefined ? [] : [`Content-Type: ${type}`, '', body]),
  ].join('\n')

type Told = readonly [status: string, error: string, description: string, ...headers: string[]]
const response = ([status, error, description, ...headers]: Told): string =>
  [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    'Cache-Control: no-store',
    ...headers,
    '',
    `{"error":"${error}","error_description":"${description}"}`,
  ].join('\n')

const BAD = '400 Bad Request'
const UNAVAILABLE = '503 Service Unavailable'
const DOWN = [UNAVAILABLE, 'temporarily_unavailable', 'the service is temporarily unavailable'] as const
const noTable = ({ database }: Deployment) => database.sequelize.query('DROP TABLE subject_tokens')

const POST = 'POST /api/subject-tokens'
const ALLOWED = 'Bearer {allowed}'
const challenged = (status: string, error: string, description: string, more = ''): Told => [
  ...([status, error, description] as const),
  `WWW-Authenticate: Bearer realm="{issuer}", error="${error}", error_description="${description}"${more}`,
]

/** What is sent, and what is answered. */
const MANAGING: Readonly<Record<string, readonly [sent: string, told: Told]>> = {
  'no access token is sent': [
    request(POST, undefined, VALID),
    [
      ...(['401 Unauthorized', 'invalid_token', 'an access token is required'] as const),
      'WWW-Authenticate: Bearer realm="{issuer}"',
    ],
  ],
  'the access token is not valid': [
    request(POST, 'Bearer mF_9.B5f-4.1JqM', VALID),
    challenged('401 Unauthorized', 'invalid_token', 'the access token is invalid'),
  ],
  'the access token lacks the scope': [
    request(POST, 'Bearer {reading}', VALID),
    challenged(
      ...(['403 Forbidden', 'insufficient_scope'] as const),
      'the access token lacks the scope subject-tokens:create',
      ', scope="subject-tokens:create"',
    ),
  ],
  'the policy says no': [
    request(POST, ALLOWED, VALID.replace('alice', 'carol')),
    challenged('403 Forbidden', 'access_denied', 'the request was denied by policy'),
  ],
  'the body is not JSON': [
    request(POST, ALLOWED, '{"userId'),
    [BAD, 'invalid_request', 'the body must be JSON'],
  ],
  'a field is missing': [
    request(POST, ALLOWED, '{"context":{"ticketId":"T-1"}}'),
    [BAD, 'invalid_request', 'userId is required'],
  ],
  'the media type is not JSON': [
    request(POST, ALLOWED, 'userId=alice', FORM_TYPE),
    ['415 Unsupported Media Type', 'invalid_request', 'the body must be application/json'],
  ],
  'the body is too large': [
    request(POST, ALLOWED, VALID.replace('T-1', '1'.repeat(64 * 1024))),
    ['413 Payload Too Large', 'invalid_request', 'the body must not exceed 65536 bytes'],
  ],
  'the user does not exist': [
    request(POST, ALLOWED, VALID.replace('alice', 'mallory')),
    ['404 Not Found', 'not_found', 'user not found'],
  ],
  'the id is unknown': [
    request('DELETE /api/subject-tokens/019a9f3c1b7e7d2c8f5a6b4c3d2e1f00', ALLOWED),
    ['404 Not Found', 'not_found', 'subject token not found'],
  ],
  'the method is not offered': [
    request('PUT /api/subject-tokens', ALLOWED),
    [
      ...(['405 Method Not Allowed', 'invalid_request', 'method not allowed'] as const),
      'Allow: GET, HEAD, POST, DELETE',
    ],
  ],
}

describe('the errors of the management API', () => {
  const deployment = useDeployment({
    options: { requiredContext: ['ticketId'], isAllowed: ({ userId }) => userId !== 'carol' },
  })

  for (const [title, [sent, told]] of Object.entries(MANAGING))
    it(title, async () => {
      const allowed = await keptToken(deployment)
      const reading = await keptToken(deployment, 'subject-tokens:read')
      const filled = sent.replace('{allowed}', allowed).replace('{reading}', reading)
      const expected = response(told).replace('{issuer}', deployment.issuer)
      await expectResponse(deployment.baseUrl, filled, expected)
    })

  it('storage is down', () =>
    withDeployment({}, async (broken) => {
      const token = `Bearer ${await managementToken(broken)}`
      await noTable(broken)
      await expectResponse(
        broken.baseUrl,
        request(POST, token, '{"userId":"alice"}'),
        response([...DOWN, 'Retry-After: 5']),
      )
    }))
})

const TYPE = 'urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token'
const SUBJECT = `&subject_token={subject}&subject_token_type=${TYPE}`
const RESOURCE = '&resource=https%3A%2F%2Fapi.example.com'
const UNKNOWN = 'sub_AaIH8qPsAABW3ksEu0V4Aw4R9vXG0a9C2mXo7Xw1yGxF0uYcJ5wq3mQd8tTz6nBsE'

const exchanging = (form: string, authorization?: string): string => {
  const grant = 'grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange'
  return request('POST /oidc/token', authorization, grant + form, FORM_TYPE)
}

/** What is sent, what is answered, and how the client authenticates other than by its id. */
const REFUSED: Readonly<Record<string, readonly [form: string, told: Told, authorization?: string]>> = {
  'a parameter is missing': [
    `&client_id=spa&subject_token={subject}${RESOURCE}`,
    [BAD, 'invalid_request', 'subject_token_type is required'],
  ],
  'a parameter is repeated': [
    `&client_id=spa&subject_token={subject}${SUBJECT}${RESOURCE}`,
    [BAD, 'invalid_request', "'subject_token' parameter must not be provided twice"],
  ],
  'a token comes without its type': [
    `&client_id=spa${SUBJECT}&actor_token=accVkjcJyb4BWCxGsndESCJQbdFMogUC5PbRDqceLTC${RESOURCE}`,
    [BAD, 'invalid_request', 'actor_token_type is required with actor_token'],
  ],
  'a token type is not supported': [
    `&client_id=spa${SUBJECT.replace('access_token', 'jwt')}${RESOURCE}`,
    [BAD, 'invalid_request', 'subject_token_type is not supported'],
  ],
  'the subject token is bad: one text for whatever is wrong with it': [
    `&client_id=spa${SUBJECT.replace('{subject}', UNKNOWN)}${RESOURCE}`,
    [BAD, 'invalid_request', 'subject_token is invalid'],
  ],
  'the resource is not one that is allowed': [
    `&client_id=spa${SUBJECT}&resource=https%3A%2F%2Felsewhere.example.com`,
    [BAD, 'invalid_target', 'resource indicator is missing, or unknown'],
  ],
  'audience is sent': [
    `&client_id=spa${SUBJECT}&audience=orders`,
    [BAD, 'invalid_target', 'audience is not supported: send resource instead'],
  ],
  'nothing is left of the scope': [
    `&client_id=spa${SUBJECT}${RESOURCE}&scope=orders%3Adelete`,
    [BAD, 'invalid_scope', 'none of the requested scopes can be granted'],
  ],
  'the client is not registered for the grant': [
    `${SUBJECT}${RESOURCE}`,
    [BAD, 'invalid_request', 'requested grant type is not allowed for this client'],
    `Basic ${btoa('backend:backend-secret')}`,
  ],
  // Without a challenge: the client did not use the header (RFC 6749 §5.2).
  'the secret of the client is wrong': [
    `&client_id=web&client_secret=x${SUBJECT}${RESOURCE}`,
    ['401 Unauthorized', 'invalid_client', 'client authentication failed'],
  ],
  'the secret of the client is in the body, and the client is registered with client_secret_basic': [
    `&client_id=web&client_secret=web-secret${SUBJECT}${RESOURCE}`,
    [
      ...(['401 Unauthorized', 'invalid_client'] as const),
      'the client is registered with client_secret_basic: send its secret in the Authorization header',
    ],
  ],
  'a DPoP proof is missing': [
    `&client_id=dpop${SUBJECT}${RESOURCE}`,
    [BAD, 'invalid_grant', 'grant request is invalid'],
  ],
  'the actor token is bad: one text of its own': [
    `&client_id=spa${SUBJECT}&actor_token={actor}&actor_token_type=${TYPE}${RESOURCE}`,
    [BAD, 'invalid_request', 'actor_token is invalid'],
  ],
}

describe('the errors of the token endpoint', () => {
  const deployment = useDeployment({
    clients: [publicClient({ client_id: 'dpop', dpop_bound_access_tokens: true })],
  })

  for (const [title, [form, told, authorization]] of Object.entries(REFUSED))
    it(title, async () => {
      const { subjectToken } = await issue(deployment)
      const actor = form.includes('{actor}') ? await actorToken(deployment, { scope: 'profile' }) : ''
      const sent = form.replaceAll('{subject}', subjectToken).replace('{actor}', actor)
      await expectResponse(deployment.baseUrl, exchanging(sent, authorization), response(told))
    })

  /** What a valid request is answered in another deployment. */
  const others: Readonly<Record<string, readonly [given: DeploymentOverrides['options'], told: Told]>> = {
    'the actor token is missing where requireActor wants one': [
      { requireActor: true },
      [BAD, 'invalid_request', 'actor_token is required'],
    ],
    'the policy denies': [
      { isAllowed: ({ stage }) => stage === 'issuance' },
      [BAD, 'access_denied', 'the request was denied by policy'],
    ],
    'the claims function fails': [
      { getCustomJwtClaims: () => Promise.reject(new Error('private')) },
      ['500 Internal Server Error', 'server_error', 'oops! something went wrong'],
    ],
    'the outcome of the spend is unknown': [
      (_, { sequelize }) => {
        const consume = () => Promise.reject(new Error('the connection is lost'))
        return { store: { ...createSubjectTokenStore(sequelize), consume } }
      },
      [UNAVAILABLE, 'temporarily_unavailable', 'request a new subject token'],
    ],
    'the store fails': [{}, [...DOWN, 'Retry-After: 5']],
  }
  for (const [title, [options, told]] of Object.entries(others))
    it(title, () =>
      withDeployment({ options }, async (own) => {
        const { subjectToken } = await issue(own)
        if (title === 'the store fails') await noTable(own)
        const form = `&client_id=spa${SUBJECT.replace('{subject}', subjectToken)}${RESOURCE}`
        await expectResponse(own.baseUrl, exchanging(form), response(told))
      }),
    )
})
