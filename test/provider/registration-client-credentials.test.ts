/** `configure` enables client_credentials without giving strangers anything (protocol.md §2.3). */
import { expect } from 'chai'
import type { ClientMetadata, Configuration } from 'oidc-provider'
import { API } from '../../fixtures/deployment.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import {
  HARMLESS,
  initialAccessToken,
  MACHINE,
  type RawMetadata,
  readRegistration,
  register,
  storeClient,
  update,
} from '../../fixtures/registration.ts'
import { postToken } from '../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'

const SENTENCE = 'grant type client_credentials is not for self-registered clients'
const BOTH = ['authorization_code', 'client_credentials']
/** A confidential client that a person signs in to. */
const WEB: RawMetadata = { ...HARMLESS, token_endpoint_auth_method: 'client_secret_basic' }

const configurationOf = (clientCredentials?: object, registration: object = {}): Configuration => ({
  features: {
    ...(clientCredentials && { clientCredentials }),
    registration: { enabled: true, ...registration },
    registrationManagement: { enabled: true },
  } as Configuration['features'],
})

const expectRefused = (response: HttpResponse) =>
  expect([response.status, response.body], response.text).to.deep.equal([
    400,
    { error: 'invalid_client_metadata', error_description: SENTENCE },
  ])

describe('registration: client_credentials that the deployment had not enabled', () => {
  const strangers: [title: string, configuration: Configuration, policies: string[] | 'none' | 'fixed'][] = [
    ['without an initial access token', configurationOf(), 'none'],
    ['if the feature is explicitly disabled', configurationOf({ enabled: false }), 'none'],
    [
      'with a fixed initial access token',
      configurationOf(undefined, { initialAccessToken: 'fixed-token' }),
      'fixed',
    ],
    [
      'with an initial access token of another policy',
      configurationOf(undefined, { initialAccessToken: true, policies: { trusted: () => {} } }),
      ['trusted'],
    ],
  ]
  for (const [title, configuration, kind] of strangers) {
    describe(`and a client ${title}`, () => {
      onSqlite({ configuration }, (on) => {
        const registered = async (metadata: RawMetadata) => {
          const fixed = kind === 'fixed' ? 'fixed-token' : undefined
          return register(
            on.deployment,
            metadata,
            Array.isArray(kind) ? await initialAccessToken(on.deployment, kind) : fixed,
          )
        }

        for (const [asked, metadata] of [
          ['alone', MACHINE],
          ['among others', { ...WEB, grant_types: BOTH }],
          ['twice', { ...MACHINE, grant_types: ['client_credentials', 'client_credentials'] }],
          ['without authentication', { ...HARMLESS, grant_types: BOTH }],
        ] as const) {
          it(`cannot register it ${asked}`, async () => expectRefused(await registered(metadata)))
        }

        it('cannot add it by an update', async () => {
          const { status, text, body } = await registered(WEB)
          expect(status, text).to.equal(201)
          expectRefused(await update(body, { grant_types: BOTH }))
          expectRefused(await update(body, { ...MACHINE }))
          expect((await readRegistration(body)).grant_types).to.deep.equal(['authorization_code'])
        })
      })
    })
  }

  const invited = configurationOf(undefined, { initialAccessToken: true })
  onSqlite({ configuration: invited }, (on) => {
    const registered = async (metadata: RawMetadata) => {
      const token = await initialAccessToken(on.deployment, ['impersonation'])
      const response = await register(on.deployment, metadata, token)
      expect(response.status, response.text).to.equal(201)
      return response.body
    }

    it('is registered with the policy impersonation, and can be kept and given up', async () => {
      const client = await registered({ ...WEB, grant_types: BOTH })
      const parameters = { grant_type: 'client_credentials', resource: API, scope: 'orders:read' }
      expect((await postToken(on.deployment, parameters, { client })).status).to.equal(200)
      const kept = await update(client, { client_name: 'renamed' })
      expect([kept.status, kept.body.grant_types], kept.text).to.deep.equal([200, BOTH])
      const without = await update(kept.body, { grant_types: ['authorization_code'] })
      expect(without.status, without.text).to.equal(200)
      expectRefused(await update(without.body, { grant_types: BOTH }))
    })

    it('is not added by an update, whatever the policy', async () =>
      expectRefused(await update(await registered(WEB), { grant_types: BOTH })))

    it('remains for a client that the administrator stored', async () => {
      const client = await registered(WEB)
      const { registration_access_token: _, registration_client_uri: __, ...metadata } = client
      const stored = { ...metadata, grant_types: BOTH, response_types: ['code'] } as ClientMetadata
      await storeClient(on.deployment, stored)
      const response = await update({ ...client, ...stored }, { client_name: 'renamed' })
      expect([response.status, response.body.grant_types], response.text).to.deep.equal([200, BOTH])
    })
  })

  describe('and client defaults that contain it', () => {
    const clientDefaults = { id_token_signed_response_alg: 'ES256', grant_types: BOTH } as const
    const configuration = { ...configurationOf(), clientDefaults: clientDefaults as never }
    onSqlite({ configuration }, (on) => {
      it('is given to no client that omits its grants', async () => {
        const { grant_types: _, ...metadata } = WEB
        expectRefused(await register(on.deployment, metadata))
        const { body } = await register(on.deployment, WEB)
        expectRefused(await update(body, { grant_types: undefined }))
      })
    })
  })
})

describe('registration: client_credentials that the deployment enables itself', () => {
  onSqlite({ configuration: configurationOf({ enabled: true }) }, (on) => {
    it('can be registered by anyone, and added by an update', async () => {
      const machine = await register(on.deployment, MACHINE)
      expect(machine.status, machine.text).to.equal(201)
      const { body } = await register(on.deployment, WEB)
      const response = await update(body, { grant_types: BOTH })
      expect([response.status, response.body.grant_types], response.text).to.deep.equal([200, BOTH])
      const parameters = { grant_type: 'client_credentials', resource: API, scope: 'orders:read' }
      for (const client of [machine.body, response.body]) {
        expect((await postToken(on.deployment, parameters, { client })).status).to.equal(200)
      }
    })

    it('does not open the token exchange grant', async () => {
      const metadata = { ...MACHINE, grant_types: ['client_credentials', TOKEN_EXCHANGE] }
      const response = await register(on.deployment, metadata)
      expect([response.status, response.body.error], response.text).to.deep.equal([
        400,
        'invalid_client_metadata',
      ])
    })
  })
})
