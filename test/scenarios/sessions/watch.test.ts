/** How the sessions whose time has come are found, and how many are ended at once (docs/protocol.md §10.6). */
import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { type Configuration, Provider } from 'oidc-provider'
import { storedModels } from '../../../fixtures/clients.ts'
import { now } from '../../../fixtures/clock.ts'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { reachesLoopback, shopClient } from '../../../fixtures/sessions.ts'
import { until } from '../../../fixtures/until.ts'
import { createMemoryStore } from '../../../packages/store-contract/src/index.ts'
import { insideOf } from '../../../src/impersonation.ts'
import { createImpersonation, type SessionOptions } from '../../../src/index.ts'
import { type SessionWatch, watchSessions } from '../../../src/sessions/watch.ts'
import { mintId } from '../../../src/tokens/id.ts'
import type { DueSession, SessionStore } from '../../../src/tokens/store.ts'

/** What has begun is done as far as it can be. */
const settled = async () => {
  for (let turn = 0; turn < 20; turn += 1) await setImmediate()
}

/** A provider of two applications, whose sessions a test writes down. */
function providerOf(sessions: SessionStore, configuration: Configuration, option?: SessionOptions) {
  const impersonation = createImpersonation({
    store: { ...createMemoryStore(), sessions },
    ...(option && { sessions: option }),
  })
  const configured = impersonation.configure({
    clients: ['shop', 'slow'].map((client_id) =>
      shopClient(`https://${client_id}.example.com/logout`, {
        client_id,
        id_token_signed_response_alg: 'ES256',
      }),
    ),
    jwks: { keys: [SIGNING_KEY] },
    cookies: { keys: ['a key of the tests'] },
    findAccount: async () => undefined,
    features: { ...reachesLoopback().features, devInteractions: { enabled: false } },
    adapter: storedModels().adapter,
    ...configuration,
  })
  const provider = new Provider('https://id.example.com', configured)
  impersonation.attach(provider)
  return { provider, impersonation }
}

interface Watched {
  readonly provider: Provider
  readonly watch: SessionWatch
  /** What findDue was called for, and when. */
  readonly looks: number[]
  readonly due: DueSession[]
  /** The ids that claim was called with. */
  readonly claims: string[]
  /** So many attempts to tell this client are under way. */
  begun(count: number, clientId?: 'shop' | 'slow'): Promise<void>
  /** The clients that were told, in this order. */
  readonly told: string[]
  /** Ends so many of them, by default all. */
  finish(count?: number, clientId?: 'shop' | 'slow'): void
  /** Ends all of them, and from now on each at once. */
  answer(): void
}

const watching: SessionWatch[] = []

/** Its logout tokens go nowhere. */
function watched(ask?: (open: DueSession) => Promise<void>): Watched {
  const underWay = { shop: [] as (() => void)[], slow: [] as (() => void)[] }
  const due: DueSession[] = []
  const looks: number[] = []
  const claims: string[] = []
  const told: string[] = []
  let isAnswering = false
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
  const { provider, impersonation } = providerOf(sessions, {
    fetch: (url) =>
      new Promise((resolve) => {
        const [client] = new URL(String(url)).hostname.split('.') as ['shop' | 'slow']
        told.push(client)
        const end = () => resolve(new Response(null, { status: 200 }))
        if (isAnswering) end()
        else underWay[client].push(end)
      }),
  })
  const watch = watchSessions(insideOf(impersonation), ask)
  const finish: Watched['finish'] = (count, clientId = 'shop') => {
    const attempts = underWay[clientId]
    for (const end of attempts.splice(0, count ?? attempts.length)) end()
  }
  return {
    ...{ provider, watch, looks, due, claims, told, finish },
    begun: (count, clientId = 'shop') => until(() => underWay[clientId].length === count),
    answer() {
      isAnswering = true
      finish()
    },
  }
}

const sessionsOf = (count: number, clientId = 'shop', mark = now()): DueSession[] =>
  Array.from({ length: count }, () => ({
    ...{ id: mintId(), userId: 'alice', clientId, mark, endsAt: mark },
    ...{ usedAt: now() - 600, logout: 'pending' as const },
  }))

