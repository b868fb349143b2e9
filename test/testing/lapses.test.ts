/** The contract of a store finds each lapse in time, in every run, and none in a store that is only slow. */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import type { SubjectTokenStore } from '../../src/index.ts'
import { SESSION_METHODS, STORE_METHODS } from '../../src/subject-tokens/store.ts'
import { createMemoryStore, subjectTokenStoreContract, type TestRunner } from '../../src/testing/index.ts'
import { errorsOf, failuresOf } from './collected.ts'
import { FURTHER_LAPSES, LAPSES, type Lapse, storeWith } from './lapses.ts'
import { SESSION_LAPSES } from './session-lapses.ts'
import { STRANGERS_LAPSES } from './strangers-lapses.ts'

const RUNS = 20

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
const slow = (store: SubjectTokenStore, before: () => Promise<unknown>, after: () => Promise<unknown>) =>
  through(
    store,
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

/** A store whose storage is out of reach. */
const broken = (): SubjectTokenStore => {
  const fail = () => Promise.reject(new Error('the connection is closed'))
  return through(createMemoryStore(), fail, async function* () {
    yield await fail()
  })
}

const brokenWith = ({ change }: Lapse): SubjectTokenStore => {
  const store = broken()
  return { ...store, ...change(store, { tokens: new Map(), unreported: new Set(), marks: new Map() }) }
}

const contractOf =
  (create: () => SubjectTokenStore, createBroken = broken) =>
  (runner: TestRunner) =>
    subjectTokenStoreContract({
      ...runner,
      create: async () => ({ store: create() }),
      createBroken: async () => ({ store: createBroken() }),
    })

const none = async () => {}
const some = async () => {
  for (let turns = Math.floor(Math.random() * 5); turns > 0; turns -= 1) await turn()
}

const seldom = async () => {
  if (Math.random() < 0.05) await wait(1)
}

describe('lapses in time of a store of subject tokens', () => {
  const right: Readonly<Record<string, () => SubjectTokenStore>> = {
    'is as it should be': createMemoryStore,
    'begins each call a turn later': () => slow(createMemoryStore(), turn, none),
    'answers each call a turn later': () => slow(createMemoryStore(), none, turn),
    'begins and answers each call some turns later': () => slow(createMemoryStore(), some, some),
    'begins and answers some calls much later': () => slow(createMemoryStore(), seldom, seldom),
  }
  for (const [name, create] of Object.entries(right))
    it(`is kept by a store that ${name}`, async () => {
      expect(await failuresOf(contractOf(create))).to.deep.equal([])
    })

  const lapses = { ...LAPSES, ...FURTHER_LAPSES, ...STRANGERS_LAPSES, ...SESSION_LAPSES }
  for (const [name, lapse] of Object.entries(lapses)) {
    it(`finds in ${RUNS} of ${RUNS} runs: ${name}`, async () => {
      for (let run = 1; run <= RUNS; run += 1) {
        const contract = contractOf(
          () => storeWith(lapse),
          () => brokenWith(lapse),
        )
        const failures = await errorsOf(contract, lapse.found)
        expect([...failures.keys()], `run ${run}`).to.have.members(lapse.found)
        for (const text of failures.values()) expect(text).not.to.match(/^Expected values/)
      }
    })
  }

  it('finds each method that answers, or quotes a hash, where storage fails', async () => {
    const answers = (name: string) =>
      ITERABLES.includes(name) ? async function* () {} : async () => undefined
    const faults: Readonly<Record<string, () => Partial<SubjectTokenStore>>> = {
      ...Object.fromEntries(STORE_METHODS.map((name) => [name, () => ({ [name]: answers(name) })])),
      insert: () => ({ insert: ({ tokenHash }) => Promise.reject(new Error(`not stored: ${tokenHash}`)) }),
    }
    for (const [name, fault] of Object.entries(faults)) {
      const contract = contractOf(createMemoryStore, () => ({ ...broken(), ...fault() }))
      const title = `${name} rejects where storage fails, and quotes no hash`
      expect([...(await errorsOf(contract, [title])).keys()]).to.deep.equal([title])
    }
    for (const name of SESSION_METHODS) {
      const { sessions, ...rest } = broken()
      const answering = { ...sessions, [name]: async () => undefined } as NonNullable<typeof sessions>
      const contract = contractOf(createMemoryStore, () => ({ ...rest, sessions: answering }))
      expect(await failuresOf(contract)).to.deep.equal([`sessions.${name} rejects where storage fails`])
    }
    const ready = contractOf(createMemoryStore, () => ({ ...broken(), ready: async () => {} }))
    expect(await failuresOf(ready)).to.deep.equal(['is not ready where storage fails'])
  })
})
