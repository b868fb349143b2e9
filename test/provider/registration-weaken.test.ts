/** A registered client cannot weaken what protects its privileges (protocol.md §2.3, RFC 7592). */
import { expect } from 'chai'
import type { Configuration } from 'oidc-provider'
import { machineClient, publicClient } from '../../fixtures/clients.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import {
  HARMLESS,
  initialAccessToken,
  MACHINE,
  type RawMetadata,
  readRegistration,
  register,
  update,
} from '../../fixtures/registration.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'

const SCOPE = 'subject-tokens:create'
const DPOP = 'dpop_bound_access_tokens'
const TLS = 'tls_client_certificate_bound_access_tokens'

/** A confidential client without privileges. */
const PLAIN: RawMetadata = { ...HARMLESS, token_endpoint_auth_method: 'client_secret_basic' }
const EXCHANGING: RawMetadata = { ...PLAIN, grant_types: ['authorization_code', TOKEN_EXCHANGE] }
const SCOPED: RawMetadata = { ...MACHINE, scope: SCOPE }

const configuration = {
  features: {
    registration: { enabled: true, initialAccessToken: true },
    registrationManagement: { enabled: true },
    mTLS: { enabled: true, certificateBoundAccessTokens: true, getCertificate: () => undefined },
    rpMetadataChoices: { enabled: true },
  },
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: (_ctx: unknown, accountId: string) => `pairwise-${accountId}`,
} as unknown as Configuration

/** The registration, the update, and the sentence that refuses it. */
const weakenings: [title: string, held: RawMetadata, changes: RawMetadata, sentence: string][] = [
  [
    'stop authenticating',
    {},
    { token_endpoint_auth_method: 'none' },
    'token_endpoint_auth_method may not become none',
  ],
  [
    'let the provider choose no authentication',
    {},
    { token_endpoint_auth_method: undefined, token_endpoint_auth_methods_supported: ['none'] },
    'token_endpoint_auth_method may not become none',
  ],
  ...[DPOP, TLS].flatMap((member): typeof weakenings => [
    [`set ${member} to false`, { [member]: true }, { [member]: false }, `${member} may not be dropped`],
    [`omit ${member}`, { [member]: true }, { [member]: undefined }, `${member} may not be dropped`],
    [`set ${member} to null`, { [member]: true }, { [member]: null }, `${member} may not be dropped`],
  ]),
  [
    'replace its DPoP key by a certificate',
    { [DPOP]: true },
    { [DPOP]: false, [TLS]: true },
    `${DPOP} may not be dropped`,
  ],
]

/** Only a client with redirect URIs can be pairwise. */
const ofSubjects: typeof weakenings = [
  ['become pairwise', {}, { subject_type: 'pairwise' }, 'subject_type may not change'],
  ['become public', { subject_type: 'pairwise' }, { subject_type: 'public' }, 'subject_type may not change'],
  [
    'omit its pairwise subject type',
    { subject_type: 'pairwise' },
    { subject_type: undefined },
    'subject_type may not change',
  ],
  [
    'let the provider choose its subject type',
    { subject_type: 'pairwise' },
    { subject_type: undefined, subject_types_supported: ['public', 'pairwise'] },
    'subject_type may not change',
  ],
]

describe('registration: an update that weakens', () => {
  onSqlite({ configuration }, (on) => {
    const registered = async (metadata: RawMetadata) => {
      const token = await initialAccessToken(on.deployment, ['impersonation'])
      const response = await register(on.deployment, metadata, token)
      expect(response.status, response.text).to.equal(201)
      return response.body
    }
    const expectRefused = async (client: HttpResponse['body'], changes: RawMetadata, sentence: string) => {
      const before = await readRegistration(client)
      const response = await update(client, changes)
      expect([response.status, response.body], response.text).to.deep.equal([
        400,
        { error: 'invalid_client_metadata', error_description: sentence },
      ])
      expect(await readRegistration(client)).to.deep.equal(before)
    }
    const expectTaken = async (client: HttpResponse['body'], changes: RawMetadata) => {
      const response = await update(client, changes)
      expect(response.status, response.text).to.equal(200)
      return { ...response.body }
    }

    for (const [title, held, changes, sentence] of [...weakenings, ...ofSubjects]) {
      it(`is refused for a client with the grant, which cannot ${title}`, async () =>
        expectRefused(await registered({ ...EXCHANGING, ...held }), changes, sentence))

      it(`is refused even if the same update gives up the privileges: ${title}`, async () => {
        const client = await registered({ ...EXCHANGING, ...held })
        await expectRefused(client, { ...changes, grant_types: ['authorization_code'] }, sentence)
        const plain = await expectTaken(client, { grant_types: ['authorization_code'] })
        await expectTaken(plain, changes)
      })

      it(`is allowed for a client without privileges: ${title}`, async () => {
        const client = await registered({ ...PLAIN, ...held })
        await expectTaken(client, changes)
      })
    }

    for (const [title, held, changes, sentence] of weakenings) {
      it(`is refused for a client with scopes, which cannot ${title}`, async () =>
        expectRefused(await registered({ ...SCOPED, ...held }), changes, sentence))
    }

    it('is refused even if it adds something', async () => {
      const client = await registered({ ...PLAIN, [DPOP]: true })
      const changes = { grant_types: EXCHANGING.grant_types, [DPOP]: false }
      await expectRefused(client, changes, `grant type ${TOKEN_EXCHANGE} is not for self-registered clients`)
    })

    it('is not one that makes the client stronger, or keeps it unchanged', async () => {
      const client = await registered({ ...EXCHANGING, token_endpoint_auth_method: 'none' })
      const same = await expectTaken(client, { client_name: 'renamed' })
      const confidential = await expectTaken(same, { token_endpoint_auth_method: 'client_secret_basic' })
      const other = await expectTaken(confidential, { token_endpoint_auth_method: 'client_secret_post' })
      const bound = await expectTaken(other, { [DPOP]: true })
      await expectRefused(bound, { [DPOP]: false }, `${DPOP} may not be dropped`)
      await expectRefused(
        bound,
        { token_endpoint_auth_method: 'none' },
        'token_endpoint_auth_method may not become none',
      )
    })
  })

  describe('by omitting a member with a weak default', () => {
    const clientDefaults = {
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'none',
    } as const
    const clients = [publicClient(), machineClient({ token_endpoint_auth_method: 'client_secret_basic' })]
    onSqlite({ configuration: { ...configuration, clientDefaults, clients } }, (on) => {
      for (const metadata of [EXCHANGING, SCOPED]) {
        it(`is refused for a client of the grants ${metadata.grant_types}`, async () => {
          const token = await initialAccessToken(on.deployment, ['impersonation'])
          const authenticating = { ...metadata, token_endpoint_auth_method: 'client_secret_basic' }
          const client = await register(on.deployment, authenticating, token)
          expect(client.status, client.text).to.equal(201)
          const response = await update(client.body, { token_endpoint_auth_method: undefined })
          expect([response.status, response.body.error_description], response.text).to.deep.equal([
            400,
            'token_endpoint_auth_method may not become none',
          ])
        })
      }
    })
  })
})
