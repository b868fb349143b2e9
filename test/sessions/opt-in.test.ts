/** Which clients a subject token may open (protocol.md §10.2). */
import { expect } from 'chai'
import { type ClientMetadata, errors } from 'oidc-provider'
import { isOpen } from '../../src/sessions/opt-in.ts'
import { CALLBACK, shop, startScene } from '../spec/arriving.ts'

describe('a client that sessions may open', () => {
  it('says so by true, with initiate_login_uri, or by the address of a sign-in', async () => {
    const scene = await startScene()
    try {
      const valid: Partial<ClientMetadata>[] = [
        {},
        { impersonation_sessions: true, initiate_login_uri: 'https://shop.example.com/start' },
        { impersonation_sessions: 'http://127.0.0.1:3000/sign-in' },
        { impersonation_sessions: 'http://localhost/sign-in' },
        { impersonation_sessions: 'http://[::1]:3000/sign-in' },
        { response_types: ['code', 'none'] },
      ]
      for (const metadata of valid) await scene.provider.Client.validate(shop(metadata))
    } finally {
      await scene.close()
    }
  })

  const unended = { backchannel_logout_uri: undefined, backchannel_logout_session_required: undefined }
  const wrong: Record<string, Partial<ClientMetadata>> = {
    'a number': { impersonation_sessions: 1 },
    false: { impersonation_sessions: false },
    'an object': { impersonation_sessions: { start: 'https://shop.example.com' } },
    'a relative address': { impersonation_sessions: '/sign-in' },
    'an http address': { impersonation_sessions: 'http://shop.example.com/sign-in' },
    'an http address that begins like this machine': {
      impersonation_sessions: 'http://localhost.evil.example.com/sign-in',
    },
    'a script': { impersonation_sessions: 'javascript:alert(1)' },
    'true without initiate_login_uri': { impersonation_sessions: true },
    'a native application': { application_type: 'native' },
    'no code': { response_types: ['id_token'], grant_types: ['implicit'] },
    'no authorization_code': { grant_types: [], response_types: ['none'] },
    audiences: { token_exchange_audiences: [] },
    'a logout token without sid': { backchannel_logout_session_required: false },
    'a logout token without sid, also unended': {
      backchannel_logout_session_required: undefined,
      impersonation_sessions_unended: true,
    },
    'no logout token': unended,
    'no logout token, and unended false': { ...unended, impersonation_sessions_unended: false },
    'unended as a string': { ...unended, impersonation_sessions_unended: 'true' },
  }
  for (const [what, metadata] of Object.entries(wrong)) {
    it(`is refused with ${what}`, async () => {
      const scene = await startScene({ configuration: { responseTypes: ['code', 'id_token', 'none'] } })
      try {
        const refused = await scene.provider.Client.validate(shop(metadata)).catch((error: unknown) => error)
        expect(refused).to.be.instanceOf(errors.InvalidClientMetadata)
        expect(String((refused as Error & { error_description?: string }).error_description)).to.match(
          /impersonation_sessions/,
        )
      } finally {
        await scene.close()
      }
    })
  }
})

describe('a client from a metadata document', () => {
  it('is never open, whatever it says', () => {
    const client = {
      clientId: 'https://shop.example.com/client',
      impersonation_sessions: 'https://shop.example.com/',
    }
    expect(isOpen(client)).to.equal(true)
    expect(isOpen({ ...client, clientIdMetadataDocument: true })).to.equal(false)
    expect(isOpen({ ...client, impersonation_sessions: undefined })).to.equal(false)
    expect(isOpen({ ...client, impersonation_sessions: true })).to.equal(false)
  })
})

