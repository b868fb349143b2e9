/** The contracts of a store and of an adapter: what keeps them passes, and each lapse of their authors is found. */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import {
  adapterContract,
  createMemoryStore,
  subjectTokenStoreContract,
} from '../../packages/store-contract/src/index.ts'
import { tokensIn } from '../../packages/store-contract/src/store/tokens.ts'
import type { SessionStore, SubjectTokenStore } from '../../src/index.ts'
import { SESSION_METHODS, STORE_METHODS } from '../../src/tokens/store.ts'
import { type Declare, describeLapses, failuresOf } from './lapses.ts'
import { MapAdapter, type Row } from './map-adapter.ts'
import { strict } from './strict-store.ts'

type Methods = Readonly<Record<string, (...given: unknown[]) => unknown>>

const ITERABLES = ['summarize', 'countLive', 'revokeWhere']

/** A store of which each call passes through these. */
function through(
  store: SubjectTokenStore,
  answer: (call: () => Promise<unknown>) => Promise<unknown>,
  iterate: (call: () => AsyncIterable<unknown>) => AsyncIterable<unknown>,
): SubjectTokenStore {
  const { sessions, ...others } = store
  const passed = (methods: object) =>
    Object.entries(methods as Methods).map(([name, method]) => [
      name,
      (...given: unknown[]) => {
        const call = () => method(...given)
        return ITERABLES.includes(name) ? iterate(call as never) : answer(call as never)
      },
    ])
  return Object.fromEntries([
    ...passed(others),
    ['sessions', Object.fromEntries(passed(sessions ?? {}))],
  ]) as SubjectTokenStore
}

/** A store that pauses before and after the work of each call, and yields one by one, with nothing in between. */
const slow = (before: () => Promise<unknown>, after: () => Promise<unknown>) =>
  through(
    createMemoryStore(),
    async (call) => {
      await before()
      const answer = await call()
      await after()
      return answer
    },
    async function* (call) {
      await before()
      for await (const part of call()) {
        await after()
        if (!Array.isArray(part)) yield part
        else for (const one of part.toReversed()) yield* [[], [one]]
      }
    },
  )

const none = async () => {}
const some = async () => {
  for (let turns = Math.floor(Math.random() * 5); turns > 0; turns -= 1) await turn()
}
const seldom = async () => {
  if (Math.random() < 0.05) await wait(1)
}

/** A store whose storage is out of reach. */
const broken = (): SubjectTokenStore => {
  const fail = () => Promise.reject(new Error('the connection is closed'))
  return through(createMemoryStore(), fail, async function* () {
    yield await fail()
  })
}

const contractOf =
  (create: () => SubjectTokenStore, createBroken = broken): Declare =>
  (runner) =>
    subjectTokenStoreContract({
      ...runner,
      create: async () => ({ store: create() }),
      createBroken: async () => ({ store: createBroken() }),
    })

const titlesOf = async (failures: Promise<Map<string, string>>) => [...(await failures).keys()]

