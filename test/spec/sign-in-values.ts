/** What opens a client to sessions, and what does not (docs/protocol.md §10.2). */
import { expect } from 'chai'
import { type ClientMetadata, errors } from 'oidc-provider'
import { send } from '../../fixtures/http.ts'
import { isOpen } from '../../src/sessions/client-opt-in.ts'
import { armed, CALLBACK, errorOf, type Given, PAIRWISE, rule, shop, shown, unspent } from './arriving.ts'
import { type Named, type Rule, type Steps, values } from './rule.ts'

type Metadata = Partial<ClientMetadata>

const UNTOLD = { backchannel_logout_uri: undefined, backchannel_logout_session_required: undefined }
const START = { impersonation_sessions: true, initiate_login_uri: 'https://shop.example.com/start' }

export const OPENABLE = {
  'true, with initiate_login_uri': START,
  'an address': {},
  'an address of this machine': { impersonation_sessions: 'http://127.0.0.1:3000/sign-in' },
  'this machine by name': { impersonation_sessions: 'http://localhost/sign-in' },
  'this machine by IPv6': { impersonation_sessions: 'http://[::1]:3000/sign-in' },
  'code beside another response type': { response_types: ['code', 'none'] },
  unended: { ...UNTOLD, impersonation_sessions_unended: true },
} satisfies Named<Metadata>

const NOT_OPENABLE: Named<Metadata> = {
  'a number': { impersonation_sessions: 1 },
  false: { impersonation_sessions: false },
  'an object': { impersonation_sessions: { start: 'https://shop.example.com' } },
  'a relative address': { impersonation_sessions: '/sign-in' },
  'an http address': { impersonation_sessions: 'http://shop.example.com/sign-in' },
  'an http address that begins like this machine': {
    impersonation_sessions: 'http://localhost.evil.example.com/sign-in',
  },
  'a script': { impersonation_sessions: 'javascript:alert(1)' },
  'true, without initiate_login_uri': { impersonation_sessions: true },
  'a native application': { application_type: 'native' },
  'no code': { response_types: ['id_token'], grant_types: ['implicit'] },
  'no authorization_code': { grant_types: [], response_types: ['none'] },
  token_exchange_audiences: { token_exchange_audiences: [] },
  'a logout token without sid': { backchannel_logout_session_required: false },
  'a logout token without sid, also unended': {
    backchannel_logout_session_required: undefined,
    impersonation_sessions_unended: true,
  },
  'no Back-Channel Logout': UNTOLD,
  'no Back-Channel Logout, and unended false': { ...UNTOLD, impersonation_sessions_unended: false },
  'unended as a string': { ...UNTOLD, impersonation_sessions_unended: 'true' },
}

const REGISTERING: Given = {
  configuration: {
    ...PAIRWISE,
    features: {
      registration: { enabled: true, initialAccessToken: true },
      registrationManagement: { enabled: true, rotateRegistrationAccessToken: false },
    },
  },
}

type Send = (changes: object) => ReturnType<typeof send>

