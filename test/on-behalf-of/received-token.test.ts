/** Which tokens an API may exchange (protocol.md §8.2): valid, for it, and what began as an impersonation stays one. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Configuration } from 'oidc-provider'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { publicClient } from '../../fixtures/clients.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { DATABASES } from '../../fixtures/databases.ts'
import {
  API,
  type Deployment,
  OPAQUE_API,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import type { Signing } from '../../fixtures/jwts.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { revoke, revokeWhere } from '../../fixtures/management.ts'
import {
  apiClient,
  BILLING,
  billingApi,
  downstream,
  LEDGER,
  ownToken,
  passedOn,
  passOn,
  viewed,
} from '../../fixtures/on-behalf-of.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { impersonate, statusOf } from '../../fixtures/status-lists.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { expectNotPassedOn } from './refusals.ts'

const pairwiseConfiguration: Configuration = {
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: (_ctx, accountId, client) => `${accountId}@${client.clientId}`,
}
const pairwise = publicClient({ client_id: 'pairwise', subject_type: 'pairwise' })
const pairwiseBilling = billingApi({ client_id: 'pairwise-api', subject_type: 'pairwise' })
const wide = apiClient({ client_id: 'wide-api', token_exchange_audiences: [API, OPAQUE_API, 'urn:other'] })

/** A user's own token, with changes. */
const jwt = (deployment: Deployment, changes: Readonly<Record<string, unknown>> = {}, signing?: Signing) =>
  actorJwt(deployment, { sub: 'alice', scope: 'orders:read', ...changes }, signing)