describe('the contract of a store of subject tokens', () => {
  const right: Readonly<Record<string, () => SubjectTokenStore>> = {
    'takes nothing but what the plugin sends': () => strict(createMemoryStore()),
    'begins each call a turn later': () => slow(turn, none),
    'answers each call a turn later': () => slow(none, turn),
    'begins and answers each call some turns later': () => slow(some, some),
    'begins and answers some calls much later': () => slow(seldom, seldom),
    'has no sessions'() {
      const { sessions: _, ...store } = createMemoryStore()
      return store
    },
  }
  for (const [name, create] of Object.entries(right))
    it(`is kept by a store that ${name}`, async () => {
      expect(await titlesOf(failuresOf(contractOf(create)))).to.deep.equal([])
    })

  describeLapses(
    'store-lapses.txt',
    '../../packages/store-contract/src/memory-store.ts',
    (module: { createMemoryStore(): SubjectTokenStore }) => contractOf(module.createMemoryStore),
    / where storage fails/,
  )

  it('finds each method that answers, or quotes a hash, where storage fails', async () => {
    const answers = (name: string) =>
      ITERABLES.includes(name) ? async function* () {} : async () => undefined
    const faults: Readonly<Record<string, () => Partial<SubjectTokenStore>>> = {
      ...Object.fromEntries(STORE_METHODS.map((name) => [name, () => ({ [name]: answers(name) })])),
      insert: () => ({ insert: ({ tokenHash }) => Promise.reject(new Error(`not stored: ${tokenHash}`)) }),
      consume: () => ({ consume: () => Promise.resolve(false) }),
    }
    for (const [name, fault] of Object.entries(faults)) {
      const contract = contractOf(createMemoryStore, () => ({ ...broken(), ...fault() }))
      const title = `${name} rejects where storage fails, and quotes no hash`
      expect(await titlesOf(failuresOf(contract, [title]))).to.deep.equal([title])
    }
    for (const name of SESSION_METHODS) {
      const { sessions, ...rest } = broken()
      const answering = { ...sessions, [name]: async () => undefined } as SessionStore
      const contract = contractOf(createMemoryStore, () => ({ ...rest, sessions: answering }))
      const title = `sessions.${name} rejects where storage fails, and quotes no hash`
      expect(await titlesOf(failuresOf(contract, ['sessions.']))).to.deep.equal([title])
    }
    const ready = contractOf(createMemoryStore, () => ({ ...broken(), ready: async () => {} }))
    expect(await titlesOf(failuresOf(ready, ['is not ready']))).to.deep.equal([
      'is not ready where storage fails',
    ])
  })

  it('makes ids that sort in their order, however many it has made', () => {
    const { newToken } = tokensIn(createMemoryStore())
    const ids = Array.from({ length: 70_000 }, () => newToken().id)
    expect(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? ''))).to.equal(true)
  })

  it('closes what it was given, also where a test fails', async () => {
    const open = new Set<object>()
    const failures = await failuresOf((runner) =>
      subjectTokenStoreContract({
        ...runner,
        create: async () => {
          const subject = {
            store: { ...createMemoryStore(), insert: () => Promise.reject(new Error('full')) },
            close: () => void open.delete(subject),
          }
          open.add(subject)
          return subject
        },
      }),
    )
    expect(failures).not.to.have.property('size', 0)
    expect(open.size).to.equal(0)
  })
})

/** Every text of it, at any depth. */
const textsOf = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : Object.values(Object(value)).flatMap(textsOf)

/** Refuses what no release of oidc-provider sends. */
class StrictAdapter extends MapAdapter {
  override key(id: string): string {
    if (id === '' || !/^[A-Z][A-Za-z]+$/.test(this.model)) throw new Error(`not sent: ${this.model} ${id}`)
    return super.key(id)
  }

  override async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const owners = { uid: 'Session', userCode: 'DeviceCode' }
    for (const [member, owner] of Object.entries(owners))
      if (member in payload && this.model !== owner) throw new Error(`not sent: ${member}`)
    if (textsOf(payload).includes('') || Object.keys(payload).length === 0)
      throw new Error('not sent: no text')
    if (expiresIn !== undefined && !(expiresIn > 0)) throw new Error('not sent: no life')
    await super.upsert(id, payload, expiresIn)
  }

  override by(member: string, value: string): AdapterPayload | undefined {
    this.key(value)
    if (this.model !== (member === 'uid' ? 'Session' : 'DeviceCode')) throw new Error(`not asked: ${member}`)
    return super.by(member, value)
  }

  override async revokeByGrantId(grantId: string): Promise<void> {
    this.key(grantId)
    await super.revokeByGrantId(grantId)
  }
}

class LateAdapter extends MapAdapter {
  override async consume(id: string): Promise<void> {
    const row = this.rows.get(this.key(id))
    if (row) row.payload.consumed = Math.floor(Date.now() / 1000) - 1
  }
}

describe('the contract of an adapter', () => {
  afterEach(() => void Reflect.deleteProperty(Object.prototype, 'polluted'))

  const contractWith =
    (Kind: new (rows: Map<string, Row>, model: string) => Adapter): Declare =>
    (runner) =>
      adapterContract({
        ...runner,
        create: async () => {
          const rows = new Map<string, Row>()
          return { adapter: (model) => new Kind(rows, model) }
        },
      })

  const right = {
    'takes nothing but what oidc-provider sends': StrictAdapter,
    'has a clock that is a second behind': LateAdapter,
  }
  for (const [name, Kind] of Object.entries(right))
    it(`is kept by one that ${name}`, async () => {
      expect(await titlesOf(failuresOf(contractWith(Kind)))).to.deep.equal([])
    })

  describeLapses('adapter-lapses.txt', 'map-adapter.ts', (module: { MapAdapter: typeof MapAdapter }) =>
    contractWith(module.MapAdapter),
  )
})
