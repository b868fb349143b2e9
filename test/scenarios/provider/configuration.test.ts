/** What `configure` makes of a configuration, and what a provider then does (protocol.md §1.1). */
import { createPublicKey } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { type Configuration, ExternalSigningKey, Provider } from 'oidc-provider'
import { machineClient, publicClient, webClient } from '../../../fixtures/clients.ts'
import { API, useDeployment, withDeployment } from '../../../fixtures/deployment.ts'
import { send } from '../../../fixtures/http.ts'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { show } from '../../../fixtures/management.ts'
import { exchange, issue, managementToken, postToken } from '../../../fixtures/requests.ts'
import { uncalledStore as store } from '../../../fixtures/uncalled-store.ts'
import { createImpersonation } from '../../../src/index.ts'

const ISSUER = 'https://id.example.com/oidc'
const jwks = { keys: [SIGNING_KEY] }
const minimal: Configuration = {
  jwks,
  cookies: { keys: ['a key of the tests'] },
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  features: { devInteractions: { enabled: false } },
}

const configure = (more: Configuration = {}) =>
  createImpersonation({ store }).configure({ ...minimal, ...more })

describe('configure', () => {
  it('needs a signing key, because the provider would fall back to publicly known keys', () => {
    const encryption = { ...SIGNING_KEY, use: 'enc', alg: 'ECDH-ES' }
    for (const keys of [undefined, { keys: [] }, { keys: [encryption] }])
      expect(() => configure({ jwks: keys as never })).to.throw(TypeError, 'jwks')
  })

  it('accepts an external signing key', () => {
    class Remote extends ExternalSigningKey {
      override keyObject() {
        return createPublicKey({ key: SIGNING_KEY as object, format: 'jwk' } as never)
      }
    }
    expect(configure({ jwks: { keys: [new Remote()] } }).jwks?.keys).to.have.length(1)
  })

  it('adds to a copy: the scopes to those of the provider, and two members to the metadata of clients', () => {
    const given: Configuration = Object.freeze({
      ...minimal,
      features: Object.freeze({ ...minimal.features }),
    })
    const added = ['token_exchange_resources', 'token_exchange_audiences']
    const { scopes, extraClientMetadata } = configure(given)
    expect(scopes).to.deep.equal([
      'openid',
      'offline_access',
      'subject-tokens:create',
      'subject-tokens:read',
      'subject-tokens:revoke',
    ])
    expect(extraClientMetadata?.properties).to.deep.equal(added)
    const tiered = configure({ extraClientMetadata: { properties: ['tier'] } })
    expect(tiered.extraClientMetadata?.properties).to.deep.equal([...added, 'tier'])
    expect(given.scopes).to.equal(undefined)
  })

  it('needs no features', () =>
    expect(configure({ features: undefined } as never).features?.resourceIndicators?.enabled).to.equal(true))

  describe('with static clients that do not authenticate', () => {
    const kiosk = publicClient({ client_id: 'kiosk', scope: 'openid subject-tokens:read' })
    const { token_endpoint_auth_method: _, ...unsaid } = kiosk
    const { scope: __, ...unscoped } = machineClient({
      ...kiosk,
      redirect_uris: [],
      response_types: [],
      grant_types: ['client_credentials'],
    })
    const none = { ...minimal.clientDefaults, token_endpoint_auth_method: 'none' } as const

    const refused: [title: string, configuration: Configuration][] = [
      ['names a management scope', { clients: [kiosk] }],
      ['comes after others', { clients: [webClient(), kiosk] }],
      ['does so by clientDefaults', { clients: [unsaid], clientDefaults: none }],
      [
        'does so by clientDefaults although it has a secret',
        { clients: [machineClient({ ...unsaid, client_secret: 'x' })], clientDefaults: none },
      ],
      [
        'does so by clientDefaults because its method is undefined',
        { clients: [{ ...kiosk, token_endpoint_auth_method: undefined }], clientDefaults: none },
      ],
      [
        'has the scope from clientDefaults',
        { clients: [unscoped], clientDefaults: { scope: 'subject-tokens:read' } },
      ],
    ]
    for (const [title, more] of refused) {
      it(`refuses one that ${title}, and names it`, () => {
        const impersonation = createImpersonation({ store })
        expect(() => impersonation.configure({ ...minimal, ...more }))
          .to.throw(TypeError)
          .with.property(
            'message',
            'configuration.clients: "kiosk" does not authenticate (token_endpoint_auth_method: none), so its scope cannot name subject-tokens:read',
          )
        // What was refused was not configured.
        impersonation.configure(minimal)
      })
    }

    it('refuses one with a URL object for a resource, and names it', () => {
      const clients = [publicClient({ token_exchange_resources: ['urn:a', new URL(API)] })]
      expect(() => configure({ clients })).to.throw(
        TypeError,
        'configuration.clients: "spa" has a URL object in token_exchange_resources: write its text',
      )
    })

    const taken: [title: string, configuration: Configuration][] = [
      ['names no management scope', { clients: [publicClient({ scope: 'openid' }), webClient()] }],
      [
        'authenticates after all',
        {
          clients: [machineClient({ token_endpoint_auth_method: 'client_secret_post' })],
          clientDefaults: none,
        },
      ],
      [
        'cannot request a token with the default scope',
        { clients: [publicClient()], clientDefaults: { scope: 'subject-tokens:read' } },
      ],
      [
        'omits its grants and its scope, as the defaults do',
        { clients: [{ ...publicClient(), grant_types: undefined }] },
      ],
      [
        'is not there, whatever the defaults',
        {
          clients: undefined,
          clientDefaults: {
            ...none,
            grant_types: ['client_credentials'],
            response_types: [],
            scope: 'subject-tokens:read',
          },
        } as Configuration,
      ],
      [
        'gives up the default scope',
        { clients: [{ ...kiosk, scope: 'openid' }], clientDefaults: { scope: 'subject-tokens:read' } },
      ],
    ]
    for (const [title, more] of taken) {
      it(`accepts one that ${title}`, () => {
        const clientDefaults = { ...minimal.clientDefaults, ...more.clientDefaults }
        new Provider(ISSUER, configure({ ...more, clientDefaults }))
      })
    }
  })

  it('adds its policy only if initial access tokens are stored by the provider', () => {
    for (const [initialAccessToken, policies] of [
      [true, ['impersonation']],
      [false, []],
      ['a fixed one', []],
    ] as const) {
      const registration = { enabled: true, initialAccessToken }
      const configuration = configure({ features: { ...minimal.features, registration } })
      new Provider(ISSUER, configuration)
      expect(Object.keys(configuration.features?.registration?.policies ?? {})).to.deep.equal(policies)
    }
  })
})

