/** A client cannot register itself into the API (protocol.md §2.3): new registrations, with every kind of initial access token. */
import { expect } from 'chai'
import type { Configuration } from 'oidc-provider'
import { machineClient, publicClient } from '../../fixtures/clients.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import {
  askForManagementToken,
  HARMLESS,
  initialAccessToken,
  MACHINE,
  privileges,
  type RawMetadata,
  register,
  storeClient,
} from '../../fixtures/registration.ts'
import { exchange, issue, managementToken, postSubjectToken } from '../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'

const SCOPES = ['subject-tokens:create', 'subject-tokens:read', 'subject-tokens:revoke']
const NOTHING = { mayExchange: false, scopes: [] }

/** Machines may register, as in a deployment that had client_credentials before. */
const registration = (more: object): Configuration => ({
  features: {
    clientCredentials: { enabled: true },
    registration: { enabled: true, ...more },
  } as Configuration['features'],
})

/** What a stranger may not request. */
const refused: [title: string, metadata: RawMetadata][] = [
  ...SCOPES.map((scope): [string, RawMetadata] => [`the scope ${scope}`, { ...MACHINE, scope }]),
  ['a scope among others', { ...MACHINE, scope: `openid ${SCOPES[0]} profile` }],
  ['every scope', { ...MACHINE, scope: SCOPES.join(' ') }],
  ['the grant', { ...HARMLESS, grant_types: ['authorization_code', TOKEN_EXCHANGE] }],
  ['the grant twice', { ...HARMLESS, grant_types: [TOKEN_EXCHANGE, TOKEN_EXCHANGE] }],
  [
    'the grant for one resource only',
    { ...HARMLESS, grant_types: [TOKEN_EXCHANGE], token_exchange_resources: [API] },
  ],
  ['the grant for no resource', { ...HARMLESS, grant_types: [TOKEN_EXCHANGE], token_exchange_resources: [] }],
  [
    'scopes and grant',
    { ...MACHINE, scope: SCOPES.join(' '), grant_types: ['client_credentials', TOKEN_EXCHANGE] },
  ],
]

