/** The host's own functions about clients work as without `configure`: `extraClientMetadata` and `allowClient` (protocol.md §1.1). */
import { expect } from 'chai'
import { type Client, type ClientMetadata, type Configuration, errors } from 'oidc-provider'
import { publicClient } from '../../../fixtures/clients.ts'
import { API, useDeployment, withDeployment } from '../../../fixtures/deployment.ts'
import { CLIENT_ID, EVERYTHING, metadataWeb } from '../../../fixtures/metadata-documents.ts'
import { HARMLESS, register } from '../../../fixtures/registration.ts'
import { postToken } from '../../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../../src/base/constants.ts'

type Extra = NonNullable<Configuration['extraClientMetadata']>
interface Call {
  readonly self: unknown
  readonly route: string | undefined
  readonly key: string
  readonly value: unknown
  readonly metadata: ClientMetadata
}

const features: Configuration['features'] = { registration: { enabled: true, initialAccessToken: false } }

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
  const deployment = useDeployment({
    clients: [
      publicClient({ client_id: 'gold', tier: 'gold', token_exchange_resources: [API] }),
      publicClient({ client_id: 'strange', tier: 'forbidden' }),
    ],
    configuration: { features, extraClientMetadata },
  })
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

  it('refuses in its own words, and is not called for a client that is refused here', async () => {
    const refusals: [metadata: object, text: string, called: number][] = [
      [{ tier: 'forbidden' }, 'tier is not offered', 1],
      [
        { grant_types: [TOKEN_EXCHANGE] },
        `grant type ${TOKEN_EXCHANGE} is not for self-registered clients`,
        0,
      ],
    ]
    for (const [metadata, text, called] of refusals) {
      calls.splice(0)
      const response = await register(deployment, { ...HARMLESS, ...metadata })
      expect([response.status, response.body], response.text).to.deep.equal([
        400,
        { error: 'invalid_client_metadata', error_description: text },
      ])
      expect(calls).to.have.lengthOf(called)
    }
  })

  it('is called without a context for a client that the administrator wrote, and refuses that one too', async () => {
    expect((await deployment.provider.Client.find('gold'))?.clientId).to.equal('gold')
    expect(calls.map(({ route, key, value }) => [route, key, value])).to.deep.equal([
      [undefined, 'tier', 'gold'],
      [undefined, 'region', undefined],
    ])
    const client = { client_id: 'strange' }
    const response = await postToken(deployment, { grant_type: TOKEN_EXCHANGE }, { client })
    expect([response.status, response.body.error], response.text).to.deep.equal([
      400,
      'invalid_client_metadata',
    ])
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
        expect([response.status, response.body.tier], response.text).to.deep.equal([201, 'gold'])
      },
    ))
})

describe("the host's own allowClient", () => {
  const answers: [title: string, answer: unknown, status: number, error: string][] = [
    ['refuses a client that describes itself', false, 400, 'invalid_client'],
    ['is missed by the provider when it returns nothing', undefined, 500, 'server_error'],
  ]
  for (const [title, answer, status, error] of answers)
    it(`${title}, and sees it without the grants that such a client does not have`, () => {
      const web = metadataWeb()
      web.document = { ...EVERYTHING, grant_types: ['authorization_code', 'client_credentials'] }
      const asked: unknown[] = []
      const clientIdMetadataDocument = {
        ...web.configuration.features?.clientIdMetadataDocument,
        allowClient(_ctx: unknown, { clientId, grantTypes }: Client) {
          asked.push([clientId, grantTypes])
          return answer
        },
      } as never
      const configuration = { ...web.configuration, features: { clientIdMetadataDocument } }
      return withDeployment({ configuration }, async (deployment) => {
        const client = { client_id: CLIENT_ID }
        const response = await postToken(deployment, { grant_type: 'authorization_code' }, { client })
        expect([response.status, response.body.error], response.text).to.deep.equal([status, error])
        expect(asked).to.deep.equal([[CLIENT_ID, ['authorization_code']]])
      })
    })
})
