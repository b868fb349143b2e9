/** What the management API does, called in the process of the provider (protocol.md §2.6). */
import { expect } from 'chai'
import { tooLate } from '../../fixtures/clock.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import { type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { show } from '../../fixtures/management.ts'
import { storeClient } from '../../fixtures/registration.ts'
import { exchange } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { AccessDenied, createImpersonation, RecordError, type Records } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const SAYS = { by: 'dora', reason: 'a test' }
const UNKNOWN = '0'.repeat(32)

describe('records, in process', () => {
  let deployment: Deployment
  let records: Records
  /** What the store is asked, and what happens instead. */
  const asked: { method: string; filter: unknown }[] = []
  let instead: Readonly<Record<string, () => never>> = {}
  const contexts: unknown[] = []
  /** Happens while the policy decides. */
  let meanwhile: (() => void) | undefined

  before(async () => {
    const database = await openDatabase('sqlite')
    const kept = createSubjectTokenStore(database.sequelize)
    const store = new Proxy(kept, {
      get: (target, method) =>
        method === 'sessions'
          ? target.sessions
          : (...given: unknown[]) => {
              asked.push({ method: String(method), filter: given[1] })
              return instead[String(method)]?.() ?? Reflect.apply(Reflect.get(target, method), target, given)
            },
    })
    deployment = await startDeployment({
      database,
      options: {
        store,
        customClaimsTimeout: 1,
        async isAllowed({ userId }) {
          await meanwhile?.()
          if (userId === 'carol') throw new AccessDenied('not carol')
          if (userId === 'erin') throw new Error('private: no directory')
          return true
        },
      },
      configuration: {
        async findAccount(ctx, name) {
          contexts.push(ctx)
          if (name === 'broken') throw new Error('private: no directory')
          if (name === 'slow') return tooLate(1)
          if (name === 'nobody') return undefined
          const accountId = name.replace(/^alias:/, '')
          return { accountId, claims: () => ({ sub: accountId }) }
        },
      },
    })
    records = deployment.impersonation.records
  })
  beforeEach(() => {
    for (const list of [asked, contexts, deployment.events, deployment.errors]) list.length = 0
    instead = {}
    meanwhile = undefined
  })
  after(async () => {
    await deployment.close()
    await deployment.database.close()
  })

  const issue = (changes: object = {}) =>
    records.issue({ userId: unique('user'), createdBy: 'host:dora', ...changes })
  const rejection = async (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => expect.fail('was not refused'),
      (error: unknown) => error,
    )
  const names = () => deployment.events.map(({ name }) => name)

  describe('issue', () => {
    it('returns a token that can be exchanged, and records who issued it', async () => {
      const context = { ticketId: 'T-1' }
      const issued = await records.issue({
        userId: 'alias:alice',
        createdBy: 'host:dora',
        context,
        expiresIn: 60,
      })
      expect(Object.keys(issued)).to.deep.equal(['id', 'subjectToken', 'expiresIn'])
      expect(issued.expiresIn).to.equal(60)
      const record = await records.get(issued.id)
      expect(record).to.deep.include({ userId: 'alice', createdBy: 'host:dora', context, state: 'active' })
      expect((await exchange(deployment, { subject_token: issued.subjectToken })).status).to.equal(200)
      expect(names()).to.deep.equal(['subject_token.issued', 'subject_token.exchanged'])
    })

    const refused: [title: string, changes: object, expected: object][] = [
      ['no user', { userId: undefined }, { status: 400, field: 'userId', message: 'userId is required' }],
      ['no createdBy', { createdBy: undefined }, { field: 'createdBy', message: 'createdBy is required' }],
      ['a createdBy that is too long', { createdBy: 'x'.repeat(256) }, { status: 400, field: 'createdBy' }],
      [
        'the id of a client as createdBy',
        { createdBy: 'backend' },
        { status: 400, field: 'createdBy', message: 'createdBy must not be the id of a client' },
      ],
      ['the id of an application as createdBy', { createdBy: 'spa' }, { status: 400, field: 'createdBy' }],
      ['a life of no time', { expiresIn: 0 }, { status: 400, code: 'invalid_request', field: 'expiresIn' }],
      ['an unknown member', { user: 'x' }, { field: 'user', message: 'unknown member: user' }],
      ['no such user', { userId: 'nobody' }, { status: 404, code: 'not_found', message: 'user not found' }],
      ['the policy', { userId: 'carol' }, { status: 403, code: 'access_denied' }],
    ]
    for (const [title, changes, expected] of refused) {
      it(`is refused for ${title}, and writes nothing`, async () => {
        const error = await rejection(issue(changes))
        expect(error).to.be.instanceOf(RecordError)
        expect(error).to.include(expected)
        expect(asked.map(({ method }) => method)).not.to.include('insert')
      })
    }

    it('is refused for the id of a client whose metadata is not valid', async () => {
      await storeClient(deployment, { client_id: 'broken', redirect_uris: ['none'] })
      const error = await rejection(issue({ createdBy: 'broken' }))
      expect(error).to.include({ status: 400, message: 'createdBy must not be the id of a client' })
    })

    it('rejects with the error of a function that fails, not with a refusal', async () => {
      const error = await rejection(issue({ userId: 'erin' }))
      expect(error).not.to.be.instanceOf(RecordError)
      expect(error).to.have.property('message', 'isAllowed failed')
    })

    it('keeps the context that it was given, whatever happens to the object', async () => {
      const context: Record<string, string> = { ticketId: 'T-1' }
      meanwhile = () => Object.assign(context, { ticketId: '', more: 'x'.repeat(9000) })
      const { id } = await issue({ context })
      expect((await records.get(id))?.context).to.deep.equal({ ticketId: 'T-1' })
      let read = 0
      const list = Object.assign(['short'], { toJSON: () => (read++ ? 'x'.repeat(9000) : 'short') })
      const other = await issue({ context: { list } })
      expect((await records.get(other.id))?.context).to.deep.equal({ list: 'short' })
    })

    it('tells the policy and the events who issues', async () => {
      await rejection(issue({ userId: 'carol' }))
      expect(deployment.events.map(({ payload }) => payload)[0]).to.include({
        stage: 'issuance',
        clientId: 'host:dora',
        reason: 'not carol',
      })
    })
  })

  describe('list and get', () => {
    it('select by numbers and booleans, page by page', async () => {
      const userId = unique('user')
      const [first, second] = [await issue({ userId }), await issue({ userId })]
      const page = await records.list({ userId, live: false, createdAfter: 0, limit: 1 })
      expect(page.items.map(({ id }) => id)).to.deep.equal([second.id])
      expect(page.nextCursor).to.equal(second.id)
      const rest = await records.list({ userId, cursor: page.nextCursor })
      expect(rest.items.map(({ id }) => id)).to.deep.equal([first.id])
      expect(rest).not.to.have.property('nextCursor')
      expect((await records.list()).items.length).to.be.greaterThan(1)
    })

    it('return what the management API shows', async () => {
      const { id } = await issue({ resource: 'https://api.example.com' })
      const record = await records.get(id)
      expect(record).to.deep.equal((await show(deployment, id)).body)
      expect((await records.list({ jti: id })).items).to.deep.equal([record])
    })

    it('find nothing for what no record has', async () => {
      const { id: issued } = await issue()
      for (const id of ['x', UNKNOWN, [issued]]) expect(await records.get(id as string)).to.equal(undefined)
      asked.length = 0
      expect(await records.list({ jti: 'x' })).to.deep.equal({ items: [] })
      expect(asked).to.deep.equal([])
    })

    const refused: [query: Record<string, unknown>, message: string][] = [
      [{ live: 'true' }, 'live must be true or false'],
      [{ unacknowledged: false }, 'unacknowledged must be true'],
      [{ createdAfter: 1.5 }, 'createdAfter must be whole seconds since the epoch'],
      [{ createdBefore: '1' }, 'createdBefore must be whole seconds since the epoch'],
      [{ limit: 0 }, 'limit must be a whole number from 1 to 100'],
      [{ limit: 101 }, 'limit must be a whole number from 1 to 100'],
      [{ limit: '50' }, 'limit must be a whole number from 1 to 100'],
      [{ state: 'live' }, 'state must be one of active, expired, consumed, revoked'],
      [{ cursor: 7 }, 'cursor must be the id of a subject token'],
      [{ userId: ['alice'] }, 'userId must be a string of 1 to 255 characters'],
      [{ user: 'alice' }, 'unknown member: user'],
    ]
    for (const [query, message] of refused) {
      it(`refuse ${JSON.stringify(query)}`, async () => {
        const error = await rejection(records.list(query))
        expect(error).to.be.instanceOf(RecordError)
        expect(error).to.include({ status: 400, message, field: Object.keys(query)[0] })
      })
    }
  })

  it('count by day, from numbers', async () => {
    const { live, days } = await records.summary({ days: 2 })
    expect([live, days.length]).to.deep.equal([0, 2])
    expect((await records.summary()).days).to.have.length(30)
    for (const days of [0, 91, '2']) {
      const error = await rejection(records.summary({ days } as { days: number }))
      expect(error).to.include({ status: 400, message: 'days must be a whole number from 1 to 90' })
    }
  })

  describe('stop', () => {
    const HOST = { cause: 'host', ...SAYS }

    it('ends one and all, with the cause host, and returns how many', async () => {
      const userId = unique('user')
      const { id } = await issue({ userId })
      expect(await records.stop({ id, ...SAYS })).to.deep.equal({ revoked: 1 })
      expect(await records.stop({ id })).to.deep.equal({ revoked: 0 })
      expect((await show(deployment, id)).body.revocation).to.deep.equal(HOST)
      for (const _ of [1, 2]) await issue({ userId })
      expect(await records.stopAll({ userId, ...SAYS })).to.deep.equal({ revoked: 2 })
      const told = deployment.events.filter((event) => event.name === 'subject_token.revoked')
      expect(told).to.have.lengthOf(3)
      for (const { payload } of told) {
        expect(payload).to.deep.include({ revocation: HOST })
        expect(payload).not.to.have.property('revokedBy')
      }
    })

    it('ends what was exchanged', async () => {
      const { id, subjectToken } = await issue({ userId: 'alice' })
      await exchange(deployment, { subject_token: subjectToken })
      expect((await records.list({ userId: 'alice', live: true })).items.map((one) => one.id)).to.include(id)
      await records.stop({ id })
      expect(await records.get(id)).to.deep.include({ state: 'revoked', revocation: { cause: 'host' } })
    })

    it('says so where the engineer has ended it, or another one goes on', async () => {
      const userId = unique('user')
      const [own, old, next] = [await issue({ userId }), await issue({ userId }), await issue({ userId })]
      await records.stop({ id: own.id, cause: 'self' })
      await records.stop({ id: old.id, cause: 'continued', continuedBy: next.id })
      expect((await records.get(own.id))?.revocation).to.deep.equal({ cause: 'self' })
      expect((await records.get(old.id))?.revocation).to.deep.equal({
        cause: 'continued',
        continuedBy: next.id,
      })
    })

    const refused: [title: string, call: (given: Records) => Promise<unknown>, expected: object][] = [
      ['no id', (all) => all.stop({} as { id: string }), { field: 'id', message: 'id is required' }],
      ['an unknown id', (all) => all.stop({ id: UNKNOWN }), { status: 404, code: 'not_found' }],
      ['another cause', (all) => all.stop({ id: UNKNOWN, cause: 'api' as 'self' }), { field: 'cause' }],
      ['continuedBy alone', (all) => all.stop({ id: UNKNOWN, continuedBy: 'x' }), { field: 'continuedBy' }],
      ['a blank reason', (all) => all.stop({ id: UNKNOWN, reason: ' ' }), { field: 'reason' }],
      ['a user', (all) => all.stop({ id: UNKNOWN, userId: 'a' } as never), { field: 'userId' }],
      ['no one', (all) => all.stopAll({}), { message: 'userId, actorId or createdBy is required' }],
      ['two people', (all) => all.stopAll({ userId: 'a', actorId: 'b' }), { field: 'actorId' }],
      ['a cause', (all) => all.stopAll({ userId: 'a', cause: 'self' } as never), { field: 'cause' }],
      ['the id of one', (all) => all.stopAll({ id: UNKNOWN } as never), { field: 'id' }],
    ]
    for (const [title, call, expected] of refused) {
      it(`is refused for ${title}`, async () => {
        const error = await rejection(call(records))
        expect(error).to.be.instanceOf(RecordError)
        expect(error).to.include(expected)
      })
    }
  })

  it('acknowledge what is alarming', async () => {
    const { id, subjectToken } = await issue({ userId: 'alice' })
    const says = { id, by: 'dora', note: 'a test', replayedAt: null }
    expect(await rejection(records.acknowledge(says))).to.include({ status: 409, code: 'invalid_request' })
    await exchange(deployment, { subject_token: subjectToken })
    expect((await records.list({ unacknowledged: true })).items[0]).to.include({ id })
    await records.acknowledge(says)
    const { acknowledged = [] } = (await records.get(id)) ?? {}
    expect(acknowledged.map(({ by, note }) => ({ by, note }))).to.deep.equal([{ by: 'dora', note: 'a test' }])
    expect(await rejection(records.acknowledge({ ...says, id: UNKNOWN }))).to.include({ status: 404 })
    for (const field of ['id', 'by', 'note']) {
      const error = await rejection(records.acknowledge({ ...says, [field]: undefined }))
      expect(error).to.include({ field, message: `${field} is required` })
    }
  })

  describe('accounts', () => {
    it('are asked for with a context of the provider', async () => {
      await issue({ userId: 'alice' })
      const [ctx] = contexts as { oidc: { provider: unknown }; headers: object }[]
      expect(ctx?.oidc.provider).to.equal(deployment.provider)
      expect(ctx?.headers).to.deep.equal({})
    })

    it('that cannot be found leave the name as it was given, and tell the operator', async () => {
      for (const userId of ['broken', 'slow']) {
        expect((await records.list({ userId })).items).to.deep.equal([])
        expect(await records.stopAll({ userId })).to.deep.equal({ revoked: 0 })
      }
      expect(deployment.errors).to.have.lengthOf(4)
    })

    it('ask the store once where a name has no account, or no other one', async () => {
      const given = ['nobody', 'alice', 'alias:alice']
      for (const userId of given) await records.stopAll({ userId })
      expect(
        asked.filter(({ method }) => method === 'revokeWhere').map(({ filter }) => filter),
      ).to.deep.equal([...given, 'alice'].map((userId) => ({ userId })))
      for (const userId of given) await records.list({ userId })
      expect(asked.filter(({ method }) => method === 'list').map(({ filter }) => filter)).to.deep.equal([
        { userId: ['nobody'] },
        { userId: ['alice'] },
        { userId: ['alias:alice', 'alice'] },
      ])
    })
  })

  it('say when storage is down, and hold what it said for the operator only', async () => {
    const down = () => {
      throw new Error('private: no connection')
    }
    instead = { find: down, list: down, insert: down, revoke: down, revokeWhere: down }
    const calls = [
      issue(),
      records.list(),
      records.get(UNKNOWN),
      records.stop({ id: UNKNOWN }),
      records.stopAll({ userId: 'alice' }),
      records.acknowledge({ id: UNKNOWN, by: 'dora', note: 'a test' }),
    ]
    for (const call of calls) {
      const error = await rejection(call)
      expect(error).to.be.instanceOf(RecordError)
      expect(error).to.include({ status: 503, code: 'temporarily_unavailable' })
      expect(String(error)).not.to.include('private')
    }
  })

  it('let other work run between the slices of a count', async () => {
    const order: string[] = []
    let counting = true
    const other = () => {
      order.push('other')
      if (counting) setImmediate(other)
    }
    async function* slices<Slice>(slice: Slice): AsyncGenerator<Slice> {
      for (let count = 0; count < 3; count += 1) {
        order.push('slice')
        yield slice
      }
    }
    const counts = { issued: 1, exchanged: 1, withoutActor: 1, revoked: 0, ended: 0, replayed: 0 }
    const kept = createSubjectTokenStore(deployment.database.sequelize)
    const store = { ...kept, summarize: () => slices(counts), countLive: () => slices(1) }
    await withDeployment({ options: { store } }, async ({ impersonation }) => {
      setImmediate(other)
      const { live, days } = await impersonation.records.summary({ days: 1 })
      counting = false
      expect([live, days[0]?.issued]).to.deep.equal([3, 3])
    })
    expect(order.filter((one) => one === 'slice')).to.have.length(6)
    expect(order.join()).not.to.include('slice,slice')
  })

  it('refuse anything but a plain object, and do not throw at once', async () => {
    const { issue, list, summary, stop, stopAll, acknowledge } = records
    const given = [null, [], new URLSearchParams({ userId: 'alice' }), Object.create({ userId: 'alice' })]
    for (const call of [issue, list, summary, stop, stopAll, acknowledge]) {
      for (const one of given) {
        const error = await rejection((call as (given: unknown) => Promise<unknown>)(one))
        expect(error).to.include({ status: 400, message: 'the argument must be a plain object' })
      }
    }
  })

  it('cannot be used before attach', async () => {
    const store = createSubjectTokenStore(deployment.database.sequelize)
    const error = await rejection(createImpersonation({ store }).records.list())
    expect(error).to.be.instanceOf(TypeError)
    expect(error).to.have.property('message', 'call attach(provider) before using records')
  })
})
