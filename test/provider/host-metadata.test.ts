/** The host's own metadata validator (`extraClientMetadata`) works as without `configure` (protocol.md §1.1). */
import { expect } from 'chai'
import { type ClientMetadata, type Configuration, errors } from 'oidc-provider'
import { publicClient } from '../../fixtures/clients.ts'
import { type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { HARMLESS, register } from '../../fixtures/registration.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../src/constants.ts'

type Extra = NonNullable<Configuration['extraClientMetadata']>
interface Call {
  readonly self: unknown
  readonly route: string | undefined
  readonly key: string
  readonly value: unknown
  readonly metadata: ClientMetadata
}

const features: Configuration['features'] = { registration: { enabled: true, initialAccessToken: false } }
const API_URL = 'https://api.example.com'

describe("the host's own validator of client metadata", () => {
  const calls: Call[] = []
  const extraClientMetadata: Extra = {
    properties: ['tier', 'region'],
    validator(ctx, key, value, metadata) {
      calls.push({ self: this, route: ctx?.oidc.route, key, value, metadata })
      if (value === 'forbidden') throw new errors.InvalidClientMetadata('tier is not offered')
      if (key === 'region') Object.assign(metadata, { region: value ?? 'anywhere' })
    },
  }
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment({
      clients: [
        publicClient({ client_id: 'gold', tier: 'gold', token_exchange_resources: [API_URL] }),
        publicClient({ client_id: 'strange', tier: 'forbidden' }),
      ],
      configuration: { features, extraClientMetadata },
    })
  })
  after(() => deployment.close())
  beforeEach(() => void calls.splice(0))

  it('is called for each of its properties, with what the provider passes, and as its own method', async () => {
    const response = await register(deployment, { ...HARMLESS, tier: 'gold' })
    expect(response.status, response.text).to.equal(201)
    expect(calls.map(({ route, key, value }) => [route, key, value])).to.deep.equal([
      ['registration', 'tier', 'gold'],
      ['registration', 'region', undefined],
    ])
    for (const { self, metadata } of calls) {
      expect(self).to.equal(extraClientMetadata)
      expect(metadata.redirect_uris).to.deep.equal(HARMLESS.redirect_uris)
    }
    // What it writes into the metadata is registered.
    expect(response.body).to.include({ tier: 'gold', region: 'anywhere' })
  })

  it('refuses a client that registers itself, in its own words', async () => {
    const response = await register(deployment, { ...HARMLESS, tier: 'forbidden' })
    expect([response.status, response.body], response.text).to.deep.equal([
      400,
      { error: 'invalid_client_metadata', error_description: 'tier is not offered' },
    ])
  })

  it('is called without a context for a client that the administrator wrote, and refuses that one too', async () => {
    expect((await deployment.provider.Client.find('gold'))?.clientId).to.equal('gold')
    expect(calls.map(({ route, key, value }) => [route, key, value])).to.deep.equal([
      [undefined, 'tier', 'gold'],
      [undefined, 'region', undefined],
    ])
    const refused = await deployment.provider.Client.find('strange').catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(errors.InvalidClientMetadata)
    const { subjectToken } = await issue(deployment)
    const client = { client_id: 'strange' }
    const response = await exchange(deployment, { subject_token: subjectToken }, { client })
    expect([response.status, response.body.error], response.text).to.deep.equal([
      400,
      'invalid_client_metadata',
    ])
  })

  it('is not called for a client that is refused here', async () => {
    const grants = { grant_types: ['authorization_code', TOKEN_EXCHANGE] }
    const response = await register(deployment, { ...HARMLESS, ...grants, tier: 'gold' })
    expect([response.status, response.body.error], response.text).to.deep.equal([
      400,
      'invalid_client_metadata',
    ])
    expect(calls).to.deep.equal([])
  })

  it('that returns a promise is refused by the provider, which could not wait for its refusal', () => {
    const validator = async () => Promise.reject(new errors.InvalidClientMetadata('late'))
    const late = { properties: ['tier'], validator } as unknown as Extra
    return withDeployment({ configuration: { extraClientMetadata: late } }, async ({ provider }) => {
      const refused = await provider.Client.find('spa').catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(TypeError).with.property('message').that.includes('synchronous')
    })
  })

  it('may be missing where properties are only to be kept', () =>
    withDeployment(
      { configuration: { features, extraClientMetadata: { properties: ['tier'] } } },
      async (other) => {
        const response = await register(other, { ...HARMLESS, tier: 'gold' })
        expect(response.status, response.text).to.equal(201)
        expect(response.body).to.include({ tier: 'gold' })
      },
    ))
})