describe('on behalf of: the received token', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment(
      downstream(
        { onBehalfOf: { hops: 2 }, maxDelegationDepth: 2 },
        { clients: [pairwise, pairwiseBilling, wide], configuration: pairwiseConfiguration },
      ),
    )
  })
  after(() => deployment.close())

  const refuses = (token: string, reason: string, client = apiClient()) =>
    expectNotPassedOn(deployment, () => passOn(deployment, token, {}, { client }), { reason })

  it('is accepted as it is, so that each change below is the reason for the refusal', async () => {
    await passedOn(deployment, await jwt(deployment))
    await passedOn(deployment, await jwt(deployment, { scope: undefined }))
  })

  const malformed = 'ERR_JWT_CLAIM_VALIDATION_FAILED'
  const cases: [title: string, reason: string, changes: object, signing?: Signing][] = [
    ['expired', 'ERR_JWT_EXPIRED', { exp: now() - 1 }],
    ['without an expiry', malformed, { exp: undefined }],
    ['not valid yet', malformed, { nbf: now() + 3600 }],
    ['of another issuer', malformed, { iss: 'https://other.example.com/oidc' }],
    ['of another type', malformed, {}, { header: { typ: 'JWT' } }],
    [
      'signed by a stranger',
      'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
      {},
      { key: signingKey('ES256', SIGNING_KEY.kid) },
    ],
    ['of a client for itself', 'a token of the client itself', { sub: 'spa' }],
    ['of a client that is gone', 'its client is gone', { client_id: 'gone' }],
    [
      'of a client with pairwise subjects',
      'of a client with pairwise subjects, and it has no status',
      { client_id: 'pairwise' },
    ],
    ['of a user that is gone', 'the user is gone or disabled', { sub: 'nobody' }],
    ['of an alias', 'the user is gone or disabled', { sub: 'alias:alice' }],
    ['for another audience', 'for another audience', { aud: BILLING }],
    ['for an audience that differs in case', 'for another audience', { aud: API.toUpperCase() }],
    ['for an audience that begins like its own', 'for another audience', { aud: `${API}/` }],
    ['for its audience and another', 'for another audience', { aud: [API, BILLING] }],
    ['for another audience and its own', 'for another audience', { aud: [BILLING, API] }],
    ['for its audience, as a list', 'for another audience', { aud: [API] }],
    ['for no audience', 'for another audience', { aud: undefined }],
    ['for the management API', 'for another audience', { aud: 'MANAGEMENT' }],
    ['in which a person acts, without status', 'someone acts, and it has no status', { act: { sub: 'bob' } }],
    [
      'in which a person acts behind an API, without status',
      'someone acts, and it has no status',
      { act: { sub: 'a-api', client_id: 'a-api', act: { sub: 'bob' } } },
    ],
    ['with an act that is null', 'a malformed act claim', { act: null }],
    ['with an act that is a text', 'a malformed act claim', { act: 'bob' }],
    ['with an empty act', 'a malformed act claim', { act: {} }],
    ['with an actor without a name', 'a malformed act claim', { act: { sub: '' } }],
    ['with an actor of another issuer', 'a malformed act claim', { act: { sub: 'bob', iss: 'x' } }],
    ['with an API of two names', 'a malformed act claim', { act: { sub: 'a', client_id: 'b' } }],
    ['with an API without a sub', 'a malformed act claim', { act: { client_id: 'b' } }],
    [
      'with an API whose client_id is no text',
      'a malformed act claim',
      { act: { sub: 'b', client_id: ['b'] } },
    ],
    [
      'with an API behind a person',
      'a malformed act claim',
      { act: { sub: 'bob', act: { sub: 'a-api', client_id: 'a-api' } } },
    ],
  ]
  for (const [title, reason, changes, signing] of cases) {
    it(`is refused: ${title}`, async () => {
      const own = {
        ...changes,
        ...(Reflect.get(changes, 'aud') === 'MANAGEMENT' && { aud: `${deployment.baseUrl}/api` }),
      }
      await refuses(await jwt(deployment, own, signing), reason)
    })
  }

  it('may be for any one of the audiences of the client, and not for two of them', async () => {
    for (const aud of [API, OPAQUE_API, 'urn:other'])
      await passedOn(deployment, await jwt(deployment, { aud }), {}, { client: wide })
    await refuses(await jwt(deployment, { aud: [API, 'urn:other'] }), 'for another audience', wide)
  })

  it('that is opaque is refused where introspection would call it inactive', async () => {
    const request = { accountId: 'alice', audience: OPAQUE_API, scope: 'orders:read' }
    const { AccessToken, Grant } = deployment.provider
    await passedOn(deployment, await actorToken(deployment, request))

    const gone = await actorToken(deployment, request)
    await AccessToken.adapter.destroy(gone)
    await refuses(gone, 'unknown or expired')

    const ended = await actorToken(deployment, request)
    await Grant.adapter.destroy((await AccessToken.find(ended))?.grantId ?? '')
    await refuses(ended, 'its grant has ended')

    const moved = await actorToken(deployment, request)
    const { grantId = '' } = (await AccessToken.find(moved)) ?? {}
    await Grant.adapter.upsert(
      grantId,
      { ...(await Grant.adapter.find(grantId)), accountId: 'dave' } as never,
      600,
    )
    await refuses(moved, 'its grant belongs to another client or account')

    const itself = await actorToken(deployment, { ...request, accountId: 'spa' })
    await refuses(itself, 'a token of the client itself')
    await refuses(await actorToken(deployment, { ...request, audience: BILLING }), 'for another audience')
    await refuses(
      await actorToken(deployment, { accountId: 'alice', scope: 'orders:read' }),
      'for another audience',
    )
    await refuses(
      await actorToken(deployment, { ...request, clientId: 'pairwise' }),
      'of a client with pairwise subjects, and it has no status',
    )
    await refuses('x'.repeat(43), 'unknown or expired')
  })

  it('that ends with the session of its user is refused after the session', async () => {
    const token = await actorToken(deployment, { accountId: 'alice', audience: OPAQUE_API })
    const { adapter } = deployment.provider.AccessToken
    const { Session } = deployment.provider
    const stored = (await adapter.find(token)) ?? expect.fail()
    const authorizations = { spa: { grantId: stored.grantId } }
    const session = Object.assign(new Session(), { accountId: 'alice', authorizations })
    await session.save(600)
    const bound = { ...stored, expiresWithSession: true, sessionUid: session.uid }
    await adapter.upsert(token, bound as never, 600)
    await passedOn(deployment, token)
    await session.destroy()
    await refuses(token, 'unknown or expired')
  })

  it('ends to the second', async () => {
    const clock = stopClock()
    try {
      const token = await jwt(deployment, { exp: now() + 60 })
      clock.tick(59)
      expect((await passedOn(deployment, token)).claims.exp).to.equal(now() + 1)
      clock.tick(1)
      await refuses(token, 'ERR_JWT_EXPIRED')
    } finally {
      clock.restore()
    }
  })

  it('that is remembered is judged anew: by its client, its user and its record', async () => {
    const token = await jwt(deployment)
    await passedOn(deployment, token)
    await refuses(token, 'for another audience', billingApi())
    const { accessToken, id } = await viewed(deployment)
    await passedOn(deployment, accessToken)
    await revoke(deployment, id)
    await refuses(accessToken, 'stopped')
  })

  describe('of an impersonation', () => {
    it('leads to the record that its status names, and to the people there', async () => {
      const { accessToken } = await viewed(deployment)
      const status = { status_list: statusOf(accessToken) }
      const wrong: [claims: object, reason: string][] = [
        [{ sub: 'dave', act: { sub: 'bob' }, status }, 'its status is of another user'],
        [{ status }, 'its status is of other people'],
        [{ act: { sub: 'bob', act: { sub: 'carol' } }, status }, 'its status is of other people'],
        [{ act: { sub: 'a', client_id: 'a' }, status }, 'its status is of other people'],
        [{ act: { sub: 'bob' }, status: {} }, 'its status is in no list of ours'],
        [{ act: { sub: 'bob' }, status: null }, 'its status is in no list of ours'],
        [
          {
            act: { sub: 'bob' },
            status: { status_list: { ...statusOf(accessToken), uri: 'https://elsewhere.example.com/0' } },
          },
          'its status is in no list of ours',
        ],
        [
          { act: { sub: 'bob' }, status: { status_list: { ...statusOf(accessToken), idx: 131_000 } } },
          'its status has no record',
        ],
        [
          { sub: 'alice@pairwise', client_id: 'spa', act: { sub: 'bob' }, status },
          'its status is of another user',
        ],
        [
          { sub: 'alice', client_id: 'pairwise', act: { sub: 'bob' }, status },
          'its status is of another user',
        ],
        [
          { sub: 'alice@spa', client_id: 'pairwise', act: { sub: 'bob' }, status },
          'its status is of another user',
        ],
      ]
      for (const [claims, reason] of wrong) await refuses(await jwt(deployment, { ...claims }), reason)

      // The record decides, not the token.
      const claims = { act: { sub: 'carol' }, status }
      const { claims: issued } = await passedOn(deployment, await jwt(deployment, claims))
      expect(issued.act).to.deep.equal({ sub: 'orders-api', client_id: 'orders-api', act: { sub: 'bob' } })
    })

    it('is refused when the record is of a token that was not exchanged', async () => {
      const { id } = await issue(deployment)
      const { accessToken } = await viewed(deployment)
      const store = createSubjectTokenStore(deployment.database.sequelize)
      const { statusIndex: idx } = (await store.find(deployment.issuer, id)) ?? expect.fail()
      const status = { status_list: { ...statusOf(accessToken), idx } }
      await refuses(await jwt(deployment, { status }), 'its status is of a token that was not exchanged')
    })

    it('of a pairwise client names the user by that, and the record says who it is', async () => {
      const { subjectToken } = await issue(deployment)
      const { body } = await exchange(deployment, { subject_token: subjectToken }, { client: pairwise })
      expect(decodeJwt(body.access_token).sub).to.equal('alice@pairwise')
      const { claims } = await passedOn(deployment, body.access_token)
      expect(claims).to.include({ sub: 'alice' })
    })

    it('that is opaque names the user by account, whatever the subjects of its client are', async () => {
      const { subjectToken } = await issue(deployment)
      const actor = withActor(await actorToken(deployment))
      const { body } = await exchange(
        deployment,
        { subject_token: subjectToken, resource: OPAQUE_API, ...actor },
        { client: pairwise },
      )
      const { claims } = await passedOn(deployment, body.access_token)
      expect(claims.sub).to.equal('alice')
      expect(claims.act).to.deep.equal({ sub: 'orders-api', client_id: 'orders-api', act: { sub: 'bob' } })
    })

    it('is issued to a pairwise API with its own name for the user and the people, not for the APIs', async () => {
      const { accessToken } = await viewed(deployment)
      const child = await passedOn(deployment, accessToken, { scope: 'orders:read' })
      const { claims, accessToken: next } = await passedOn(
        deployment,
        child.accessToken,
        { resource: LEDGER },
        { client: pairwiseBilling },
      )
      expect(claims).to.deep.include({
        sub: 'alice@pairwise-api',
        client_id: 'pairwise-api',
        act: {
          sub: 'pairwise-api',
          client_id: 'pairwise-api',
          act: { sub: 'orders-api', client_id: 'orders-api', act: { sub: 'bob@pairwise-api' } },
        },
      })
      expect(decodeJwt(next).status).to.deep.equal(decodeJwt(accessToken).status)
    })

    it('that is opaque is refused without its record, and with that of another', async () => {
      const { accessToken } = await viewed(deployment, { resource: OPAQUE_API, scope: 'orders:read' })
      const other = await viewed(deployment)
      const { adapter } = deployment.provider.AccessToken
      const stored = (await adapter.find(accessToken)) ?? expect.fail()
      const rewrite = (extra: object | undefined) =>
        adapter.upsert(accessToken, { ...stored, extra } as never, 600)
      await rewrite(undefined)
      await refuses(accessToken, 'its status is in no list of ours')
      await rewrite({ act: { sub: 'bob' }, status: { status_list: statusOf(other.accessToken) } })
      await refuses(accessToken, 'its status is of another token')
      await rewrite(stored.extra as object)
      await passedOn(deployment, accessToken)
    })

    it('that is opaque names the user and the people of its record, or is refused', async () => {
      const { accessToken } = await viewed(deployment, { resource: OPAQUE_API, scope: 'orders:read' })
      const { AccessToken, Grant } = deployment.provider
      const stored = (await AccessToken.adapter.find(accessToken)) ?? expect.fail()
      const { grantId = '', extra } = stored
      const rewrite = async (changes: object) => {
        const grant = await Grant.adapter.find(grantId)
        await Grant.adapter.upsert(grantId, { ...grant, accountId: 'alice', ...changes } as never, 600)
        await AccessToken.adapter.upsert(accessToken, { ...stored, ...changes } as never, 600)
      }
      await rewrite({ accountId: 'dave' })
      await refuses(accessToken, 'its status is of another user')
      for (const act of [undefined, { sub: 'bob', act: { sub: 'carol' } }]) {
        await rewrite({ extra: { ...Object(extra), act } })
        await refuses(accessToken, 'its status is of other people')
      }
      await rewrite({})
      await passedOn(deployment, accessToken)
    })

    it('is refused on another issuer of the same database', async () => {
      const options = { statusList: { uri: `${deployment.baseUrl}/api/status-lists` } }
      await withDeployment(downstream(options, { database: deployment.database }), async (other) => {
        const { accessToken } = await impersonate(other)
        const status = { status_list: statusOf(accessToken) }
        await refuses(await jwt(deployment, { status }), 'its status has no record')
      })
    })

    it('is a 503 while storage is down, with one event, and never a bad token', async () => {
      const { database, issuer, baseUrl } = deployment
      const { accessToken } = await viewed(deployment)
      const real = createSubjectTokenStore(database.sequelize)
      const findByStatusIndex = () => Promise.reject(new Error('down'))
      const options = {
        statusList: { uri: `${baseUrl}/api/status-lists` },
        store: { ...real, findByStatusIndex },
      }
      await withDeployment({ ...downstream(options), database, issuer }, async (down) => {
        const response = await passOn(down, accessToken)
        expect([response.status, response.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
        expect(response.headers.get('retry-after')).to.equal('5')
        expect(down.events.map(({ name }) => name)).to.deep.equal(['access_token.refused'])
        expect((await passOn(down, await ownToken(down))).status).to.equal(200)
      })
    })
  })

  it('is refused if a host has status lists of its own', () => {
    const status = { status_list: { idx: 1, uri: 'https://lists.example.com/1' } }
    const extraTokenClaims = (_ctx: unknown, token: object) =>
      Reflect.get(token, 'gty') === 'authorization_code' ? { status } : undefined
    return withDeployment(downstream({}, { configuration: { extraTokenClaims } }), async (own) => {
      for (const token of [
        await ownToken(own),
        await actorToken(own, { accountId: 'alice', audience: OPAQUE_API, scope: 'orders:read' }),
      ]) {
        await expectNotPassedOn(own, () => passOn(own, token), { reason: 'its status is in no list of ours' })
      }
    })
  })
})