describe('a client that registers itself', () => {
  const register = async (metadata: Partial<ClientMetadata>, { policies }: { policies?: string[] } = {}) => {
    const scene = await startScene({
      configuration: {
        subjectTypes: ['public', 'pairwise'],
        pairwiseIdentifier: (_ctx: unknown, accountId: string) => `pairwise-${accountId}`,
        features: {
          registration: { enabled: true, initialAccessToken: true },
          registrationManagement: { enabled: true, rotateRegistrationAccessToken: false },
        },
      },
    })
    const token = await new scene.provider.InitialAccessToken(policies && { policies }).save()
    const { client_id: _, client_secret: __, ...rest } = shop(metadata)
    const send = async (method: string, url: string, authorization: string, body: object) => {
      const response = await fetch(url, {
        method,
        headers: { authorization: `Bearer ${authorization}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { status: response.status, body: (await response.json()) as Record<string, string> }
    }
    const created = await send('POST', `${scene.issuer}/reg`, token, rest)
    return {
      scene,
      created,
      update: (changes: object) =>
        send(
          'PUT',
          created.body.registration_client_uri ?? '',
          created.body.registration_access_token ?? '',
          {
            ...rest,
            client_id: created.body.client_id,
            client_secret: created.body.client_secret,
            ...changes,
          },
        ),
    }
  }

  it('is never open: neither by registration nor by an update', async () => {
    const refused = await register({})
    expect([refused.created.status, refused.created.body.error]).to.deep.equal([
      400,
      'invalid_client_metadata',
    ])
    await refused.scene.close()
    const plain = await register({ impersonation_sessions: undefined })
    expect(plain.created.status).to.equal(201)
    for (const changes of [
      { impersonation_sessions: 'https://shop.example.com/sign-in' },
      { impersonation_sessions_unended: true },
    ])
      expect((await plain.update(changes)).status).to.equal(400)
    await plain.scene.close()
  })

  it('is open by an initial access token with the policy, keeps it by an update, and cannot change it', async () => {
    const { scene, created, update } = await register({}, { policies: ['impersonation'] })
    try {
      expect(created.status, JSON.stringify(created.body)).to.equal(201)
      expect((await update({})).status).to.equal(200)
      expect((await update({ impersonation_sessions: 'https://evil.example.com' })).status).to.equal(400)
      // Or the next update could send the logout tokens of what is open elsewhere.
      const closed = await update({ impersonation_sessions: undefined })
      expect([closed.status, closed.body.error_description]).to.deep.equal([
        400,
        'impersonation_sessions may not change',
      ])
    } finally {
      await scene.close()
    }
  })

  const updates: Record<string, { held?: Partial<ClientMetadata>; changes: object; status: number }> = {
    'may not become public': { changes: { token_endpoint_auth_method: 'none' }, status: 400 },
    'may not send engineers elsewhere': {
      held: { impersonation_sessions: true, initiate_login_uri: 'https://shop.example.com/start' },
      changes: { initiate_login_uri: 'https://evil.example.com/start' },
      status: 400,
    },
    'may not send engineers elsewhere while it closes': {
      held: { impersonation_sessions: true, initiate_login_uri: 'https://shop.example.com/start' },
      changes: {
        impersonation_sessions: undefined,
        initiate_login_uri: 'https://evil.example.com/start',
      },
      status: 400,
    },
    'may not leave out that it may be unended': {
      held: { impersonation_sessions_unended: true },
      changes: { impersonation_sessions_unended: undefined },
      status: 400,
    },
    'may not take an initiate_login_uri, though no session begins there': {
      changes: { initiate_login_uri: 'https://shop.example.com/other' },
      status: 400,
    },
    'may not take another name': { changes: { client_name: 'The bank' }, status: 400 },
    'may not send codes elsewhere': {
      changes: { redirect_uris: [CALLBACK, 'https://evil.example.com/callback'] },
      status: 400,
    },
    'may send codes to fewer addresses': {
      held: { redirect_uris: [CALLBACK, 'https://shop.example.com/other'] },
      changes: { redirect_uris: [CALLBACK] },
      status: 200,
    },
    'may not send browsers elsewhere after a sign-out': {
      changes: { post_logout_redirect_uris: ['https://evil.example.com/'] },
      status: 400,
    },
    'may leave out where browsers are sent after a sign-out': {
      held: { post_logout_redirect_uris: ['https://shop.example.com/'] },
      changes: { post_logout_redirect_uris: undefined },
      status: 200,
    },
    'may not send logout tokens elsewhere': {
      changes: { backchannel_logout_uri: 'https://evil.example.com/logout' },
      status: 400,
    },
    'may not take other keys': {
      changes: { jwks_uri: 'https://evil.example.com/jwks' },
      status: 400,
    },
    'may not take another sector': {
      changes: { sector_identifier_uri: 'https://evil.example.com/sector' },
      status: 400,
    },
    'may not widen its scope': {
      held: { scope: 'openid' },
      changes: { scope: 'openid profile' },
      status: 400,
    },
    'may not leave out its scope': { held: { scope: 'openid' }, changes: { scope: undefined }, status: 400 },
    'may narrow its scope': {
      held: { scope: 'openid profile' },
      changes: { scope: 'openid' },
      status: 200,
    },
    'may not change its subject_type': { changes: { subject_type: 'pairwise' }, status: 400 },
    'may not drop its logout, also where it may be unended': {
      held: { impersonation_sessions_unended: true },
      changes: { backchannel_logout_uri: undefined, backchannel_logout_session_required: undefined },
      status: 400,
    },
  }
  for (const [what, { held = {}, changes, status }] of Object.entries(updates))
    it(`and is open ${what} by an update`, async () => {
      const { scene, created, update } = await register(held, { policies: ['impersonation'] })
      try {
        expect(created.status, JSON.stringify(created.body)).to.equal(201)
        const updated = await update(changes)
        expect(updated.status, JSON.stringify(updated.body)).to.equal(status)
        const members = Object.keys(changes).join('|')
        if (status === 400)
          expect(updated.body.error_description).to.match(new RegExp(`^(${members}) may (not|only)`))
      } finally {
        await scene.close()
      }
    })
})
