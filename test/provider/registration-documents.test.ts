/** A client resolved from a client-ID metadata document counts as self-registered, always (protocol.md §2.3). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ClientMetadata } from 'oidc-provider'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { manage } from '../../fixtures/management.ts'
import {
  askAsMachine,
  CLIENT_ID,
  EVERYTHING,
  metadataWeb,
  SELF_DESCRIBED_MACHINE,
} from '../../fixtures/metadata-documents.ts'
import { privileges, storeClient } from '../../fixtures/registration.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'
import { expectActorRefused, expectRefused } from '../exchange/refusals.ts'

const SCOPE = 'subject-tokens:create subject-tokens:read subject-tokens:revoke'

describe('registration: a client-ID metadata document', () => {
  const web = metadataWeb()

  onSqlite({ configuration: web.configuration }, (on) => {
    let clock: ReturnType<typeof stopClock>
    beforeEach(() => {
      clock = stopClock()
      // The provider caches a document for at most a day.
      clock.tick(2 * 86_400 * (web.fetched + 1))
      web.document = EVERYTHING
    })
    afterEach(() => clock.restore())

    const client = { client_id: CLIENT_ID }

    it('is where the provider gets this client from', async () => {
      const before = web.fetched
      const found = await on.deployment.provider.Client.find(CLIENT_ID)
      expect(found?.metadata()).to.deep.include({ grant_types: EVERYTHING.grant_types })
      expect(web.fetched).to.equal(before + 1)
    })

    const documents: [title: string, document: ClientMetadata][] = [
      ['names the grant and every scope', EVERYTHING],
      ['names the grant alone', { ...EVERYTHING, grant_types: [TOKEN_EXCHANGE], response_types: [] }],
      ['confines itself', { ...EVERYTHING, token_exchange_resources: [API] }],
      ['claims not to be a document', { ...EVERYTHING, clientIdMetadataDocument: false }],
      ['claims a policy', { ...EVERYTHING, policies: ['impersonation'] }],
      ['names nothing', { ...EVERYTHING, grant_types: ['authorization_code'], scope: undefined }],
    ]
    for (const [title, document] of documents) {
      it(`that ${title} gives neither the grant nor a scope`, async () => {
        web.document = document
        expect(await privileges(on.deployment, client)).to.deep.equal({ mayExchange: false, scopes: [] })
      })
    }

    it('gets the same response as any client without the grant, and spends nothing', async () => {
      const response = await expectRefused(on.deployment, {
        attempt: (subjectToken) => exchange(on.deployment, { subject_token: subjectToken }, { client }),
        error: 'invalid_request',
        description: 'requested grant type is not allowed for this client',
        check: 'request',
      })
      const plain = { client_id: 'resource-server', client_secret: 'resource-server-secret' }
      const other = await exchange(on.deployment, { subject_token: 'x' }, { client: plain })
      expect(other.text).to.equal(response.text)
    })

    it('of a machine gets a management token that allows nothing', async () => {
      web.document = SELF_DESCRIBED_MACHINE
      const deployment = await on.start({
        configuration: {
          ...web.configuration,
          features: { ...web.configuration.features, clientCredentials: { enabled: true } },
        },
      })
      const resource = `${deployment.baseUrl}/api`
      const response = await askAsMachine(deployment, { resource, scope: SCOPE })
      expect(response.status, response.text).to.equal(200)
      expect(decodeJwt(response.body.access_token)).not.to.have.property('scope')
      for (const method of ['GET', 'DELETE', 'POST']) {
        const opened = await manage(deployment, method, '', { token: response.body.access_token })
        expect([opened.status, opened.body.error]).to.deep.equal([403, 'insufficient_scope'])
      }
    })

    it('stops mattering for a client that the administrator stored under that name', async () => {
      await storeClient(on.deployment, { ...EVERYTHING, client_id: 'https://stored.example.com/' })
      const stored = { client_id: 'https://stored.example.com/' }
      expect((await privileges(on.deployment, stored)).mayExchange).to.equal(true)
    })

    describe('of the client an actor token was issued to', () => {
      it('is allowed: the client of an actor token is not compared', async () => {
        for (const token of [
          await actorToken(on.deployment, { clientId: CLIENT_ID }),
          await actorJwt(on.deployment, { client_id: CLIENT_ID }),
        ]) {
          const { subjectToken } = await issue(on.deployment)
          const response = await exchange(on.deployment, { subject_token: subjectToken, ...withActor(token) })
          expect(response.status, response.text).to.equal(200)
        }
      })

      for (const [title, document] of [
        ['gone', undefined],
        ['of another client', { ...EVERYTHING, client_id: 'https://other.example.com/' }],
        ['not an object', []],
        ['malformed', { ...EVERYTHING, redirect_uris: 7 }],
      ] as const) {
        it(`is refused with the fixed text when it is ${title}: the client is no longer registered`, async () => {
          web.document = document
          await expectActorRefused(on.deployment, await actorJwt(on.deployment, { client_id: CLIENT_ID }))
        })
      }
    })

    it('that is gone leaves its management token invalid, and is not an outage', async () => {
      web.document = undefined
      const { issuer, baseUrl } = on.deployment
      const ids = { iss: issuer, aud: `${baseUrl}/api`, sub: CLIENT_ID, client_id: CLIENT_ID }
      const token = await signJwt({ ...ids, scope: SCOPE, iat: now(), exp: now() + 60, jti: unique('jti') })
      const response = await manage(on.deployment, 'GET', '', { token })
      expect([response.status, response.body.error], response.text).to.deep.equal([401, 'invalid_token'])
    })
  })
})
