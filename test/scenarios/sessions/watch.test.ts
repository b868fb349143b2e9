/** How the sessions whose time has come are found, and how many are ended at once (protocol.md §10.6). */
import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { type AdapterFactory, Provider } from 'oidc-provider'
import { now } from '../../../fixtures/clock.ts'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { reachesLoopback, shopClient } from '../../../fixtures/sessions.ts'
import { until } from '../../../fixtures/until.ts'
import { insideOf } from '../../../src/impersonation.ts'
import { createImpersonation } from '../../../src/index.ts'
import { type SessionWatch, watchSessions } from '../../../src/sessions/watch.ts'
import { mintId } from '../../../src/subject-tokens/id.ts'
import type { DueSession, SessionStore } from '../../../src/subject-tokens/store.ts'
import { createMemoryStore } from '../../../src/testing/index.ts'

/** What has begun is done as far as it can be. */
const settled = async () => {
  for (let turn = 0; turn < 20; turn += 1) await setImmediate()
}

interface Watched {
  readonly provider: Provider
  readonly watch: SessionWatch
  /** What findDue was called for, and when. */
  readonly looks: number[]
  readonly due: DueSession[]
  /** The ids that claim was called with. */
  readonly claims: string[]
  /** Ends an attempt: of those that were sent a logout token, by client. */
  readonly underWay: Map<string, (() => void)[]>
}

const nothingStored: AdapterFactory = () => ({
  upsert: async () => {},
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  destroy: async () => {},
  revokeByGrantId: async () => {},
  consume: async () => {},
})

/** A provider that sends logout tokens nowhere, and a store whose sessions a test writes down. */
function watched(clients = ['shop'], ask?: (open: DueSession) => Promise<void>): Watched {
  const underWay = new Map<string, (() => void)[]>(clients.map((id) => [id, []]))
  const due: DueSession[] = []
  const looks: number[] = []
  const claims: string[] = []
  const sessions: SessionStore = {
    async findDue(_issuer, at, limit) {
      looks.push(now())
      return due.filter(({ mark }) => mark <= at).slice(0, limit)
    },
    async claim(_issuer, id, mark, next) {
      claims.push(id)
      const index = due.findIndex((one) => one.id === id && one.mark === mark)
      const found = due[index]
      if (found) due[index] = { ...found, mark: next }
      return found !== undefined
    },
    async settle(_issuer, id, { mark }) {
      const index = due.findIndex((one) => one.id === id)
      const found = due[index]
      if (found && mark !== null) due[index] = { ...found, mark, logout: 'confirmed' }
      if (mark === null) due.splice(index, 1)
    },
  }
  const impersonation = createImpersonation({ store: { ...createMemoryStore(), sessions } })
  const { features } = reachesLoopback()
  const configuration = impersonation.configure({
    clients: clients.map((client_id) =>
      shopClient(`https://${client_id}.example.com/logout`, {
        client_id,
        id_token_signed_response_alg: 'ES256',
      }),
    ),
    jwks: { keys: [SIGNING_KEY] },
    features: { ...features, devInteractions: { enabled: false } },
    fetch: (url) =>
      new Promise((resolve) => {
        const [client = ''] = new URL(String(url)).hostname.split('.')
        underWay.get(client)?.push(() => resolve(new Response(null, { status: 200 })))
      }),
    adapter: nothingStored,
  })
  const provider = new Provider('https://id.example.com', configuration)
  impersonation.attach(provider)
  return { provider, watch: watchSessions(insideOf(impersonation), ask), looks, due, claims, underWay }
}

const dueNow = (clientId = 'shop', changes: Partial<DueSession> = {}): DueSession => ({
  id: mintId(),
  userId: 'alice',
  clientId,
  mark: now(),
  endsAt: now(),
  usedAt: now() - 600,
  logout: 'pending',
  ...changes,
})

const finish = (attempts: (() => void)[] | undefined, count = attempts?.length ?? 0) => {
  for (const end of attempts?.splice(0, count) ?? []) end()
}