for (const kind of DATABASES) {
  describe(`on behalf of: one stop for the whole tree, on ${kind}`, () => {
    let deployment: Deployment
    beforeOn(kind, async () => {
      deployment = await startDeployment({ ...downstream({ onBehalfOf: { hops: 2 } }), database: kind })
    })
    after(() => deployment?.close())

    const stops: [title: string, stop: (id: string, subjectToken: string) => Promise<unknown>][] = [
      ['the record', (id) => revoke(deployment, id)],
      ['the user', () => revokeWhere(deployment, { userId: 'alice' })],
      ['the person who acts', () => revokeWhere(deployment, { actorId: 'bob' })],
      ['the backend', () => revokeWhere(deployment, { createdBy: 'backend' })],
    ]
    for (const [title, stop] of stops) {
      it(`by ${title}: neither the token nor what was exchanged for it has children any more`, async () => {
        const { accessToken, id } = await viewed(deployment)
        const opaque = await viewed(deployment, { resource: OPAQUE_API, scope: 'orders:read' })
        const child = await passedOn(deployment, accessToken)
        await stop(id, accessToken)
        if (title === 'the record') await revoke(deployment, opaque.id)
        await expectNotPassedOn(deployment, () => passOn(deployment, accessToken), { reason: 'stopped' })
        const next = () =>
          passOn(deployment, child.accessToken, { resource: LEDGER }, { client: billingApi() })
        await expectNotPassedOn(deployment, next, { reason: 'stopped' })
        const { body } = await passOn(deployment, opaque.accessToken)
        expect(body.error_description).to.equal('subject_token is invalid')
        expect(statusOf(child.accessToken)).to.deep.equal(statusOf(accessToken))
      })
    }

    it('by the replay of its subject token', async () => {
      const { subjectToken, accessToken } = await impersonate(deployment)
      const child = await passedOn(deployment, accessToken)
      await exchange(deployment, { subject_token: subjectToken })
      const next = () => passOn(deployment, child.accessToken, { resource: LEDGER }, { client: billingApi() })
      await expectNotPassedOn(deployment, next, { reason: 'stopped' })
    })

    it('not by the client id of an API, which stops nothing', async () => {
      const { accessToken } = await viewed(deployment)
      await passedOn(deployment, accessToken)
      const { body } = await revokeWhere(deployment, { actorId: 'orders-api' })
      expect(body).to.deep.equal({ revoked: 0 })
      await passedOn(deployment, accessToken)
    })
  })
}