describe('a configured provider', () => {
  const deployment = useDeployment({
    configuration: { extraTokenClaims: (_ctx, token) => ({ of: token.kind }) },
  })

  it('lists the management scopes and the grant in discovery', async () => {
    const { body } = await send(`${deployment.issuer}/.well-known/openid-configuration`)
    expect(body.scopes_supported).to.include.members(['openid', 'subject-tokens:create'])
    expect(body.grant_types_supported).to.include('urn:ietf:params:oauth:grant-type:token-exchange')
  })

  it("keeps the deployment's own extraTokenClaims for every token", async () => {
    const token = await managementToken(deployment)
    expect(decodeJwt(token)).to.include({ of: 'ClientCredentials' })
    const { subjectToken } = await issue(deployment)
    const response = await exchange(deployment, { subject_token: subjectToken })
    expect(decodeJwt(response.body.access_token)).to.include({ of: 'AccessToken', sub: 'alice' })
  })
})

describe('a deployment without getResourceServerInfo', () => {
  it('has its management API, and no other resource: a subject token is not spent', () => {
    const features = { resourceIndicators: { enabled: true, getResourceServerInfo: undefined } }
    return withDeployment({ configuration: { features } }, async (other) => {
      const { subjectToken, id } = await issue(other)
      const before = other.events.length
      const response = await exchange(other, { subject_token: subjectToken })
      expect([response.status, response.body], response.text).to.deep.equal([
        400,
        { error: 'invalid_target', error_description: 'resource indicator is missing, or unknown' },
      ])
      const [refused] = other.events.slice(before)
      expect(refused?.payload).to.include({ id, check: 'invalid_target' })
      expect((await show(other, id)).body.state).to.equal('active')
      const request = { grant_type: 'client_credentials', resource: API }
      const machine = await postToken(other, request, { client: machineClient() })
      expect([machine.status, machine.body.error], machine.text).to.deep.equal([400, 'invalid_target'])
      expect(other.errors).to.deep.equal([])
    })
  })

  for (const nothing of [undefined, null])
    it(`is told so by the provider, in its log, where the function returns ${nothing}`, () => {
      const getResourceServerInfo = () => nothing as never
      const features = { resourceIndicators: { enabled: true, getResourceServerInfo } }
      return withDeployment({ configuration: { features } }, async (other) => {
        const { subjectToken, id } = await issue(other)
        const response = await exchange(other, { subject_token: subjectToken })
        expect([response.status, response.body.error], response.text).to.deep.equal([500, 'server_error'])
        expect(String(other.errors[0])).to.include('getResourceServerInfo must return an object')
        expect((await show(other, id)).body.state).to.equal('active')
      })
    })
})