describe('sessions: the watch', () => {
  beforeEach(() => mock.timers.enable({ apis: ['Date', 'setTimeout', 'setInterval'], now: Date.now() }))
  afterEach(() => mock.timers.reset())
  const pass = async (milliseconds: number) => {
    mock.timers.tick(milliseconds)
    await settled()
  }

  it('looks each 5 s, for what any process has left', async () => {
    const { looks, watch, due, underWay } = watched()
    await pass(4_999)
    expect(looks).to.have.length(0)
    await pass(1)
    await pass(1)
    expect(looks).to.have.length(1)
    due.push(dueNow())
    await pass(5_000)
    await until(() => underWay.get('shop')?.length === 1)
    watch.stop()
  })

  it('looks when it is woken, at once, and then ten times a second at most', async () => {
    const { looks, watch } = watched()
    for (let time = 0; time < 900; time += 10) {
      watch.wake()
      await pass(10)
    }
    expect(looks).to.have.length(10)
    watch.stop()
  })

  it('looks when a session that this process opened ends, once for all that end in that second', async () => {
    const { looks, watch } = watched()
    const ends = now() + 3
    for (let session = 0; session < 5; session += 1) watch.opened(ends)
    await pass(ends * 1000 - Date.now())
    expect(looks).to.have.length(0)
    await pass(2)
    expect(looks).to.deep.equal([ends])
    watch.stop()
  })

  it('begins nothing once it is stopped, also of what waits', async () => {
    const { watch, due, underWay, claims } = watched()
    due.push(...Array.from({ length: 20 }, () => dueNow()))
    void watch.look()
    await until(() => underWay.get('shop')?.length === 16)
    watch.stop()
    finish(underWay.get('shop'))
    await until(() => due.length === 4)
    await settled()
    expect(claims).to.have.length(16)
  })

  it('looks no more once it is stopped', async () => {
    const { looks, watch, due, underWay } = watched()
    watch.opened(now() + 1)
    watch.stop()
    watch.wake()
    due.push(dueNow())
    await pass(10_000)
    expect(looks).to.deep.equal([])
    expect(underWay.get('shop')).to.deep.equal([])
  })

  it('makes 16 attempts at once to one client, and none of another waits for them', async () => {
    const { watch, due, underWay } = watched(['shop', 'slow'])
    due.push(...Array.from({ length: 40 }, () => dueNow('slow')), dueNow('shop'))
    void watch.look()
    await until(() => underWay.get('slow')?.length === 16)
    await until(() => underWay.get('shop')?.length === 1)
    finish(underWay.get('slow'), 5)
    await until(() => underWay.get('slow')?.length === 16)
    watch.stop()
  })

  it('claims a session when its attempt begins, so that another process may take what waits here', async () => {
    const { watch, due, underWay } = watched()
    due.push(...Array.from({ length: 20 }, () => dueNow()))
    const first = now()
    void watch.look()
    await until(() => underWay.get('shop')?.length === 16)
    expect(due.filter(({ mark }) => mark > first)).to.have.length(16)
    // The other process.
    const taken = due.findIndex(({ mark }) => mark === first)
    due[taken] = dueNow('shop', { ...due[taken], mark: first + 60 })
    finish(underWay.get('shop'))
    await until(() => underWay.get('shop')?.length === 3)
    finish(underWay.get('shop'))
    await until(() => due.length === 1)
    watch.stop()
  })

  it('finds what is due behind all that waits for a slow client', async () => {
    const { watch, due, underWay } = watched(['shop', 'slow'])
    due.push(...Array.from({ length: 1_200 }, () => dueNow('slow')), dueNow('shop'))
    void watch.look()
    for (let look = 0; look < 3; look += 1) await pass(100)
    await until(() => underWay.get('shop')?.length === 1)
    watch.stop()
  })

  it('tries a session once, however often it is found while it waits', async () => {
    const { watch, due, underWay, claims } = watched()
    due.push(...Array.from({ length: 20 }, () => dueNow()))
    for (let look = 0; look < 3; look += 1) void watch.look()
    await until(() => underWay.get('shop')?.length === 16)
    finish(underWay.get('shop'))
    await until(() => underWay.get('shop')?.length === 4)
    finish(underWay.get('shop'))
    await until(() => due.length === 0)
    expect(claims).to.have.length(20)
    watch.stop()
  })

  it('gives an attempt 5 s, then tries again after a second, whatever the application says later', async () => {
    const { provider, watch, due, underWay } = watched()
    const reasons: string[] = []
    provider.on('session.logout_failed', ({ reason }) => void reasons.push(reason))
    due.push(dueNow())
    void watch.look()
    await until(() => underWay.get('shop')?.length === 1)
    await pass(5_000)
    expect(reasons).to.deep.equal(['TimeoutError'])
    finish(underWay.get('shop'))
    await settled()
    expect(due).to.have.length(1)
    await pass(1_002)
    await until(() => underWay.get('shop')?.length === 1)
    watch.stop()
  })

  it('asks about all that is open once a minute, and in no second round while one lasts', async () => {
    const answers: (() => void)[] = []
    const { watch, due } = watched(['shop'], () => new Promise((resolve) => answers.push(resolve)))
    due.push(
      ...Array.from({ length: 20 }, () => dueNow('shop', { mark: now() + 3_000, endsAt: now() + 3_000 })),
    )
    for (let minute = 0; minute < 3; minute += 1) await pass(60_000)
    expect(answers).to.have.length(16)
    finish(answers)
    await until(() => answers.length === 4)
    finish(answers)
    await settled()
    await pass(60_000)
    expect(answers).to.have.length(16)
    watch.stop()
  })

  it('goes on when storage has failed', async () => {
    const { watch, due, underWay, looks } = watched()
    const { push } = looks
    looks.push = () => {
      throw new Error('storage')
    }
    due.push(dueNow())
    await pass(5_001)
    expect(underWay.get('shop')).to.have.length(0)
    looks.push = push
    await pass(5_001)
    await until(() => underWay.get('shop')?.length === 1)
    watch.stop()
  })
})

