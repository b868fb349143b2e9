/** What `impersonation.ready()` says to a readiness probe, and how long it waits for a store. */
import { mock } from 'node:test'
import { expect } from 'chai'
import { withDeployment } from '../../fixtures/deployment.ts'
import { useDatabase } from '../../fixtures/on-database.ts'
import { uncalledStore } from '../../fixtures/uncalled-store.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { type SubjectTokenStore, storeReady } from '../../src/tokens/store.ts'

const reasonOf = (asking: Promise<void>): Promise<unknown> =>
  asking.then(
    () => 'ready',
    (error: unknown) => (error instanceof Error ? error.message : error),
  )

describe('ready', () => {
  const database = useDatabase('sqlite')

  /** What a probe is told of a store whose `ready` is this one, and the ids that were read from it. */
  const askStore = async (
    ready: SubjectTokenStore['ready'],
    change: Partial<SubjectTokenStore> = {},
  ): Promise<unknown[]> => {
    const own = createSubjectTokenStore(database.sequelize)
    const told: unknown[] = []
    const find: SubjectTokenStore['find'] = (issuer, id) => {
      told.push(id)
      return own.find(issuer, id)
    }
    const store = { ...own, find, ready, ...change }
    await withDeployment({ database, options: { store } }, async ({ impersonation }) => {
      told.push(await reasonOf(impersonation.ready()))
    })
    return told
  }

  it('is what the `ready` of a store says: nothing is read then', async () => {
    expect(await askStore(() => Promise.reject(new Error('not yet')))).to.deep.equal(['not yet'])
    expect(await askStore(async () => {})).to.deep.equal(['ready'])
  })

  it('is one read from a store without `ready`, whose failure is the reason', async () => {
    expect(await askStore(undefined)).to.deep.equal(['0'.repeat(32), 'ready'])
    const find = () => Promise.reject(new Error('no such table'))
    expect(await askStore(undefined, { find })).to.deep.equal(['no such table'])
  })
})

describe('the readiness of a store', () => {
  const ask = (ready: () => Promise<void>): Promise<void> =>
    storeReady({ ...uncalledStore, ready }, 'https://issuer.example')
  /** Timers that keep the process alive. */
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

  it('is waited for during five seconds, and not a millisecond longer', async () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      let told: unknown
      const asking = reasonOf(ask(() => new Promise(() => {}))).then((reason) => {
        told = reason
      })
      mock.timers.tick(4999)
      await new Promise((resolve) => setImmediate(resolve))
      expect(told).to.equal(undefined)
      mock.timers.tick(1)
      await asking
      expect(told).to.equal('the store did not respond within 5 s')
    } finally {
      mock.timers.reset()
    }
  })

  it('leaves no timer, whether the store is ready or not', async () => {
    await Promise.resolve()
    const before = timers()
    for (const ready of [() => Promise.resolve(), () => Promise.reject(new Error('not yet'))]) {
      const asking = ask(ready)
      expect(timers()).to.equal(before + 1)
      await asking.catch(() => {})
      expect(timers()).to.equal(before)
    }
  })
})
