/** What the tokens of a session hold, and how long they live (protocol.md §10.5): the record decides, in each request anew. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ClientMetadata } from 'oidc-provider'
import { introspectingClient } from '../../fixtures/clients.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { credentials, form, send } from '../../fixtures/http.ts'
import { type Scene, shop, startScene } from '../spec/arriving.ts'

type Given = NonNullable<Parameters<typeof startScene>[0]>

interface Opened {
  readonly scene: Scene
  readonly id: string
  readonly answer: Awaited<ReturnType<Scene['authorize']>>
  redeem(changes?: Record<string, string | null>): ReturnType<Scene['redeem']>
}

async function opened(
  given: Given,
  use: (opened: Opened) => Promise<void>,
  request: Record<string, string | null> = {},
): Promise<void> {
  const scene = await startScene(given)
  try {
    const browser = await scene.signedIn()
    const { token, id } = await scene.issue({ context: { ticketId: 'T-7' } })
    await scene.arm(browser, token)
    const answer = await scene.authorize(browser, request)
    expect(answer.location?.searchParams.get('code'), String(answer.location)).to.be.a('string')
    await use({ scene, id, answer, redeem: (changes) => scene.redeem(answer, changes) })
    expect(scene.errors).to.deep.equal([])
  } finally {
    await scene.close()
  }
}

const introspect = async ({ issuer }: Scene, token: string) => {
  const auth = credentials(introspectingClient())
  const body = form({ ...auth.body, token })
  const { body: said } = await send(`${issuer}/token/introspection`, {
    method: 'POST',
    headers: auth.headers,
    body,
  })
  return said
}

const FOR_API = { scope: 'openid orders:read', resource: API }
const FOR_OPAQUE = { scope: 'openid orders:read', resource: OPAQUE_API }

describe('the tokens of a session', () => {
  it('are an ID token with act and sid, and without acr and amr', () =>
    opened(
      {},
      async ({ id, redeem }) => {
        const { body } = await redeem()
        const claims = decodeJwt(body.id_token)
        expect(claims).to.deep.include({ sub: 'alice', act: { sub: 'bob' }, sid: `imp_${id}`, aud: 'shop' })
        expect(claims.auth_time).to.be.closeTo(now() - 10, 5)
        expect(claims).not.to.have.any.keys('acr', 'amr', 'status')
      },
      { max_age: '3600' },
    ))

  it('are a JWT that leads to its record', () =>
    opened(
      {},
      async ({ id, redeem }) => {
        const { body } = await redeem({ resource: API })
        const claims = decodeJwt(body.access_token)
        expect(claims).to.deep.include({ sub: 'alice', act: { sub: 'bob' }, aud: API, client_id: 'shop' })
        expect(claims.jti).to.match(new RegExp(`^${id}\\.[\\w-]{22}$`))
        expect(claims.status).to.have.nested.property('status_list.idx')
      },
      FOR_API,
    ))

  it('are an opaque token that introspection shows with act and status', () =>
    opened(
      {},
      async ({ scene, id, redeem }) => {
        const { body } = await redeem({ resource: OPAQUE_API })
        const said = await introspect(scene, body.access_token)
        expect(said).to.deep.include({ active: true, sub: 'alice', act: { sub: 'bob' }, sid: `imp_${id}` })
        expect(said.status).to.have.nested.property('status_list.idx')
      },
      FOR_OPAQUE,
    ))

  it('name both people by pairwise identifiers, where the client has them', () =>
    opened(
      {
        clients: [shop({ subject_type: 'pairwise', userinfo_signed_response_alg: 'ES256' })],
        configuration: {
          subjectTypes: ['public', 'pairwise'],
          features: { jwtUserinfo: { enabled: true } },
          pairwiseIdentifier: (_ctx, accountId, { clientId }) => `${accountId} of ${clientId}`,
        },
      },
      async ({ scene, redeem }) => {
        const { body } = await redeem()
        const people = { sub: 'alice of shop', act: { sub: 'bob of shop' } }
        expect(decodeJwt(body.id_token)).to.deep.include(people)
        const userinfo = await scene.userinfo(body.access_token)
        expect(decodeJwt(userinfo.text)).to.deep.include(people)
        const said = await introspect(scene, body.access_token)
        expect(said).to.deep.include(people)
      },
    ))

  it('are never refresh tokens, whatever the deployment says', () =>
    opened(
      {
        clients: [shop({ grant_types: ['authorization_code', 'refresh_token'] })],
        configuration: { issueRefreshToken: () => true, expiresWithSession: () => false },
      },
      async ({ redeem, scene, id }) => {
        const { body } = await redeem()
        expect(body).not.to.have.property('refresh_token')
        expect(body.scope).to.equal('openid')
        const stored = await scene.provider.AccessToken.find(body.access_token)
        expect(stored).to.include({ expiresWithSession: true, sessionUid: `imp_${id}`, grantId: `imp_${id}` })
      },
      { scope: 'openid offline_access', prompt: 'consent' },
    ))

  const longest = { AccessToken: 3600, IdToken: () => 3600, AuthorizationCode: 3600 }
  for (const [how, request, redeeming] of [
    ['without a resource', {}, {}],
    ['for a JWT resource', FOR_API, { resource: API }],
    ['for an opaque resource', FOR_OPAQUE, { resource: OPAQUE_API }],
  ] as const) {
    it(`end with the session ${how}, whatever ttl says`, () =>
      opened(
        {
          sessions: { ttl: 60 },
          configuration: { ttl: longest },
          resources: Object.fromEntries(
            [API, OPAQUE_API].map((audience) => [
              audience,
              {
                scope: 'orders:read',
                audience,
                accessTokenFormat: audience === API ? 'jwt' : 'opaque',
                accessTokenTTL: 3600,
                ...(audience === API && { jwt: { sign: { alg: 'ES256' } } }),
              },
            ]),
          ) as never,
        },
        async ({ scene, id, answer, redeem }) => {
          const endsAt = (await scene.record(id))?.use?.accessToken.expiresAt ?? 0
          expect(endsAt - now()).to.be.within(58, 60)
          const code = await scene.provider.AuthorizationCode.find(
            answer.location?.searchParams.get('code') ?? '',
          )
          expect(code?.exp).to.be.at.most(endsAt)
          const { body } = await redeem(redeeming)
          expect(decodeJwt(body.id_token).exp).to.be.within(endsAt - 2, endsAt)
          const stored = await scene.provider.AccessToken.find(body.access_token)
          const exp = request === FOR_API ? decodeJwt(body.access_token).exp : stored?.exp
          expect(exp).to.equal(endsAt)
          expect(body.expires_in).to.be.within(58, 60)
        },
        request,
      ))
  }

  it('keep shorter lives of the deployment', () =>
    opened({ configuration: { ttl: { AccessToken: 30, IdToken: 40 } } }, async ({ redeem }) => {
      const { body } = await redeem()
      expect(body.expires_in).to.equal(30)
      const { exp = 0, iat = 0 } = decodeJwt(body.id_token)
      expect(exp - iat).to.equal(40)
    }))

  it('take reserved claims from no function of the deployment', () => {
    const wrong = {
      act: { sub: 'carol' },
      sub: 'carol',
      status: 'none',
      sid: 'x',
      cnf: {},
      acr: 'gold',
      kept: 'yes',
    }
    return opened(
      {
        configuration: {
          claims: { openid: ['sub', 'acr', 'kept', 'status'] },
          acrValues: ['gold'],
          extraTokenClaims: () => wrong,
          findAccount: async (_ctx: unknown, accountId: string) => ({
            accountId,
            claims: () => wrong as never,
          }),
          formats: {
            customizers: {
              jwt(_ctx: unknown, _token: unknown, { payload }: { payload: Record<string, unknown> }) {
                payload.act = { sub: 'carol' }
                payload.customized = true
              },
            },
          } as never,
        },
      },
      async ({ scene, redeem }) => {
        const { body } = await redeem({ resource: API })
        const jwt = decodeJwt(body.access_token)
        expect(jwt).to.deep.include({ sub: 'alice', act: { sub: 'bob' }, kept: 'yes', customized: true })
        expect(jwt.status).to.be.an('object')
        expect(jwt).not.to.have.any.keys('sid', 'cnf', 'acr')
        const idToken = decodeJwt(body.id_token)
        expect(idToken).to.deep.include({ sub: 'alice', act: { sub: 'bob' } })
        expect(idToken).not.to.have.any.keys('acr', 'status')
        expect(scene.provider.issuer).to.equal(jwt.iss)
      },
      FOR_API,
    )
  })

  class UserClaims {
    readonly act = { sub: 'carol' }
    readonly acr = 'gold'
    readonly email: string
    constructor(email: string) {
      this.email = email
    }
  }
  const ACCOUNTS: Readonly<Record<string, (accountId: string) => unknown>> = {
    'that is frozen': (accountId) => Object.freeze({ accountId, claims: async () => ({ sub: accountId }) }),
    'whose claims are an instance of a class': (accountId) => ({
      accountId,
      claims: async () => new UserClaims(`${accountId}@example.com`),
    }),
    'whose claims inherit nothing': (accountId) => ({
      accountId,
      claims: async () => Object.assign(Object.create(null), { act: 'none' }),
    }),
    'that has another name the second time': (accountId) => {
      const names = [accountId]
      return {
        get accountId() {
          return names.pop() ?? 'carol'
        },
        claims: async () => ({ sub: accountId }),
      }
    },
    'without claims': (accountId) => ({ accountId, claims: async () => undefined }),
  }
  for (const [what, accountOf] of Object.entries(ACCOUNTS))
    it(`name who acts for an account ${what}`, () =>
      opened(
        {
          configuration: {
            acrValues: ['gold'],
            // At the door the provider looks at an account more than once.
            findAccount: async (_ctx: unknown, accountId: string, source?: object) =>
              (source ? accountOf(accountId) : { accountId, claims: () => ({ sub: accountId }) }) as never,
          },
        },
        async ({ scene, redeem }) => {
          const { body } = await redeem()
          const idToken = decodeJwt(body.id_token)
          expect(idToken).to.deep.include({ sub: 'alice', act: { sub: 'bob' } })
          expect(idToken).not.to.have.property('acr')
          const { body: userinfo } = await scene.userinfo(body.access_token)
          expect(userinfo).to.deep.include({ sub: 'alice', act: { sub: 'bob' } })
        },
      ))

  it('hold what the claims function returned at the arrival, which was asked once', () => {
    const asked: unknown[] = []
    return opened(
      {
        options: {
          getCustomJwtClaims: (question) => {
            asked.push(question)
            return { tier: 'gold' }
          },
        },
      },
      async ({ scene, id, redeem }) => {
        const { body } = await redeem({ resource: API })
        expect(decodeJwt(body.access_token).tier).to.equal('gold')
        expect(decodeJwt(body.id_token)).not.to.have.property('tier')
        expect((await scene.userinfo(body.access_token)).status).to.equal(401)
        const record = await scene.record(id)
        const { at = 0, accessToken } = record?.use ?? {}
        const session = await scene.provider.Session.findByUid(`imp_${id}`)
        expect(session?.state?.claims).to.deep.equal({ tier: 'gold' })
        expect(JSON.stringify([await scene.provider.Grant.find(`imp_${id}`), record])).not.to.include('gold')
        expect(asked).to.have.length(1)
        expect(asked[0]).to.deep.equal({
          token: {
            sub: 'alice',
            aud: [API],
            scope: 'openid orders:read',
            clientId: 'shop',
            iat: (asked[0] as { token: { iat: number } }).token.iat,
            exp: accessToken?.expiresAt,
          },
          context: {
            grant: {
              type: 'urn:ietf:params:oauth:grant-type:token-exchange',
              kind: 'session',
              subjectTokenId: id,
              subjectTokenContext: { ticketId: 'T-7' },
            },
            user: { id: 'alice' },
            client: { id: 'shop' },
            actor: { sub: 'bob' },
          },
          environmentVariables: {},
        })
        expect(at).to.be.closeTo(now(), 5)
      },
      FOR_API,
    )
  })

  it('are not issued if the claims function fails: nothing is spent', async () => {
    const functions: Record<string, () => object> = {
      throws: () => {
        throw new Error('no claims')
      },
      'returns a reserved claim': () => ({ act: { sub: 'carol' } }),
      'returns no object': () => 'claims' as never,
    }
    for (const [what, getCustomJwtClaims] of Object.entries(functions)) {
      const scene = await startScene({ options: { getCustomJwtClaims } })
      try {
        const browser = await scene.signedIn()
        const { token, id } = await scene.issue()
        await scene.arm(browser, token)
        expect((await scene.authorize(browser)).status, what).to.equal(500)
        expect((await scene.record(id))?.use).to.equal(undefined)
      } finally {
        await scene.close()
      }
    }
  })
})

describe('a session that was stopped or has expired', () => {
  it('has no tokens: the code is invalid_grant', () =>
    opened({}, async ({ scene, id, redeem }) => {
      await scene.impersonation.records.stop({ id })
      const { status, body } = await redeem()
      expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
    }))

  it('has no code and no userinfo, also where only the record says that it was stopped', () =>
    opened({}, async ({ scene, id, redeem }) => {
      const { body } = await redeem()
      const { store } = await storeOf(scene)
      await store.revoke(scene.issuer, id, now(), { cause: 'command' })
      const userinfo = await scene.userinfo(body.access_token)
      expect(userinfo.status).to.equal(401)
    }))

  it('lets no code be redeemed, where only the record says that it was stopped', () =>
    opened({}, async ({ scene, id, redeem }) => {
      const { store } = await storeOf(scene)
      await store.revoke(scene.issuer, id, now(), { cause: 'command' })
      const { status, body } = await redeem()
      expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
    }))

  it('has no userinfo once it has expired', async () => {
    const clock = stopClock()
    try {
      await opened({ sessions: { ttl: 60 } }, async ({ scene, redeem }) => {
        const { body } = await redeem()
        expect((await scene.userinfo(body.access_token)).status).to.equal(200)
        clock.tick(60)
        expect((await scene.userinfo(body.access_token)).status).to.equal(401)
      })
    } finally {
      clock.restore()
    }
  })
})

async function storeOf({ impersonation }: Scene) {
  const { insideOf } = await import('../../src/impersonation.ts')
  return insideOf(impersonation)
}

describe('a token of a session that acts, and one that is passed on', () => {
  const clients: readonly ClientMetadata[] = [
    shop({ subject_type: 'pairwise' }),
    {
      client_id: 'orders',
      client_secret: 'orders-secret',
      redirect_uris: [],
      response_types: [],
      grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'],
      token_exchange_audiences: [OPAQUE_API],
      token_exchange_resources: [API],
    },
  ]
  const configuration = {
    subjectTypes: ['public', 'pairwise'] as never,
    pairwiseIdentifier: (_ctx: unknown, accountId: string) => `pairwise ${accountId}`,
  }
  const exchange = (scene: Scene, parameters: Record<string, string>, client: ClientMetadata) => {
    const auth = credentials(client)
    return send(scene.tokenEndpoint, {
      method: 'POST',
      headers: auth.headers,
      body: form({
        ...auth.body,
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        ...parameters,
      }),
    })
  }

  it('is alice, acted for by bob: the API stands before bob, with the same status', () =>
    opened(
      { clients, configuration, options: { onBehalfOf: true } },
      async ({ scene, redeem, id }) => {
        const { body } = await redeem({ resource: OPAQUE_API })
        const parameters = { subject_token: body.access_token, resource: API, scope: 'orders:read' }
        const { status, text, body: passed } = await exchange(scene, parameters, clients[1] as ClientMetadata)
        expect(status, text).to.equal(200)
        const claims = decodeJwt(passed.access_token)
        expect(claims.sub).to.equal('alice')
        expect(claims.act).to.deep.equal({ sub: 'orders', client_id: 'orders', act: { sub: 'bob' } })
        expect(claims.jti).to.match(new RegExp(`^${id}\\.`))
      },
      FOR_OPAQUE,
    ))

  it('does not hide bob when alice acts for another: the chain is that of the record', async () => {
    for (const maxDelegationDepth of [1, 3]) {
      await opened(
        { clients, configuration, options: { maxDelegationDepth } },
        async ({ scene, redeem }) => {
          const { body } = await redeem({ resource: OPAQUE_API })
          const { subjectToken } = await scene.impersonation.records.issue({
            userId: 'carol',
            createdBy: 'test',
          })
          const parameters = {
            subject_token: subjectToken,
            actor_token: body.access_token,
            actor_token_type: 'urn:ietf:params:oauth:token-type:access_token',
            resource: API,
            scope: 'orders:read',
          }
          const web = { client_id: 'web', client_secret: 'web-secret' }
          const { status, body: acted, text } = await exchange(scene, parameters, web)
          if (maxDelegationDepth === 1) {
            expect([status, acted.error]).to.deep.equal([400, 'invalid_request'])
            return
          }
          expect(status, text).to.equal(200)
          expect(decodeJwt(acted.access_token).act).to.deep.equal({ sub: 'alice', act: { sub: 'bob' } })
        },
        FOR_OPAQUE,
      )
    }
  })
})
