/** A subject token works only at the exchange. Everywhere else it is refused, tells nothing, and stays usable. */
import { expect } from 'chai'
import { CALLBACK, introspectingClient, webClient } from '../../../fixtures/clients.ts'
import type { Deployment } from '../../../fixtures/deployment.ts'
import { onSqlite } from '../../../fixtures/each-database.ts'
import { credentials, form, type HttpResponse, type Parameters, send } from '../../../fixtures/http.ts'
import { loginClient } from '../../../fixtures/logins.ts'
import { manage } from '../../../fixtures/management.ts'
import { exchange, introspect, issue, postToken } from '../../../fixtures/requests.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
const portal = loginClient({ grant_types: ['authorization_code', 'refresh_token', DEVICE_CODE] })

type Use = (on: Deployment, token: string) => Promise<HttpResponse>
/** What it is used as, and the status and body, or error, of the response. */
type Uses = Readonly<Record<string, readonly [Use, status: number, answer?: string | object]>>

const grant =
  (grant_type: string, parameter: string): Use =>
  (on, token) =>
    postToken(
      on,
      { grant_type, [parameter]: token, redirect_uri: CALLBACK, code_verifier: 'v'.repeat(43) },
      { client: portal },
    )
const bearer =
  (path: string, init: RequestInit = {}): Use =>
  ({ issuer }, token) =>
    send(issuer + path, {
      ...init,
      headers: {
        authorization: `Bearer ${token}`,
        ...(init.body && { 'content-type': 'application/json' }),
      },
    })
const toEndpoint =
  (path: string, client = introspectingClient(), others: Parameters = {}): Use =>
  ({ issuer }, token) =>
    send(issuer + path, {
      method: 'POST',
      headers: credentials(client).headers,
      body: form({ token, ...others }),
    })
const authenticating =
  (parameter: string, others: Parameters = {}): Use =>
  (on, token) =>
    postToken(
      on,
      { grant_type: 'authorization_code', code: 'x', [parameter]: token, ...others },
      { client: { client_id: 'web' } },
    )

const INACTIVE = { active: false }
const ASSERTION = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' }
const USES: Uses = {
  'a code': [grant('authorization_code', 'code'), 400, 'invalid_grant'],
  'a refresh token': [grant('refresh_token', 'refresh_token'), 400, 'invalid_grant'],
  'a device code': [grant(DEVICE_CODE, 'device_code'), 400, 'invalid_grant'],
  'a CIBA request id': [grant('urn:openid:params:grant-type:ciba', 'auth_req_id'), 400],
  'an access token, at userinfo': [bearer('/me'), 401, 'invalid_token'],
  'an access token, posted to userinfo': [bearer('/me', { method: 'POST' }), 401, 'invalid_token'],
  'a management token': [(on, token) => manage(on, 'POST', '', { token }), 401, 'invalid_token'],
  'an initial access token': [
    bearer('/reg', { method: 'POST', body: JSON.stringify({ redirect_uris: [CALLBACK] }) }),
    401,
    'invalid_token',
  ],
  'a registration access token': [bearer('/reg/portal'), 401, 'invalid_token'],
  'what is introspected': [toEndpoint('/token/introspection'), 200, INACTIVE],
  ...Object.fromEntries(
    ['access_token', 'refresh_token', 'subject_token'].map((hint): [string, Uses[string]] => [
      `what is introspected as ${hint}`,
      [toEndpoint('/token/introspection', introspectingClient(), { token_type_hint: hint }), 200, INACTIVE],
    ]),
  ),
  'what is revoked': [toEndpoint('/token/revocation', webClient()), 200],
  'the secret of a client': [authenticating('client_secret'), 401, 'invalid_client'],
  'the assertion of a client': [authenticating('client_assertion', ASSERTION), 400, 'invalid_request'],
}

describe('token exchange: a subject token elsewhere', () => {
  const features = {
    deviceFlow: { enabled: true },
    revocation: { enabled: true, allowedPolicy: () => true },
    registration: { enabled: true, initialAccessToken: true },
    registrationManagement: { enabled: true },
    userinfo: { enabled: true },
  }
  onSqlite({ clients: [portal], configuration: { features } as never }, (on) => {
    for (const [title, [use, status, answer]] of Object.entries(USES)) {
      it(`is of no use as ${title}`, async () => {
        const { subjectToken } = await issue(on.deployment)
        const before = on.deployment.events.length
        const response = await use(on.deployment, subjectToken)
        expect(response.status, response.text).to.equal(status)
        if (answer !== undefined)
          expect(typeof answer === 'string' ? response.body.error : response.body).to.deep.equal(answer)
        expect(on.deployment.events.slice(before)).to.deep.equal([])
        expect(response.text).not.to.include(subjectToken)
        const exchanged = await exchange(on.deployment, { subject_token: subjectToken })
        expect(exchanged.status, exchanged.text).to.equal(200)
        expect(await introspect(on.deployment, subjectToken)).to.deep.equal(INACTIVE)
      })
    }
  })
})
