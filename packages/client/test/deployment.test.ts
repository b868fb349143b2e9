/** The client against a whole deployment, as a backend and an API call it. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { ClientSecretPost, None } from 'oauth4webapi'
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import { machineClient, webClient } from '../../../fixtures/clients.ts'
import { API, OPAQUE_API, useDeployment } from '../../../fixtures/deployment.ts'
import { signingKey } from '../../../fixtures/keys.ts'
import { manage } from '../../../fixtures/management.ts'
import { apiClient, BILLING, downstream, LEDGER, ownToken, viewed } from '../../../fixtures/on-behalf-of.ts'
import { createImpersonationClient, type ImpersonationClientOptions, type ListRequest } from '../src/index.ts'
import { errorOf, ID, shownOf } from './calling.ts'

const KEY = signingKey('ES256', 'of-the-backend')
const { d: _, ...PUBLIC } = KEY as Record<string, unknown>

describe('client: a deployment', () => {
  const clients = [
    machineClient({ client_id: 'creator', scope: 'subject-tokens:create' }),
    machineClient({
      client_id: 'signer',
      client_secret: undefined,
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
      jwks: { keys: [PUBLIC] } as never,
    }),
    machineClient({ client_id: 'poster', token_endpoint_auth_method: 'client_secret_post' }),
  ]
  const deployment = useDeployment(downstream({}, { clients }))

  const connect = (options: Partial<ImpersonationClientOptions> = {}) =>
    createImpersonationClient({
      issuer: deployment.issuer,
      clientId: 'backend',
      ...(!options.privateKey && !options.clientAuthentication && { clientSecret: 'backend-secret' }),
      ...options,
    })
  const connectWeb = () =>
    connect({ clientId: webClient().client_id, clientSecret: String(webClient().client_secret) })

  const expectRefused = async (call: Promise<unknown>, status: number, code: string) =>
    expect(await errorOf(call)).to.include({ status, code })

  /** The ids of a list, read to its end. */
  const idsOf = async (request: ListRequest): Promise<string[]> => {
    const ids: string[] = []
    for await (const { id } of connect().list(request)) ids.push(id)
    return ids
  }

  /** A backend, and how often it asked for a path that ends like this. */
  function watched() {
    const paths: string[] = []
    const backend = connect({
      fetch: (input, init) => {
        paths.push(new URL(input instanceof Request ? input.url : input).pathname)
        return fetch(input, init)
      },
    })
    return { backend, count: (end: string) => paths.filter((path) => path.endsWith(end)).length }
  }

  it('issues, shows, lists and exchanges', async () => {
    const backend = connect()
    const request = {
      userId: 'alice',
      actorId: 'bob',
      clientId: 'web',
      resource: API,
      scope: 'orders:read',
      expiresIn: 60,
      context: { ticketId: 'T-1' },
    }
    const { subjectToken, expiresIn, id } = await backend.issue(request)
    expect(subjectToken).to.match(/^sub_/)
    expect(expiresIn).to.equal(60)
    expect(await backend.get(id)).to.include({ id, userId: 'alice', actorId: 'bob', state: 'active' })

    const token = await connectWeb().exchange({
      subjectToken,
      actorToken: await actorToken(deployment),
      resource: API,
      scope: 'orders:read',
    })
    expect(token).to.have.all.keys('accessToken', 'expiresIn', 'scope')
    expect([token.expiresIn, token.scope]).to.deep.equal([600, 'orders:read'])
    expect(decodeJwt(token.accessToken)).to.deep.include({ sub: 'alice', aud: API, act: { sub: 'bob' } })

    const record = await backend.get(id)
    expect(record).to.include({ state: 'consumed', usedBy: 'web' })
    expect(record.actor).to.deep.equal({ sub: 'bob', clientId: 'spa' })
    expect(record.context).to.deep.equal({ ticketId: 'T-1' })
    expect((await backend.listPage({ userId: 'alice', limit: 1 })).items).to.deep.equal([record])
  })

  it('exchanges without actor and scope, for an opaque token', async () => {
    const { subjectToken } = await connect().issue({ userId: 'alice' })
    const token = await connectWeb().exchange({ subjectToken, resource: OPAQUE_API })
    expect(token).to.have.all.keys('accessToken', 'expiresIn')
    expect(token.accessToken).not.to.include('.')
  })

  it('lists everything that matches, page by page, and stops when the reader does', async () => {
    const { backend, count } = watched()
    const ids: string[] = []
    for (const _ of Array(5)) ids.unshift((await backend.issue({ userId: 'carol' })).id)
    expect(await idsOf({ userId: 'carol', limit: 2 })).to.deep.equal(ids)
    const before = count('/api/subject-tokens')
    for await (const _ of backend.list({ userId: 'carol', limit: 2 })) break
    expect(count('/api/subject-tokens') - before).to.equal(1)
    const [, second = ''] = ids
    expect(await idsOf({ userId: 'carol', cursor: second, state: undefined })).to.deep.equal(ids.slice(2))
  })

  it('stops one, with who and why, and everything of a user, an actor or a backend', async () => {
    const backend = connect()
    const { id } = await backend.issue({ userId: 'alice', actorId: 'frank' })
    const words = { by: 'dana', reason: 'ended by the customer' }
    expect(await backend.stop({ id, ...words })).to.deep.equal({ revoked: 1 })
    expect(await backend.stop({ id, by: 'someone else' })).to.deep.equal({ revoked: 0 })
    expect((await backend.get(id)).revocation).to.deep.equal({ cause: 'api', client: 'backend', ...words })
    await expectRefused(backend.stop({ id: ID }), 404, 'not_found')

    for (const whom of [{ userId: 'erin' }, { actorId: 'frank' }, { createdBy: 'creator' }]) {
      const issuer = whom.createdBy ? connect({ clientId: 'creator' }) : backend
      const request = { userId: 'erin', actorId: 'frank' }
      const issued = await Promise.all([issuer.issue(request), issuer.issue(request)])
      const { revoked } = await backend.stop(whom as { userId: string })
      expect(revoked).to.be.at.least(2)
      for (const one of issued) expect((await backend.get(one.id)).state).to.equal('revoked')
    }
  })

  it('stops in the word of the engineer, and says which record goes on', async () => {
    const backend = connect()
    const resource = [API, OPAQUE_API]
    const issued = await Promise.all(
      [1, 2].map(() => backend.issue({ userId: 'carol', resource, use: 'exchange' })),
    )
    const [first = '', second = ''] = issued.map(({ id }) => id)
    expect((await backend.get(first)).resource).to.deep.equal(resource)
    const continued = { id: first, cause: 'continued', continuedBy: second, by: 'sam' } as const
    expect(await backend.stop(continued)).to.deep.equal({ revoked: 1 })
    expect((await backend.get(first)).revocation).to.include({ cause: 'continued', continuedBy: second })
    expect(await backend.stop({ id: second, cause: 'self' })).to.deep.equal({ revoked: 1 })
    expect((await backend.get(second)).revocation).to.deep.equal({ cause: 'self', client: 'backend' })
    await expectRefused(backend.stop({ ...continued, continuedBy: first }), 400, 'invalid_request')
  })

  it('lists what no one has looked into, and acknowledges it', async () => {
    const backend = connect()
    const web = connectWeb()
    const { id, subjectToken } = await backend.issue({ userId: 'bob', context: { ticketId: 'T-7' } })
    const says = { by: 'dana', note: 'a double click' }
    expect((await errorOf(backend.acknowledge(id, says))).status).to.equal(409)
    await web.exchange({ subjectToken, resource: API })
    const replayed = await errorOf(web.exchange({ subjectToken, resource: API }))
    const description = 'subject_token is invalid'
    expect(replayed).to.include({ status: 400, code: 'invalid_request', description })
    const open = () => idsOf({ userId: 'bob', unacknowledged: true, ticketId: 'T-7', jti: id })
    expect(await open()).to.deep.equal([id])
    const { replay } = await backend.get(id)
    expect((await errorOf(backend.acknowledge(id, { ...says, replayedAt: null }))).status).to.equal(409)
    expect(await backend.acknowledge(id, { ...says, replayedAt: replay?.at ?? 0 })).to.equal(undefined)
    expect((await backend.get(id)).acknowledged?.[0]).to.include(says)
    expect(await open()).to.deep.equal([])
  })

  describe('authenticates', () => {
    const ways: [title: string, options: Partial<ImpersonationClientOptions>][] = [
      ['by secret', {}],
      ['by private key', { clientId: 'signer', privateKey: KEY as never }],
      [
        'by a private key without alg, of which the curve says it',
        { clientId: 'signer', privateKey: { ...KEY, alg: undefined } as never },
      ],
      [
        'by a function of oauth4webapi',
        { clientId: 'poster', clientAuthentication: ClientSecretPost('backend-secret') },
      ],
    ]
    for (const [title, options] of ways) {
      it(title, async () => {
        const { id } = await connect(options).issue({ userId: 'alice' })
        expect((await connect().get(id)).createdBy).to.equal(options.clientId ?? 'backend')
      })
    }

    it('and says so when the key cannot be imported, without it', async () => {
      const error = await errorOf(
        connect({ clientId: 'signer', privateKey: { ...KEY, x: 'short' } as never }).issue({ userId: 'a' }),
      )
      expect([error.status, error.code]).to.deep.equal([0, 'no_answer'])
      expect(error.description).to.equal('the option privateKey cannot be imported')
      expect(shownOf(error)).not.to.include(KEY.d)
    })
  })

  describe('requests tokens', () => {
    it('for the scope of the call only: a client that may only create creates', async () => {
      const creator = connect({ clientId: 'creator' })
      const { id } = await creator.issue({ userId: 'alice' })
      const error = await errorOf(creator.get(id))
      expect(error.code).to.equal('invalid_scope')
      expect(await creator.issue({ userId: 'alice' })).to.have.property('id')
    })

    it('once for all who need one at the same time, and once for each scope', async () => {
      const { backend, count } = watched()
      const issued = await Promise.all(Array.from({ length: 20 }, () => backend.issue({ userId: 'alice' })))
      expect([count('/openid-configuration'), count('/oidc/token')]).to.deep.equal([1, 1])
      await Promise.all(issued.map(({ id }) => backend.get(id)))
      expect([count('/openid-configuration'), count('/oidc/token')]).to.deep.equal([1, 2])
    })

    it('also when the caller who caused it has gone, for the others', async () => {
      const { backend, count } = watched()
      const impatient = new AbortController()
      const first = backend.issue({ userId: 'alice' }, { signal: impatient.signal })
      const second = backend.issue({ userId: 'alice' })
      impatient.abort(new Error('gone'))
      expect(await first.catch((error: unknown) => error)).to.equal(impatient.signal.reason)
      expect(await second).to.have.property('subjectToken')
      expect([count('/oidc/token'), count('/api/subject-tokens')]).to.deep.equal([1, 1])
    })
  })

  it('rejects with what the provider says', async () => {
    const missing = await errorOf(connect().get(ID))
    expect(missing).to.include({ status: 404, code: 'not_found', description: 'subject token not found' })
    const malformed = await errorOf(connect().issue({ userId: 'alice', expiresIn: 0.5 }))
    expect([malformed.status, malformed.code]).to.deep.equal([400, 'invalid_request'])
    expect(malformed.description).to.match(/^expiresIn /)
    await expectRefused(connect({ clientSecret: 'wrong' }).issue({ userId: 'alice' }), 401, 'invalid_client')
    await expectRefused(
      connect({ clientAuthentication: None() }).issue({ userId: 'alice' }),
      401,
      'invalid_client',
    )
  })

  describe('on behalf of a user', () => {
    const connectApi = (clientSecret = String(apiClient().client_secret)) =>
      connect({ clientId: apiClient().client_id, clientSecret })

    it('exchanges a token as often as it is needed, and keeps who acts', async () => {
      const { accessToken: received } = await viewed(deployment)
      const request = { subjectToken: received, resource: BILLING, scope: 'orders:read' }
      const orders = connectApi()
      const tokens = [await orders.onBehalfOf(request), await orders.onBehalfOf(request)]
      for (const token of tokens) {
        expect(token).to.have.all.keys('accessToken', 'expiresIn', 'scope')
        expect([token.scope, token.expiresIn <= 600]).to.deep.equal(['orders:read', true])
        expect(decodeJwt(token.accessToken)).to.deep.include({
          sub: 'alice',
          aud: BILLING,
          act: { sub: 'orders-api', client_id: 'orders-api', act: { sub: 'bob' } },
        })
      }
      const [one, other] = tokens.map(({ accessToken }) => decodeJwt(accessToken).jti)
      expect(one).not.to.equal(other)
    })

    it('rejects with what the provider says, and holds no token', async () => {
      const { accessToken: received, id } = await viewed(deployment)
      const request = { subjectToken: received, resource: BILLING, scope: 'orders:read' }
      const refused: [expected: string, attempt: () => Promise<unknown>][] = [
        ['400 invalid_target', () => connectApi().onBehalfOf({ ...request, resource: LEDGER })],
        ['400 invalid_scope', () => connectApi().onBehalfOf({ ...request, scope: 'bills:read' })],
        ['401 invalid_client', () => connectApi('another-secret').onBehalfOf(request)],
        ['400 invalid_request', () => connectApi().onBehalfOf({ ...request, subjectToken: `${received}x` })],
        [
          '400 invalid_request',
          async () => {
            expect((await manage(deployment, 'DELETE', `/${id}`)).status).to.equal(204)
            return connectApi().onBehalfOf(request)
          },
        ],
      ]
      for (const [expected, attempt] of refused) {
        const error = await errorOf(attempt())
        expect(`${error.status} ${error.code}`).to.equal(expected)
        expect(shownOf(error)).not.to.include(received)
      }
    })

    it('is refused for an application that is not registered as an API', async () => {
      const request = { subjectToken: await ownToken(deployment), resource: BILLING }
      await expectRefused(connectWeb().onBehalfOf(request), 400, 'unauthorized_client')
    })
  })
})
