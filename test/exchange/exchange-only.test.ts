/** A subject token works only at the exchange. Everywhere else it is refused, and stays usable. */
import { expect } from 'chai'
import { CALLBACK, introspectingClient, webClient } from '../../fixtures/clients.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import { credentials, form, type HttpResponse, type Parameters, send } from '../../fixtures/http.ts'
import { loginClient } from '../../fixtures/logins.ts'
import { manage } from '../../fixtures/management.ts'
import { exchange, introspect, issue, postToken } from '../../fixtures/requests.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
const CIBA = 'urn:openid:params:grant-type:ciba'
const portal = loginClient({ grant_types: ['authorization_code', 'refresh_token', DEVICE_CODE] })

const overrides = {
  clients: [portal],
  configuration: {
    features: {
      deviceFlow: { enabled: true },
      revocation: { enabled: true, allowedPolicy: () => true },
      registration: { enabled: true, initialAccessToken: true },
      registrationManagement: { enabled: true },
      userinfo: { enabled: true },
    },
  } as never,
}

describe('token exchange: a subject token elsewhere', () => {
  onSqlite(overrides, (on) => {
    /** Uses a new subject token elsewhere. That must not spend it, and must emit no event. */
    const elsewhere = async (use: (subjectToken: string) => Promise<HttpResponse>): Promise<HttpResponse> => {
      const { deployment } = on
      const { subjectToken } = await issue(deployment)
      const before = deployment.events.length
      const response = await use(subjectToken)
      expect(deployment.events.slice(before)).to.deep.equal([])
      expect(response.text).not.to.include(subjectToken)
      const exchanged = await exchange(deployment, { subject_token: subjectToken })
      expect(exchanged.status, exchanged.text).to.equal(200)
      return response
    }

    const grants: [title: string, parameters: (token: string) => Parameters][] = [
      [
        'code',
        (code) => ({
          grant_type: 'authorization_code',
          code,
          redirect_uri: CALLBACK,
          code_verifier: 'v'.repeat(43),
        }),
      ],
      ['refresh token', (token) => ({ grant_type: 'refresh_token', refresh_token: token })],
      ['device code', (token) => ({ grant_type: DEVICE_CODE, device_code: token })],
    ]
    for (const [title, parameters] of grants) {
      it(`is refused as ${title}`, async () => {
        const response = await elsewhere((token) =>
          postToken(on.deployment, parameters(token), { client: portal }),
        )
        expect([response.status, response.body.error], response.text).to.deep.equal([400, 'invalid_grant'])
      })
    }

    it('is refused as CIBA request id', async () => {
      const response = await elsewhere((token) =>
        postToken(on.deployment, { grant_type: CIBA, auth_req_id: token }, { client: portal }),
      )
      expect(response.status, response.text).to.equal(400)
    })

    for (const method of ['GET', 'POST']) {
      it(`is refused as bearer at userinfo (${method})`, async () => {
        const response = await elsewhere((token) =>
          send(`${on.deployment.issuer}/me`, { method, headers: { authorization: `Bearer ${token}` } }),
        )
        expect([response.status, response.body.error], response.text).to.deep.equal([401, 'invalid_token'])
      })
    }

    for (const [method, path] of [
      ['GET', ''],
      ['GET', `/${'0'.repeat(32)}`],
      ['POST', ''],
      ['DELETE', '?userId=alice'],
      ['DELETE', `/${'0'.repeat(32)}`],
    ] as const) {
      it(`is refused at the management API: ${method} ${path}`, async () => {
        const response = await elsewhere((token) => manage(on.deployment, method, path, { token }))
        expect([response.status, response.body.error], response.text).to.deep.equal([401, 'invalid_token'])
      })
    }

    for (const hint of [undefined, 'access_token', 'refresh_token', 'subject_token']) {
      it(`is inactive at introspection, with the hint ${hint}`, async () => {
        const auth = credentials(introspectingClient())
        const response = await elsewhere((token) =>
          send(`${on.deployment.issuer}/token/introspection`, {
            method: 'POST',
            headers: auth.headers,
            body: form({ token, token_type_hint: hint }),
          }),
        )
        expect([response.status, response.body], response.text).to.deep.equal([200, { active: false }])
      })
    }

    it('is not revoked at the revocation endpoint', async () => {
      const auth = credentials(webClient())
      const response = await elsewhere((token) =>
        send(`${on.deployment.issuer}/token/revocation`, {
          method: 'POST',
          headers: auth.headers,
          body: form({ token }),
        }),
      )
      expect(response.status, response.text).to.equal(200)
    })

    it('is refused as initial and as registration access token', async () => {
      const headers = (token: string) => ({
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
      })
      const body = JSON.stringify({ redirect_uris: [CALLBACK] })
      const url = `${on.deployment.issuer}/reg`
      const initial = await elsewhere((token) => send(url, { method: 'POST', headers: headers(token), body }))
      expect([initial.status, initial.body.error], initial.text).to.deep.equal([401, 'invalid_token'])
      const read = await elsewhere((token) => send(`${url}/portal`, { headers: headers(token) }))
      expect([read.status, read.body.error], read.text).to.deep.equal([401, 'invalid_token'])
    })

    it('is refused as the secret and as the assertion of a client', async () => {
      const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
      const attempts: [parameters: (token: string) => Parameters, status: number, error: string][] = [
        [(client_secret) => ({ client_secret }), 401, 'invalid_client'],
        [(client_assertion) => ({ client_assertion, client_assertion_type }), 400, 'invalid_request'],
      ]
      for (const [parameters, status, error] of attempts) {
        const response = await elsewhere((token) =>
          send(on.deployment.tokenEndpoint, {
            method: 'POST',
            body: form({
              grant_type: 'authorization_code',
              code: 'x',
              client_id: 'web',
              ...parameters(token),
            }),
          }),
        )
        expect([response.status, response.body.error], response.text).to.deep.equal([status, error])
      }
    })

    it('is unknown to introspection after its use, too', async () => {
      const { subjectToken } = await issue(on.deployment)
      await exchange(on.deployment, { subject_token: subjectToken })
      expect(await introspect(on.deployment, subjectToken)).to.deep.equal({ active: false })
    })
  })
})