describe('registration', () => {
  const strangers: [title: string, more: object, token: 'none' | 'fixed' | string[] | undefined][] = [
    ['without an initial access token', {}, 'none'],
    ['with a fixed initial access token', { initialAccessToken: 'fixed-token' }, 'fixed'],
    ['with an initial access token without policies', { initialAccessToken: true }, undefined],
    [
      'with an initial access token of another policy',
      { initialAccessToken: true, policies: { trusted: () => {}, impersonation2: () => {} } },
      ['trusted', 'impersonation2'],
    ],
  ]
  for (const [title, more, kind] of strangers) {
    describe(title, () => {
      onSqlite({ configuration: registration(more) }, (on) => {
        const tokenOf = async () => {
          if (kind === 'none') return undefined
          if (kind === 'fixed') return 'fixed-token'
          return initialAccessToken(on.deployment, kind as string[] | undefined)
        }
        const registeredRows = async () => {
          const [rows] = await on.database.sequelize.query(
            "SELECT id FROM oidc_models WHERE model = 'Client'",
          )
          return rows.length
        }

        for (const [asked, metadata] of refused) {
          it(`refuses ${asked}, and registers no one`, async () => {
            const before = await registeredRows()
            const response = await register(on.deployment, metadata, await tokenOf())
            expect([response.status, response.body?.error], response.text).to.deep.equal([
              400,
              'invalid_client_metadata',
            ])
            expect(await registeredRows()).to.equal(before)
          })
        }

        for (const [asked, metadata] of [
          ['a public client', HARMLESS],
          ['a machine', MACHINE],
          ['a scope of the provider', { ...HARMLESS, scope: 'openid profile' }],
          ['resources that it cannot use', { ...HARMLESS, token_exchange_resources: [API] }],
        ] as const) {
          it(`accepts ${asked}, which can do nothing here`, async () => {
            const response = await register(on.deployment, metadata, await tokenOf())
            expect(response.status, response.text).to.equal(201)
            expect(await privileges(on.deployment, response.body)).to.deep.equal(NOTHING)
          })
        }

        it('issues a registered machine no management token with a scope', async () => {
          const { body } = await register(on.deployment, MACHINE, await tokenOf())
          for (const scope of SCOPES) {
            const response = await askForManagementToken(on.deployment, body, scope)
            expect(response.body.scope, response.text).to.equal(undefined)
            if (response.status !== 200) continue
            const posted = await postSubjectToken(
              on.deployment,
              { userId: 'alice' },
              response.body.access_token,
            )
            expect([posted.status, posted.body.error]).to.deep.equal([403, 'insufficient_scope'])
          }
        })

        it('does not change the clients of the administrator', async () => {
          expect(await privileges(on.deployment, publicClient())).to.deep.equal({
            mayExchange: true,
            scopes: [],
          })
          expect(await privileges(on.deployment, machineClient())).to.deep.include({ scopes: SCOPES })
          const stored = { client_id: 'stored', grant_types: ['client_credentials', TOKEN_EXCHANGE] }
          const metadata = machineClient({ ...stored, token_exchange_resources: [API] })
          await storeClient(on.deployment, metadata)
          expect(await privileges(on.deployment, metadata)).to.deep.equal({
            mayExchange: true,
            scopes: SCOPES,
          })
        })
      })
    })
  }

  describe('with an initial access token of the policy impersonation', () => {
    onSqlite({ configuration: registration({ initialAccessToken: true }) }, (on) => {
      const registered = async (metadata: RawMetadata, policies = ['impersonation']) => {
        const response = await register(
          on.deployment,
          metadata,
          await initialAccessToken(on.deployment, policies),
        )
        expect(response.status, response.text).to.equal(201)
        return response.body
      }

      it('lets a machine have the scopes it names, and no others', async () => {
        const client = await registered({ ...MACHINE, scope: 'subject-tokens:create subject-tokens:read' })
        expect(await privileges(on.deployment, client)).to.deep.equal({
          mayExchange: false,
          scopes: ['subject-tokens:create', 'subject-tokens:read'],
        })
        const token = await managementToken(on.deployment, { client, scope: 'subject-tokens:create' })
        const { subjectToken } = await issue(on.deployment, {}, token)
        expect((await exchange(on.deployment, { subject_token: subjectToken })).status).to.equal(200)
      })

      it('lets a client have the grant, for the resources it names', async () => {
        const client = await registered({
          ...HARMLESS,
          grant_types: ['authorization_code', TOKEN_EXCHANGE],
          token_exchange_resources: [OPAQUE_API],
        })
        expect(client.token_exchange_resources).to.deep.equal([OPAQUE_API])
        const { subjectToken } = await issue(on.deployment)
        const wrong = await exchange(on.deployment, { subject_token: subjectToken }, { client })
        expect([wrong.status, wrong.body.error]).to.deep.equal([400, 'invalid_target'])
        const parameters = { subject_token: subjectToken, resource: OPAQUE_API }
        expect((await exchange(on.deployment, parameters, { client })).status).to.equal(200)
      })

      it('grants nothing that was not requested', async () => {
        for (const metadata of [HARMLESS, MACHINE]) {
          expect(await privileges(on.deployment, await registered(metadata))).to.deep.equal(NOTHING)
        }
      })

      it('refuses the scopes for a client that does not authenticate', async () => {
        const policy = await initialAccessToken(on.deployment, ['impersonation'])
        for (const scope of SCOPES) {
          const metadata = { ...MACHINE, token_endpoint_auth_method: 'none', scope }
          const response = await register(on.deployment, metadata, policy)
          expect([response.status, response.body], response.text).to.deep.equal([
            400,
            {
              error: 'invalid_client_metadata',
              error_description: `scope ${scope} is only for clients that authenticate`,
            },
          ])
        }
      })

      it('refuses an unknown token', async () => {
        for (const token of ['unknown', undefined]) {
          const response = await register(on.deployment, { ...MACHINE, scope: SCOPES[0] }, token)
          expect([response.status, response.body.error], response.text).to.deep.equal([401, 'invalid_token'])
        }
      })
    })
  })

  describe('with client defaults that let no client authenticate', () => {
    const clientDefaults = {
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'none',
    } as const
    const clients = [machineClient({ token_endpoint_auth_method: 'client_secret_basic' }), publicClient()]
    const { features } = registration({ initialAccessToken: true })
    const choices = { ...features, rpMetadataChoices: { enabled: true } } as Configuration['features']
    onSqlite({ configuration: { features: choices, clientDefaults, clients } }, (on) => {
      const responseTo = async (more: RawMetadata) => {
        const token = await initialAccessToken(on.deployment, ['impersonation'])
        return register(on.deployment, { ...MACHINE, scope: SCOPES[0], ...more }, token)
      }

      it('refuses the scopes for a client that omits its method', async () => {
        const response = await responseTo({})
        expect([response.status, response.body.error], response.text).to.deep.equal([
          400,
          'invalid_client_metadata',
        ])
      })

      it('refuses the scopes for a client that lets the provider choose no authentication', async () => {
        const methods = ['none', 'client_secret_basic']
        const response = await responseTo({ token_endpoint_auth_methods_supported: methods })
        expect([response.status, response.body.error], response.text).to.deep.equal([
          400,
          'invalid_client_metadata',
        ])
      })

      it('refuses a list of methods that is none', async () => {
        for (const methods of [null, 7, {}, 'none']) {
          const response = await responseTo({ token_endpoint_auth_methods_supported: methods })
          expect([response.status, response.body.error], response.text).to.deep.equal([
            400,
            'invalid_client_metadata',
          ])
        }
        expect(on.deployment.errors).to.deep.equal([])
      })

      it('grants them to a client that names a method', async () => {
        const token_endpoint_auth_method = 'client_secret_basic'
        for (const more of [
          { token_endpoint_auth_method },
          {
            token_endpoint_auth_method,
            token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
          },
          { token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'] },
        ]) {
          const response = await responseTo(more)
          expect(response.status, response.text).to.equal(201)
          expect((await privileges(on.deployment, response.body)).scopes).to.deep.equal([SCOPES[0]])
        }
      })
    })
  })

  describe('with client defaults that hold the grant and a scope', () => {
    const clientDefaults = {
      id_token_signed_response_alg: 'ES256',
      grant_types: ['authorization_code', 'client_credentials', TOKEN_EXCHANGE],
      scope: SCOPES.join(' '),
    } as const
    const { features } = registration({})
    onSqlite({ configuration: { features, clientDefaults: clientDefaults as never } }, (on) => {
      it('gives them to no client that omits them', async () => {
        for (const left of [['grant_types'], ['scope'], ['grant_types', 'scope']]) {
          const asked: RawMetadata = { ...HARMLESS, scope: 'openid' }
          const metadata = Object.fromEntries(Object.entries(asked).filter(([name]) => !left.includes(name)))
          const response = await register(on.deployment, metadata)
          expect([response.status, response.body?.error], left.join()).to.deep.equal([
            400,
            'invalid_client_metadata',
          ])
        }
      })

      it('accepts a client that names its own', async () => {
        const response = await register(on.deployment, { ...HARMLESS, scope: 'openid' })
        expect(response.status, response.text).to.equal(201)
        expect(await privileges(on.deployment, response.body)).to.deep.equal(NOTHING)
      })
    })
  })
})