/** With the option on: its own watch looks. */
function attached(): Pick<Watched, 'provider' | 'looks'> {
  const looks: number[] = []
  const sessions: SessionStore = {
    async findDue() {
      looks.push(now())
      return []
    },
    claim: async () => false,
    settle: async () => {},
  }
  const impersonation = createImpersonation({
    store: { ...createMemoryStore(), sessions },
    sessions: { door: 'https://id.example.com/impersonate' },
  })
  const { features } = reachesLoopback()
  const configuration = impersonation.configure({
    jwks: { keys: [SIGNING_KEY] },
    cookies: { keys: ['a key of the tests'] },
    findAccount: async () => undefined,
    features: { ...features, devInteractions: { enabled: false } },
    adapter: nothingStored,
  })
  const provider = new Provider('https://id.example.com', configuration)
  impersonation.attach(provider)
  impersonation.router()
  return { provider, looks }
}

describe('sessions: a provider that is dropped', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }))
  afterEach(() => mock.timers.reset())

  for (const [what, make] of [
    ['a watch', watched],
    ['the option', attached],
  ] as const) {
    it(`is collected, and no one looks for its sessions any more: of ${what}`, async () => {
      setFlagsFromString('--expose-gc')
      const collect: () => void = runInNewContext('gc')
      const { provider, looks } = (() => {
        const { provider, looks } = make()
        return { provider: new WeakRef(provider), looks }
      })()
      for (let turn = 0; turn < 50 && provider.deref(); turn += 1) {
        await settled()
        collect()
      }
      expect(provider.deref()).to.equal(undefined)
      mock.timers.tick(60_000)
      await settled()
      expect(looks).to.deep.equal([])
    })
  }

  it('is watched while it is held', async () => {
    const { provider, looks } = attached()
    mock.timers.tick(5_000)
    await until(() => looks.length === 1)
    expect(provider.issuer).to.equal('https://id.example.com')
  })
})
