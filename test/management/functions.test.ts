/** What the management API does, done without a request: by a second caller in the same process. */
import { expect } from 'chai'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { exchange } from '../../fixtures/requests.ts'
import { AccessDenied } from '../../src/index.ts'
import { acknowledgeSubjectToken } from '../../src/management/acknowledge.ts'
import { listSubjectTokens, showSubjectToken } from '../../src/management/inspect.ts'
import { issueSubjectToken } from '../../src/management/issue.ts'
import { revokeSubjectToken, revokeSubjectTokens } from '../../src/management/revoke.ts'
import type { Caller, ManagementService } from '../../src/management/service.ts'
import { summarizeSubjectTokens } from '../../src/management/summary.ts'
import { resolveOptions } from '../../src/options.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const BY = { cause: 'console', by: 'dora', reason: 'a test' } as const

describe('management: the functions behind the routes', () => {
  let deployment: Deployment
  let service: ManagementService
  const reports: unknown[] = []
  const caller: Caller = {
    clientId: 'the-console',
    async findAccount(name) {
      if (name === 'broken') throw new Error('private: no directory')
      if (name === 'nobody') return undefined
      const accountId = name.replace(/^alias:/, '')
      return { accountId, claims: () => ({ sub: accountId }) }
    },
    report: (error) => void reports.push(error),
  }
  before(async () => {
    deployment = await startDeployment()
    const store = createSubjectTokenStore(deployment.database.sequelize)
    const isAllowed = ({ userId }: { userId: string }) => {
      if (userId === 'carol') throw new AccessDenied('not carol')
      return true
    }
    service = { provider: deployment.provider, store, options: resolveOptions({ store, isAllowed }) }
  })
  beforeEach(() => {
    deployment.events.length = 0
    reports.length = 0
  })
  after(() => deployment.close())

  const issueFor = (userId: string) =>
    issueSubjectToken(service, caller, { userId, context: { ticketId: 'T-1' }, expiresIn: 60 })
  const rejection = async (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => undefined,
      (error: unknown) => error,
    )
  const names = () => deployment.events.map(({ name }) => name)

  it('issue a token that can be exchanged, and return its record', async () => {
    const { subjectToken, record } = await issueFor('alias:alice')
    expect(record).to.include({ userId: 'alice', createdBy: 'the-console' })
    expect(record.expiresAt - record.createdAt).to.equal(60)
    expect(await showSubjectToken(service, record.id)).to.include({ id: record.id, state: 'active' })
    expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
    expect(names()).to.deep.equal(['subject_token.issued', 'subject_token.exchanged'])
  })

  it('list a page, by the account behind an alias too', async () => {
    const { record: first } = await issueFor('dave')
    const { record: second } = await issueFor('dave')
    const page = await listSubjectTokens(service, caller, { filter: { userId: ['alias:dave'] }, limit: 1 })
    expect(page.items.map(({ id }) => id)).to.deep.equal([second.id])
    expect(page.nextCursor).to.equal(second.id)
    const { items } = await listSubjectTokens(service, caller, {
      filter: { userId: ['dave'] },
      limit: 1,
      cursor: second.id,
    })
    expect(items.map(({ id }) => id)).to.deep.equal([first.id])
  })

  it('revoke one and all, for the reason that they are given, and return how many they marked', async () => {
    const { record } = await issueFor('erin')
    expect(await revokeSubjectToken(service, record.id, BY)).to.deep.equal({ revoked: 1 })
    expect(await revokeSubjectToken(service, record.id, BY)).to.deep.equal({ revoked: 0 })
    await issueFor('erin')
    await issueFor('erin')
    expect(await revokeSubjectTokens(service, caller, { userId: 'erin' }, BY)).to.deep.equal({ revoked: 2 })
    const revoked = deployment.events.filter((event) => event.name === 'subject_token.revoked')
    expect(revoked).to.have.lengthOf(3)
    for (const { payload } of revoked) {
      expect(payload).to.deep.include({ revocation: BY })
      expect(payload).not.to.have.property('revokedBy')
    }
  })

  it('acknowledge what is alarming, in the words of the caller', async () => {
    const { subjectToken, record } = await issueFor('alice')
    const says = { by: 'dora', note: 'a test', replayedAt: null }
    const conflict = { status: 409, error: 'invalid_request' }
    expect(await rejection(acknowledgeSubjectToken(service, record.id, says))).to.include(conflict)
    await exchange(deployment, { subject_token: subjectToken })
    await acknowledgeSubjectToken(service, record.id, says)
    const { acknowledged = [] } = await showSubjectToken(service, record.id)
    expect(acknowledged.map(({ by, note }) => ({ by, note }))).to.deep.equal([{ by: 'dora', note: 'a test' }])
  })

  it('list nothing, and ask no one, where no record can match', async () => {
    const asked = { ...caller, findAccount: () => expect.fail('asked') }
    const store = { ...service.store, list: () => expect.fail('asked') }
    const page = await listSubjectTokens({ ...service, store }, asked, { filter: undefined, limit: 1 })
    expect(page).to.deep.equal({ items: [] })
  })

  it('tell the caller of a look-up that fails, and go on', async () => {
    const filter = { userId: ['broken'] } as const
    expect((await listSubjectTokens(service, caller, { filter, limit: 1 })).items).to.deep.equal([])
    expect(await revokeSubjectTokens(service, caller, { userId: 'broken' }, BY)).to.deep.equal({ revoked: 0 })
    expect(reports).to.have.lengthOf(2)
  })

  it('ask the store once where a name has no account, or no other one', async () => {
    const asked: unknown[] = []
    const store = {
      ...service.store,
      revokeWhere(...call: Parameters<typeof service.store.revokeWhere>) {
        asked.push(call[1])
        return service.store.revokeWhere(...call)
      },
    }
    for (const userId of ['nobody', 'broken', 'alice', 'alias:alice'])
      await revokeSubjectTokens({ ...service, store }, caller, { userId }, BY)
    const names = ['nobody', 'broken', 'alice', 'alias:alice', 'alice']
    expect(asked).to.deep.equal(names.map((userId) => ({ userId })))

    const list: typeof service.store.list = async (_issuer, filter) => {
      asked.push(filter)
      return { tokens: [] }
    }
    asked.length = 0
    for (const userId of ['nobody', 'broken', 'alice', 'alias:alice']) {
      const request = { filter: { userId: [userId] as const }, limit: 1 }
      await listSubjectTokens({ ...service, store: { ...service.store, list } }, caller, request)
    }
    const filters = [['nobody'], ['broken'], ['alice'], ['alias:alice', 'alice']]
    expect(asked).to.deep.equal(filters.map((userId) => ({ userId })))
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
    const store = { ...service.store, summarize: () => slices(counts), countLive: () => slices(1) }
    setImmediate(other)
    const { live, days } = await summarizeSubjectTokens({ ...service, store }, 1)
    counting = false
    expect([live, days[0]?.issued]).to.deep.equal([3, 3])
    expect(order.filter((one) => one === 'slice')).to.have.length(6)
    expect(order.join()).not.to.include('slice,slice')
  })

  it('refuse with the errors of the API', async () => {
    expect(await rejection(issueFor('nobody'))).to.include({ status: 404, message: 'user not found' })
    expect(await rejection(issueFor('carol'))).to.include({ error: 'access_denied' })
    expect(names()).to.deep.equal(['subject_token.refused'])
    expect(deployment.events[0]?.payload).not.to.have.property('actor')
    for (const id of ['x', '0'.repeat(32)]) {
      const unknown = { status: 404, message: 'subject token not found' }
      expect(await rejection(showSubjectToken(service, id))).to.include(unknown)
      expect(await rejection(revokeSubjectToken(service, id, BY))).to.include(unknown)
    }
  })
})
