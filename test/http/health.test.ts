/** The health route (docs/protocol.md §2.5): what a probe is told, and what it is not. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

/** What a probe sees. */
interface Seen {
  readonly status: number
  readonly body: string
  readonly type: string | null
  readonly cache: string | null
}

describe('the health route', () => {
  let deployment: Deployment
  let clock: StoppedClock
  let url: string
  let asked = 0
  let reason: Error | undefined
  let close: () => Promise<unknown>

  before(async () => {
    const database = await openDatabase('sqlite')
    const own = createSubjectTokenStore(database.sequelize)
    const ready = async () => {
      asked += 1
      if (reason) throw reason
      await own.ready?.()
    }
    const served = await startDeployment({
      database,
      options: { store: { ...own, ready } },
    })
    const koa = new Koa()
    koa.use(served.impersonation.router({ prefix: '/koa', only: 'health' }).routes())
    const rest = koa.callback()
    const handle = served.impersonation.handler({ prefix: '/node', only: 'health' })
    const server = createServer((request, response) =>
      handle(request, response, () => rest(request, response)),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    close = async () => {
      server.closeAllConnections()
      server.close()
      await served.close()
      await database.close()
    }
    deployment = served
  })
  after(() => close())

  beforeEach(() => {
    clock = stopClock()
    asked = 0
    reason = undefined
    deployment.events.length = 0
    deployment.errors.length = 0
    clock.tick(1)
  })
  afterEach(() => clock.restore())

  const look = async (path: string, method = 'GET'): Promise<Seen> => {
    const response = await fetch(url + path, { method })
    const { headers } = response
    return {
      status: response.status,
      body: await response.text(),
      type: headers.get('content-type'),
      cache: headers.get('cache-control'),
    }
  }
  const without = (status: number): Seen => ({ status, body: '', type: null, cache: 'no-store' })

  it('is 200 without a body and without a token, by router() and handler(), and for HEAD', async () => {
    for (const path of ['/koa/health', '/node/health'])
      for (const method of ['GET', 'HEAD']) expect(await look(path, method)).to.deep.equal(without(200))
    expect(deployment.events).to.deep.equal([])
  })

  it('is 503 without a body when the store is not ready, and only the event says why', async () => {
    await look('/koa/health')
    clock.tick(1)
    reason = new Error('private: 10.0.0.7 refused')
    for (const path of ['/koa/health', '/node/health']) {
      deployment.events.length = 0
      expect(await look(path)).to.deep.equal(without(503))
      const payload = { door: 'health', status: 503, check: 'storage', reason: 'Error' }
      expect(deployment.events).to.deep.equal([{ name: 'impersonation.failed', payload }])
    }
    expect(deployment.errors).to.deep.equal([])
  })

  it('asks once a second, however many probes and routes there are, and remembers a failure as long', async () => {
    await Promise.all(['/koa/health', '/node/health', '/koa/health'].map((path) => look(path)))
    expect(asked).to.equal(1)
    reason = new Error('down')
    expect((await look('/koa/health')).status).to.equal(200)
    clock.tick(1)
    expect((await look('/koa/health')).status).to.equal(503)
    reason = undefined
    expect((await look('/node/health')).status).to.equal(503)
    expect(asked).to.equal(2)
    clock.tick(1)
    expect((await look('/node/health')).status).to.equal(200)
  })

  it('is alone: nothing else is served with it, and no other route serves it', async () => {
    for (const path of ['/koa/subject-tokens', '/koa/status-lists/0', '/koa/health/', '/koa/Health', '/koa'])
      expect((await look(path)).status, path).to.equal(404)
    const { baseUrl } = deployment
    expect((await fetch(`${baseUrl}/api/health`)).status).to.equal(404)
    const { status, headers } = await fetch(`${url}/koa/health`, { method: 'POST' })
    expect([status, headers.get('allow')]).to.deep.equal([405, 'GET, HEAD'])
    expect(asked).to.equal(0)
  })
})