/** A client registers itself, with an initial access token that has these policies, and sends updates. */
const registered = (
  metadata: Metadata,
  policies: string[] | undefined,
  use: (created: Awaited<ReturnType<Send>>, update: Send) => Promise<void>,
): Steps =>
  unspent(async (scene) => {
    const token = await new scene.provider.InitialAccessToken(policies && { policies }).save()
    const { client_id: _, client_secret: __, ...rest } = shop(metadata)
    const request = (method: string, url: string, bearer: string, body: object) =>
      send(url, {
        method,
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const created = await request('POST', `${scene.issuer}/reg`, token, rest)
    const { client_id, client_secret, registration_client_uri: uri } = created.body
    await use(created, (changes) =>
      request('PUT', uri, created.body.registration_access_token, {
        ...{ ...rest, client_id, client_secret },
        ...changes,
      }),
    )
  }, REGISTERING)

/** What an update changes of a client that is open, from what it had. */
interface Update {
  readonly had?: Metadata
  readonly changes: Metadata
}
const ELSEWHERE = 'https://evil.example.com/'
const MAY_NOT: Named<Update> = {
  'change where sessions begin': { changes: { impersonation_sessions: ELSEWHERE } },
  // Or the next update could send the logout tokens of what is open elsewhere.
  'close itself': { changes: { impersonation_sessions: undefined } },
  'become public': { changes: { token_endpoint_auth_method: 'none' } },
  'send engineers elsewhere': { had: START, changes: { initiate_login_uri: ELSEWHERE } },
  'send engineers elsewhere while it closes': {
    had: START,
    changes: { impersonation_sessions: undefined, initiate_login_uri: ELSEWHERE },
  },
  'leave out that it is unended': {
    had: { impersonation_sessions_unended: true },
    changes: { impersonation_sessions_unended: undefined },
  },
  'leave out that it obeys what is read-only': {
    had: { impersonation_read_only: true },
    changes: { impersonation_read_only: undefined },
  },
  'say that it obeys what is read-only': { changes: { impersonation_read_only: true } },
  'take an initiate_login_uri, though no session begins there': {
    changes: { initiate_login_uri: 'https://shop.example.com/other' },
  },
  'take another name': { changes: { client_name: 'The bank' } },
  'send codes elsewhere': { changes: { redirect_uris: [CALLBACK, `${ELSEWHERE}callback`] } },
  'send browsers elsewhere after a sign-out': { changes: { post_logout_redirect_uris: [ELSEWHERE] } },
  'send logout tokens elsewhere': { changes: { backchannel_logout_uri: ELSEWHERE } },
  'take other keys': { changes: { jwks_uri: ELSEWHERE } },
  'take another sector': { changes: { sector_identifier_uri: ELSEWHERE } },
  'widen its scope': { had: { scope: 'openid' }, changes: { scope: 'openid profile' } },
  'leave out its scope': { had: { scope: 'openid' }, changes: { scope: undefined } },
  'change its subject_type': { changes: { subject_type: 'pairwise' } },
  'drop its logout, also where it is unended': {
    had: { impersonation_sessions_unended: true },
    changes: UNTOLD,
  },
}
const MAY: Named<Update> = {
  'stay as it is': { changes: {} },
  'send codes to fewer addresses': {
    had: { redirect_uris: [CALLBACK, 'https://shop.example.com/other'] },
    changes: { redirect_uris: [CALLBACK] },
  },
  'send browsers nowhere after a sign-out': {
    had: { post_logout_redirect_uris: ['https://shop.example.com/'] },
    changes: { post_logout_redirect_uris: undefined },
  },
  'narrow its scope': { had: { scope: 'openid profile' }, changes: { scope: 'openid' } },
}
const updates = (title: string, all: Named<Update>, status: number): Rule =>
  values(title, all, ({ had = {}, changes }) =>
    registered(had, ['impersonation'], async (created, update) => {
      expect(created.status, created.text).to.equal(201)
      const updated = await update(changes)
      expect(updated.status, updated.text).to.equal(status)
      const members = Object.keys(changes).join('|')
      if (status === 400)
        expect(updated.body.error_description).to.match(
          new RegExp(`^(${members}) (may (not|only)|is not for self-registered clients)`),
        )
    }),
  )

/** What only an administrator gives. */
const GIVEN: Named<Metadata> = {
  opened: { impersonation_sessions: 'https://shop.example.com/sign-in' },
  unended: { impersonation_sessions_unended: true },
  'read-only': { impersonation_read_only: true },
}

export const signInValues: readonly Rule[] = [
  ...Object.entries<Metadata>(OPENABLE).map(([name, metadata]) =>
    rule(
      `A2, ${name}`,
      armed(
        async ({ authorize, browser, use }) => {
          expect(errorOf(await authorize(browser))).to.equal(null)
          expect((await use())?.session?.logout).to.equal(name === 'unended' ? 'unsupported' : 'pending')
        },
        { clients: [shop(metadata)], configuration: { responseTypes: ['code', 'none'] } },
      ),
    ),
  ),
  values('A2, and no other', NOT_OPENABLE, (metadata) =>
    unspent(
      async (scene) => {
        const refused = await scene.provider.Client.validate(shop(metadata)).catch((error) => error)
        expect(refused).to.be.instanceOf(errors.InvalidClientMetadata)
        expect(refused.error_description).to.include('impersonation_sessions')
        // It is registered without the member.
        expect((await shown(scene, await scene.signedIn(), scene.token)).status).to.equal(403)
      },
      {
        clients: [shop({ impersonation_sessions: undefined })],
        configuration: { responseTypes: ['code', 'id_token', 'none'] },
      },
    ),
  ),
  values('A3, by itself', GIVEN, (changes) =>
    registered({ impersonation_sessions: undefined, ...changes }, undefined, async ({ status, body }) => {
      expect([status, body.error]).to.deep.equal([400, 'invalid_client_metadata'])
    }),
  ),
  values('A3, by an update', GIVEN, (changes) =>
    registered({ impersonation_sessions: undefined }, undefined, async (created, update) => {
      expect([created.status, (await update(changes)).status]).to.deep.equal([201, 400])
    }),
  ),
  rule(
    'A3, by a metadata document',
    unspent(async () => {
      const client = {
        clientId: 'https://shop.example.com/client',
        impersonation_sessions: START.initiate_login_uri,
      }
      expect(isOpen(client)).to.equal(true)
      expect(isOpen({ ...client, clientIdMetadataDocument: true })).to.equal(false)
      expect(isOpen({ ...client, impersonation_sessions: undefined })).to.equal(false)
      expect(isOpen({ ...client, impersonation_sessions: true })).to.equal(false)
    }),
  ),
  updates('A3, and an update that it may not send, to', MAY_NOT, 400),
  updates('A3, and an update that it may send, to', MAY, 200),
]
