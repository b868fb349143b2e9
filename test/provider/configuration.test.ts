import { createPublicKey } from 'node:crypto'
import { expect } from 'chai'
import { type Configuration, ExternalSigningKey, Provider } from 'oidc-provider'
import { machineClient, publicClient, webClient } from '../../fixtures/clients.ts'
import { API, type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { send } from '../../fixtures/http.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { exchange, issue, managementToken, postToken } from '../../fixtures/requests.ts'
import { uncalledStore as store } from '../../fixtures/uncalled-store.ts'
import { createImpersonation } from '../../src/index.ts'

const ISSUER = 'https://id.example.com/oidc'
const jwks = { keys: [SIGNING_KEY] }
const minimal: Configuration = {
  jwks,
  cookies: { keys: ['a key of the tests'] },
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  features: { devInteractions: { enabled: false } },
}

describe('configure', () => {
  it('needs a signing key, because the provider would fall back to publicly known keys', () => {
    const { use: _, alg: __, ...untyped } = SIGNING_KEY
    const encryption = { ...untyped, use: 'enc', alg: 'ECDH-ES' }
    for (const keys of [undefined, { keys: [] }, { keys: [encryption] }]) {
      expect(() => createImpersonation({ store }).configure({ ...minimal, jwks: keys })).to.throw(
        TypeError,
        'jwks',
      )
    }
  })

  it('accepts an external signing key', () => {
    class Remote extends ExternalSigningKey {
      override keyObject() {
        return createPublicKey({ key: SIGNING_KEY as object, format: 'jwk' } as never)
      }
    }
    const configuration = createImpersonation({ store }).configure({
      ...minimal,
      jwks: { keys: [new Remote()] },
    })
    expect(configuration.jwks?.keys).to.have.length(1)
  })

  it('does not change the configuration that it receives', () => {
    const given: Configuration = Object.freeze({
      ...minimal,
      features: Object.freeze({ ...minimal.features }),
    })
    const configuration = createImpersonation({ store }).configure(given)
    expect(configuration).not.to.equal(given)
    expect(given.scopes).to.equal(undefined)
  })

  it("keeps the provider's default scopes when it adds its own", () => {
    expect(createImpersonation({ store }).configure(minimal).scopes).to.deep.equal([
      'openid',
      'offline_access',
      'subject-tokens:create',
      'subject-tokens:read',
      'subject-tokens:revoke',
    ])
  })

  it('adds two members to the metadata of clients, before those of the deployment', () => {
    const added = ['token_exchange_resources', 'token_exchange_audiences']
    const propertiesOf = (more: Configuration) =>
      createImpersonation({ store }).configure({ ...minimal, ...more }).extraClientMetadata?.properties
    expect(propertiesOf({})).to.deep.equal(added)
    expect(propertiesOf({ extraClientMetadata: { properties: ['tier'] } })).to.deep.equal([...added, 'tier'])
  })

  it('needs no features', () => {
    const { features: _, ...bare } = minimal
    expect(createImpersonation({ store }).configure(bare).features?.resourceIndicators?.enabled).to.equal(
      true,
    )
  })

  it('configures one provider', () => {
    const impersonation = createImpersonation({ store })
    impersonation.configure(minimal)
    expect(() => impersonation.configure(minimal)).to.throw(TypeError, 'configure')
  })

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
      const clients = [
        publicClient({ token_exchange_resources: ['urn:a', new URL('https://b.example.com')] }),
      ]
      expect(() => createImpersonation({ store }).configure({ ...minimal, clients })).to.throw(
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
        new Provider(
          ISSUER,
          createImpersonation({ store }).configure({ ...minimal, ...more, clientDefaults }),
        )
      })
    }
  })

  it('adds its policy only if initial access tokens are stored by the provider', () => {
    const registration = (initialAccessToken: boolean | string) => {
      const configuration = createImpersonation({ store }).configure({
        ...minimal,
        features: { ...minimal.features, registration: { enabled: true, initialAccessToken } },
      })
      new Provider(ISSUER, configuration)
      return Object.keys(configuration.features?.registration?.policies ?? {})
    }
    expect(registration(true)).to.deep.equal(['impersonation'])
    expect(registration(false)).to.deep.equal([])
    expect(registration('a fixed one')).to.deep.equal([])
  })
})

describe('attach', () => {
  it('refuses a provider that was not built from what configure returned', () => {
    const impersonation = createImpersonation({ store })
    expect(() => impersonation.attach(new Provider(ISSUER, minimal))).to.throw(TypeError, 'configure')
    const configuration = impersonation.configure(minimal)
    expect(() => impersonation.attach(new Provider(ISSUER, minimal))).to.throw(TypeError, 'configure')
    const other = createImpersonation({ store })
    const foreign = new Provider(ISSUER, other.configure(minimal))
    expect(() => impersonation.attach(foreign)).to.throw(TypeError, 'configure')
    impersonation.attach(new Provider(ISSUER, configuration))
  })

  it('comes before the router', () => {
    const impersonation = createImpersonation({ store })
    expect(() => impersonation.router()).to.throw(TypeError, 'attach')
  })
})

describe('a configured provider', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment({
      configuration: { extraTokenClaims: (_ctx, token) => ({ of: token.kind }) },
      clients: [machineClient({ client_id: 'other', scope: 'openid' })],
    })
  })
  after(() => deployment.close())

  it('lists the management scopes and the grant in discovery', async () => {
    const { body } = await send(`${deployment.issuer}/.well-known/openid-configuration`)
    expect(body.scopes_supported).to.include.members(['openid', 'subject-tokens:create'])
    expect(body.grant_types_supported).to.include('urn:ietf:params:oauth:grant-type:token-exchange')
  })

  it("keeps the deployment's own extraTokenClaims for every token", async () => {
    const token = await managementToken(deployment)
    expect(payloadOf(token)).to.include({ of: 'ClientCredentials' })
    const { subjectToken } = await issue(deployment)
    const response = await exchange(deployment, { subject_token: subjectToken })
    expect(payloadOf(response.body.access_token)).to.include({ of: 'AccessToken', sub: 'alice' })
  })

  it('grants a management scope only to a client that is registered for it', async () => {
    const token = await managementToken(deployment, {
      client: machineClient({ client_id: 'other' }),
      scope: null,
    })
    expect(payloadOf(token)).not.to.have.property('scope')
  })

  it("does not change the deployment's other resources", async () => {
    const response = await postToken(
      deployment,
      { grant_type: 'client_credentials', resource: API, scope: 'orders:read' },
      { client: machineClient() },
    )
    expect(response.body.scope).to.equal('orders:read')
  })

  it('signs management tokens with the first signing key, whatever its algorithm', async () => {
    for (const alg of ['ES384', 'RS256', 'EdDSA'] as const) {
      const other = await startDeployment({
        configuration: { jwks: { keys: [signingKey(alg), SIGNING_KEY] } },
      })
      try {
        await issue(other)
        const [header] = (await managementToken(other)).split('.')
        expect(JSON.parse(Buffer.from(header ?? '', 'base64url').toString()).alg).to.equal(alg)
      } finally {
        await other.close()
      }
    }
  })

  it('verifies tokens of a key without id, use and algorithm', async () => {
    const { kid: _, use: __, alg: ___, ...bare } = SIGNING_KEY
    const other = await startDeployment({ configuration: { jwks: { keys: [bare] } } })
    try {
      await issue(other)
    } finally {
      await other.close()
    }
  })
})

const payloadOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())
