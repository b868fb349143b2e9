/** `POST /subject-tokens` with `use: "session"` (protocol.md §2.1, §10.1): a token that opens an application. */
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { API } from '../../fixtures/deployment.ts'
import { list, show } from '../../fixtures/management.ts'
import { description } from '../../fixtures/openapi.ts'
import { idFrom, managementToken, postSubjectToken } from '../../fixtures/requests.ts'
import { newUse } from '../../fixtures/subject-tokens.ts'
import { insideOf } from '../../src/impersonation.ts'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { type Scene, shop, startScene } from '../spec/arriving.ts'

const SESSION = { use: 'session', userId: 'alice', actorId: 'bob', clientId: 'shop' }
const NOT_OPEN = 'clientId must be a client that is open to sessions'

describe('management: a subject token that opens an application', () => {
  let database: Database
  let scene: Scene
  const asked: Record<string, unknown>[] = []
  let isDown = false
  before(async () => {
    database = await openDatabase('sqlite')
    scene = await startScene({
      database,
      clients: [shop(), shop({ client_id: 'closed', impersonation_sessions: undefined })],
      options: {
        store: createSubjectTokenStore(database.sequelize),
        requiredContext: ['reason'],
        isAllowed: ({ stage, use, client, actor }) => {
          asked.push({ stage, use, client, actor })
          return true
        },
      },
      configuration: {
        adapter: (name) => {
          const adapter = createAdapter(database.sequelize)(name)
          const find: typeof adapter.find = async (id) => {
            if (isDown && name === 'Client') throw new Error('private: the disk is gone')
            return adapter.find(id)
          }
          return Object.assign(Object.create(adapter), { find })
        },
        findAccount: (_ctx, name) => {
          const accountId = name.replace(/^alias:/, '')
          return { accountId, claims: () => ({ sub: accountId }) }
        },
      },
    })
  })
  beforeEach(() => {
    for (const told of [asked, scene.events, scene.errors]) told.length = 0
    isDown = false
  })
  after(async () => {
    await scene.close()
    await database.close()
  })

  const post = (changes: object = {}) =>
    postSubjectToken(scene, { ...SESSION, context: { reason: 'a call' }, ...changes })
  const stored = async (): Promise<number> => {
    const sql = 'SELECT COUNT(*) AS count FROM subject_tokens'
    const [row] = await database.sequelize.query<{ count: number }>(sql, { type: QueryTypes.SELECT })
    return Number(row?.count)
  }

  it('has a form of its own, and says so in its record, its event and to the policy', async () => {
    const response = await post({ scope: 'openid profile', expiresIn: 60 })
    expect([response.status, response.body.expiresIn], response.text).to.deep.equal([201, 60])
    expect(response.body.subjectToken).to.match(/^ses_[\w-]{65}$/)
    const id = idFrom(response)
    const item = (await show(scene, id)).body
    expect(item).to.include({ id, use: 'session', userId: 'alice', actorId: 'bob', clientId: 'shop' })
    expect(item).to.include({ scope: 'openid profile', state: 'active' })
    expect(item).not.to.have.any.keys('session', 'accessToken')
    const [told] = scene.events.filter(({ name }) => name === 'subject_token.issued')
    expect(told?.payload).to.include({ id, use: 'session', clientId: 'shop', actorId: 'bob' })
    expect(asked).to.deep.equal([
      { stage: 'issuance', use: 'session', client: { id: 'shop' }, actor: { sub: 'bob', verified: false } },
    ])
  })

  it('is for an exchange unless it says otherwise, and then as ever', async () => {
    for (const use of [undefined, 'exchange']) {
      const response = await post({ use, clientId: undefined })
      expect(response.body.subjectToken, response.text).to.match(/^sub_/)
      expect((await show(scene, idFrom(response))).body).not.to.have.property('use')
    }
    expect(asked.map(({ use }) => use)).to.deep.equal(['exchange', 'exchange'])
    for (const { name, payload } of scene.events)
      if (name === 'subject_token.issued') expect(payload).not.to.have.property('use')
  })

  const refused: [title: string, changes: object, text: string][] = [
    ['without a client', { clientId: undefined }, 'clientId is required'],
    ['without an actor', { actorId: undefined }, 'actorId is required'],
    ['whose actor is the user', { actorId: 'alice' }, 'actorId must not be the user'],
    ['whose actor is the user by another name', { userId: 'alias:bob' }, 'actorId must not be the user'],
    ['with a resource', { resource: API }, 'resource must not come with use session'],
    ['with a list of resources', { resource: [API] }, 'resource must not come with use session'],
    ['for a client that is not open to sessions', { clientId: 'closed' }, NOT_OPEN],
    ['for a client that no one knows', { clientId: 'unknown' }, NOT_OPEN],
    ['for another use', { use: 'sessions' }, 'use must be exchange or session'],
    ['for a list of uses', { use: ['session'] }, 'use must be exchange or session'],
    ['without its context', { context: {} }, 'context.reason is required, and must not be blank'],
  ]
  for (const [title, changes, text] of refused)
    it(`is refused ${title}, by name, before anyone is asked`, async () => {
      const before = await stored()
      const response = await post(changes)
      expect([response.status, response.body], response.text).to.deep.equal([
        400,
        { error: 'invalid_request', error_description: text },
      ])
      expect([await stored(), asked, scene.events.map(({ name }) => name)]).to.deep.equal([before, [], []])
    })

  it('is a 503 where no one knows whether the client is open to sessions', async () => {
    const token = await managementToken(scene)
    isDown = true
    const request = { ...SESSION, clientId: 'of the database', context: { reason: 'a call' } }
    const response = await postSubjectToken(scene, request, token)
    expect([response.status, response.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
    expect(response.text).not.to.include('private')
  })

  it('is shown with its session once it is used, and found by the jti of its access tokens', async () => {
    const id = idFrom(await post({ scope: 'openid profile' }))
    const { store, provider } = insideOf(scene.impersonation)
    const token = (await store.find(provider.issuer, id)) ?? expect.fail('not found')
    const at = Math.floor(Date.now() / 1000)
    const { resource: _, ...use } = newUse({ at, clientId: 'shop', actor: { sub: 'bob' }, scope: 'openid' })
    const accessToken = { format: 'session', expiresAt: at + 600 } as const
    const session = { logout: 'pending' } as const
    expect(await store.consume(token, at, { ...use, accessToken, session })).to.equal(true)
    const item = (await show(scene, id)).body
    const { faultsOf } = description()
    const described = async () =>
      expect(faultsOf('GET', '/subject-tokens/{id}', await show(scene, id))).to.deep.equal([])
    await described()
    expect(item).to.deep.include({ session: { endsAt: at + 600, logout: 'pending' }, state: 'consumed' })
    expect(item).to.deep.include({ usedBy: 'shop', actor: { sub: 'bob' }, scope: 'openid', consumedAt: at })
    expect(item).to.deep.include({ ceiling: { scope: 'openid profile' } })
    expect(item).not.to.have.any.keys('accessToken', 'resource')
    for (const jti of [id, `${id}.${'a'.repeat(22)}`])
      expect((await list(scene, { jti })).body.items).to.deep.equal([item])
    expect((await list(scene, { jti: `${id}.short` })).body.items).to.deep.equal([])
    expect((await list(scene, { live: 'true', clientId: 'shop' })).body.items).to.deep.equal([item])
    await store.sessions?.settle(provider.issuer, id, { mark: null, logout: 'confirmed', at: at + 1 })
    const settled = { endsAt: at + 600, logout: 'confirmed', logoutAt: at + 1 }
    await described()
    expect((await show(scene, id)).body.session).to.deep.equal(settled)
    expect((await scene.impersonation.records.get(id))?.session).to.deep.equal(settled)
  })
})