describe('sessions: the watch', () => {
  beforeEach(() => mock.timers.enable({ apis: ['Date', 'setTimeout', 'setInterval'], now: Date.now() }))
  afterEach(() => {
    for (const watch of watching.splice(0)) watch.stop()
    mock.timers.reset()
  })
  /** One that is stopped after the test. */
  const held = (...given: Parameters<typeof watched>) => {
    const one = watched(...given)
    watching.push(one.watch)
    return one
  }
  const pass = async (milliseconds: number) => {
    mock.timers.tick(milliseconds)
    await settled()
  }

  it('looks each 5 s, for what any process has left, and again when storage has failed', async () => {
    const { looks, due, begun } = held()
    await pass(4_999)
    expect(looks).to.have.length(0)
    await pass(1)
    await pass(1)
    expect(looks).to.have.length(1)
    due.push(...sessionsOf(1))
    const { push } = looks
    looks.push = () => {
      throw new Error('storage')
    }
    await pass(5_000)
    await begun(0)
    looks.push = push
    await pass(5_000)
    await begun(1)
  })

  it('looks when it is woken, at once, and then ten times a second at most', async () => {
    const { looks, watch } = held()
    for (let time = 0; time < 900; time += 10) {
      watch.wake()
      await pass(10)
    }
    expect(looks).to.have.length(10)
  })

  it('looks when a session that this process opened ends, once for all that end in that second', async () => {
    const { looks, watch } = held()
    const ends = now() + 3
    for (let session = 0; session < 5; session += 1) watch.opened(ends)
    await pass(ends * 1000 - Date.now())
    expect(looks).to.have.length(0)
    await pass(2)
    expect(looks).to.deep.equal([ends])
  })

  it('looks no more once it is stopped, and begins nothing, also of what waits', async () => {
    const { watch, due, claims, looks, begun, finish } = held()
    due.push(...sessionsOf(20))
    void watch.look()
    await begun(16)
    watch.opened(now() + 1)
    watch.stop()
    watch.wake()
    finish()
    await until(() => due.length === 4)
    await pass(10_000)
    expect(claims).to.have.length(16)
    expect(looks).to.have.length(1)
  })

  it('makes 16 attempts at once to one client, and none of another waits for them', async () => {
    const { watch, due, begun, finish } = held()
    due.push(...sessionsOf(40, 'slow'), ...sessionsOf(1))
    void watch.look()
    await begun(16, 'slow')
    await begun(1)
    finish(5, 'slow')
    await begun(16, 'slow')
  })

  it('claims a session when its attempt begins, so that another process may take what waits here', async () => {
    const { watch, due, told, begun, answer } = held()
    const first = now()
    due.push(...sessionsOf(20))
    const looked = watch.look()
    await begun(16)
    expect(due.filter(({ mark }) => mark > first)).to.have.length(16)
    // The other process.
    const taken = due.findIndex(({ mark }) => mark === first)
    Object.assign(due, { [taken]: { ...due[taken], mark: first + 60 } })
    answer()
    await looked
    expect([told.length, due.length]).to.deep.equal([19, 1])
  })

  it('finds what is due behind all that waits for a slow client', async () => {
    const { watch, due, begun } = held()
    due.push(...sessionsOf(1_200, 'slow'), ...sessionsOf(1))
    void watch.look()
    for (let look = 0; look < 3; look += 1) await pass(100)
    await begun(1)
  })

  it('tries a session once, however often it is found while it waits', async () => {
    const { watch, due, claims, told, begun, answer } = held()
    due.push(...sessionsOf(20))
    for (let look = 0; look < 3; look += 1) void watch.look()
    await begun(16)
    answer()
    await until(() => due.length === 0)
    expect([claims.length, told.length]).to.deep.equal([20, 20])
  })

  it('gives an attempt 5 s, then tries again after a second, whatever the application says later', async () => {
    const { provider, watch, due, begun, finish } = held()
    const reasons: string[] = []
    provider.on('session.logout_failed', ({ reason }) => void reasons.push(reason))
    due.push(...sessionsOf(1))
    void watch.look()
    await begun(1)
    await pass(5_000)
    expect(reasons).to.deep.equal(['TimeoutError'])
    finish()
    await settled()
    expect(due).to.have.length(1)
    await pass(1_002)
    await begun(1)
  })

  it('asks about all that is open once a minute, and in no second round while one lasts', async () => {
    const answers: (() => void)[] = []
    const { due } = held(() => new Promise((resolve) => answers.push(resolve)))
    const finish = () => {
      for (const answer of answers.splice(0)) answer()
    }
    due.push(...sessionsOf(20, 'shop', now() + 3_000))
    for (let minute = 0; minute < 3; minute += 1) await pass(60_000)
    expect(answers).to.have.length(16)
    finish()
    await until(() => answers.length === 4)
    finish()
    await settled()
    await pass(60_000)
    expect(answers).to.have.length(16)
  })
})

/** With the option on: its own watch looks. */
function attached(): Pick<Watched, 'provider' | 'looks'> {
  const looks: number[] = []
  const findDue = async () => {
    looks.push(now())
    return []
  }
  const sessions = { findDue, claim: async () => false, settle: async () => {} }
  const { provider, impersonation } = providerOf(sessions, {}, { door: 'https://id.example.com/impersonate' })
  impersonation.router()
  return { provider, looks }
}

describe('sessions: a provider that is dropped', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }))
  afterEach(() => mock.timers.reset())

  for (const [what, make] of Object.entries({ 'a watch': () => watched(), 'the option': attached })) {
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
