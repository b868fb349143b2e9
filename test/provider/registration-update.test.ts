/** What a registered client may change about itself (protocol.md §2.3, RFC 7592): keep or shrink, never add. */
import { expect } from 'chai'
import type { Configuration } from 'oidc-provider'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import {
  HARMLESS,
  initialAccessToken,
  MACHINE,
  privileges,
  type RawMetadata,
  readRegistration,
  register,
  storeClient,
  update,
} from '../../fixtures/registration.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'

const [CREATE, READ, REVOKE] = ['subject-tokens:create', 'subject-tokens:read', 'subject-tokens:revoke']
const NOTHING = { mayExchange: false, scopes: [] }
const EXCHANGING: RawMetadata = { ...HARMLESS, grant_types: ['authorization_code', TOKEN_EXCHANGE] }
const CONFINED: RawMetadata = { ...EXCHANGING, token_exchange_resources: [API] }
const AS_API: RawMetadata = { ...EXCHANGING, token_exchange_audiences: ['orders', 'reports'] }

const features = {
  registration: { enabled: true, initialAccessToken: true },
  registrationManagement: { enabled: true, rotateRegistrationAccessToken: true },
} as Configuration['features']

describe('registration: an update', () => {
  const scopes = ['openid', 'offline_access', 'profile', 'address']
  onSqlite({ configuration: { features, scopes } }, (on) => {
    const registered = async (metadata: RawMetadata, policies: string[] | undefined = ['impersonation']) => {
      const response = await register(
        on.deployment,
        metadata,
        await initialAccessToken(on.deployment, policies),
      )
      expect(response.status, response.text).to.equal(201)
      return response.body
    }
    const stranger = (metadata: RawMetadata) => registered(metadata, undefined)
    const taken = async (response: Promise<HttpResponse>) => {
      const { status, text, body } = await response
      expect(status, text).to.equal(200)
      return body
    }
    const expectRefused = async (client: HttpResponse['body'], changes: RawMetadata) => {
      const before = await readRegistration(client)
      const held = await privileges(on.deployment, client)
      const response = await update(client, changes)
      expect([response.status, response.body?.error], response.text).to.deep.equal([
        400,
        'invalid_client_metadata',
      ])
      expect(await readRegistration(client)).to.deep.equal(before)
      expect(await privileges(on.deployment, client)).to.deep.equal(held)
      return response.body
    }

    it('cannot widen what an exchanging client may request, but can narrow it or give up the grant', async () => {
      const client = await registered({ ...EXCHANGING, scope: 'openid profile' })
      await expectRefused(client, { scope: undefined })
      await expectRefused(client, { scope: '' })
      const wider = await expectRefused(client, { scope: 'openid profile offline_access' })
      expect(wider.error_description).to.equal('scope may only be narrowed')
      const narrowed = await taken(update(client, { scope: 'profile' }))
      expect(narrowed.scope).to.equal('profile')
      await expectRefused(narrowed, { scope: 'openid profile' })
      await taken(update(narrowed, { grant_types: ['authorization_code'], scope: undefined }))
    })

    it('cannot request a scope that is spelled in the letters of those it has', async () => {
      const client = await registered({ ...EXCHANGING, scope: 'openid profile offline_access' })
      await expectRefused(client, { scope: 'address' })
    })

    const kinds: [title: string, metadata: RawMetadata][] = [
      ['a stranger', HARMLESS],
      ['a machine with scopes', { ...MACHINE, scope: `${CREATE} ${READ}` }],
      ['an exchanging client', EXCHANGING],
      ['a confined client', CONFINED],
      ['an API', AS_API],
      ['a client confined to nothing', { ...EXCHANGING, token_exchange_resources: [] }],
      [
        'a client with everything',
        {
          ...CONFINED,
          token_endpoint_auth_method: 'client_secret_basic',
          scope: `openid ${CREATE} ${READ} ${REVOKE}`,
        },
      ],
    ]
    for (const [title, metadata] of kinds) {
      it(`that changes nothing passes, even twice: ${title}`, async () => {
        const client = await registered(metadata)
        const held = await privileges(on.deployment, client)
        const once = await taken(update(client))
        const twice = await taken(update(once, { client_name: 'renamed' }))
        expect(twice.token_exchange_resources).to.deep.equal(metadata.token_exchange_resources)
        expect(twice.token_exchange_audiences).to.deep.equal(metadata.token_exchange_audiences)
        expect(await privileges(on.deployment, client)).to.deep.equal(held)
      })
    }

    const added: [title: string, metadata: RawMetadata, changes: RawMetadata][] = [
      ['a scope to a client with none', MACHINE, { scope: CREATE }],
      ['a scope to a client with others', { ...MACHINE, scope: CREATE }, { scope: `${CREATE} ${READ}` }],
      ['a scope in exchange for another', { ...MACHINE, scope: READ }, { scope: REVOKE }],
      ['the grant', HARMLESS, { grant_types: ['authorization_code', TOKEN_EXCHANGE] }],
      [
        'the grant to a machine with scopes',
        { ...MACHINE, scope: CREATE },
        { grant_types: [TOKEN_EXCHANGE] },
      ],
      ['a resource', CONFINED, { token_exchange_resources: [API, OPAQUE_API] }],
      ['another resource', CONFINED, { token_exchange_resources: [OPAQUE_API] }],
      [
        'a resource to none',
        { ...CONFINED, token_exchange_resources: [] },
        { token_exchange_resources: [API] },
      ],
      ['audiences', EXCHANGING, { token_exchange_audiences: ['orders'] }],
      ['no audiences, which makes it an API', EXCHANGING, { token_exchange_audiences: [] }],
      ['audiences to a stranger', HARMLESS, { token_exchange_audiences: ['orders'] }],
      ['an audience', AS_API, { token_exchange_audiences: ['orders', 'reports', 'billing'] }],
      ['another audience', AS_API, { token_exchange_audiences: ['billing'] }],
      ['resources to an API, which has none without', AS_API, { token_exchange_resources: [API] }],
      ['a resource that differs in case', CONFINED, { token_exchange_resources: [API.toUpperCase()] }],
    ]
    for (const [title, metadata, changes] of added) {
      it(`cannot add ${title}`, async () => expectRefused(await registered(metadata), changes))
    }

    const removals: [title: string, value: unknown][] = [
      ['left out', undefined],
      ['null', null],
      ['an empty string', ''],
      ['a string', API],
      ['an object', { 0: API, length: 1 }],
      ['a number', 0],
      ['false', false],
      ['an array within an array', [[API]]],
    ]
    for (const [title, value] of removals) {
      it(`cannot remove token_exchange_resources: ${title}`, async () =>
        expectRefused(await registered(CONFINED), { token_exchange_resources: value }))
    }

    for (const value of [undefined, null, [], '', 'orders', [['orders']]]) {
      it(`cannot remove or empty token_exchange_audiences: ${JSON.stringify(value)}`, async () =>
        expectRefused(await registered(AS_API), { token_exchange_audiences: value }))
    }

    it('may leave audiences out, which do not come back', async () => {
      const smaller = await taken(update(await registered(AS_API), { token_exchange_audiences: ['reports'] }))
      expect(smaller.token_exchange_audiences).to.deep.equal(['reports'])
      await expectRefused(smaller, { token_exchange_audiences: ['orders', 'reports'] })
    })

    it('adds nothing for a stranger, not even one scope', async () => {
      const client = await stranger(HARMLESS)
      for (const scope of [CREATE, READ, REVOKE, `openid ${CREATE}`]) await expectRefused(client, { scope })
      await expectRefused(client, { grant_types: ['authorization_code', TOKEN_EXCHANGE] })
      await expectRefused(client, { grant_types: [TOKEN_EXCHANGE], token_exchange_resources: [API] })
      expect(await privileges(on.deployment, client)).to.deep.equal(NOTHING)
    })

    it('may remove scopes, which do not come back', async () => {
      const client = await registered({ ...MACHINE, scope: `${CREATE} ${READ} ${REVOKE}` })
      const smaller = await taken(update(client, { scope: READ }))
      expect((await privileges(on.deployment, client)).scopes).to.deep.equal([READ])
      await expectRefused(smaller, { scope: `${READ} ${CREATE}` })
      const none = await taken(update(smaller, { scope: undefined }))
      expect((await privileges(on.deployment, client)).scopes).to.deep.equal([])
      await expectRefused(none, { scope: READ })
    })

    it('may remove the grant, which does not come back', async () => {
      const client = await registered(CONFINED)
      const without = await taken(update(client, { grant_types: ['authorization_code'] }))
      expect(await privileges(on.deployment, client)).to.deep.equal(NOTHING)
      await expectRefused(without, { grant_types: ['authorization_code', TOKEN_EXCHANGE] })
    })

    it('may narrow the resources, which do not come back', async () => {
      const client = await registered({ ...EXCHANGING, token_exchange_resources: [API, OPAQUE_API] })
      const narrower = await taken(update(client, { token_exchange_resources: [API] }))
      await expectRefused(narrower, { token_exchange_resources: [API, OPAQUE_API] })
      const none = await taken(update(narrower, { token_exchange_resources: [] }))
      expect((await privileges(on.deployment, client)).mayExchange).to.equal(false)
      await expectRefused(none, { token_exchange_resources: [API] })
    })

    it('may confine an unconfined client', async () => {
      const client = await registered(EXCHANGING)
      const confined = await taken(update(client, { token_exchange_resources: [OPAQUE_API] }))
      expect((await privileges(on.deployment, client)).mayExchange).to.equal(false)
      await expectRefused(confined, { token_exchange_resources: undefined })
    })

    it('of one client does not affect another', async () => {
      const [one, two] = [await registered(EXCHANGING), await stranger(HARMLESS)]
      const changes = { client_id: one.client_id, grant_types: EXCHANGING.grant_types }
      expect((await update(two, changes)).status).to.equal(400)
      const stolen = { ...two, registration_access_token: one.registration_access_token }
      expect((await update(stolen, { grant_types: EXCHANGING.grant_types })).status).to.equal(401)
      expect(await privileges(on.deployment, two)).to.deep.equal(NOTHING)
    })

    it('gets no scopes that it names and did not have by starting to authenticate', async () => {
      const client = await stranger(HARMLESS)
      const { client_id, redirect_uris } = await readRegistration(client)
      const metadata = { ...HARMLESS, client_id, redirect_uris, scope: `openid ${CREATE}` }
      await storeClient(on.deployment, metadata as never)
      expect(await privileges(on.deployment, client)).to.deep.equal(NOTHING)
      const changes = { ...metadata, token_endpoint_auth_method: 'client_secret_basic' }
      await expectRefused(client, changes)
      await taken(update(client, { ...changes, scope: 'openid' }))
    })

    it('keeps what the administrator wrote into the database since', async () => {
      const client = await stranger(HARMLESS)
      const kept = Object.entries(await readRegistration(client)).filter(
        ([name]) => !name.startsWith('registration_'),
      )
      await storeClient(on.deployment, { ...Object.fromEntries(kept), ...CONFINED } as never)
      expect((await privileges(on.deployment, client)).mayExchange).to.equal(true)
      const now = { ...(await readRegistration(client)), ...client, ...CONFINED }
      const updated = await taken(update(now, { client_name: 'renamed' }))
      expect((await privileges(on.deployment, client)).mayExchange).to.equal(true)
      await expectRefused(updated, { token_exchange_resources: [API, OPAQUE_API] })
    })
  })
})
