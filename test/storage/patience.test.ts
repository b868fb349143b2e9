/** How long a statement is waited for: the time limit of each step, and the pauses before it is sent again. */
import { mock } from 'node:test'
import { expect } from 'chai'
import { useDatabase } from '../../fixtures/on-database.ts'
import { recordPauses } from '../../fixtures/pauses.ts'
import type { Fate } from '../../src/sequelize/database/driver.ts'
import { createPatience } from '../../src/sequelize/database/patience.ts'
import { databaseOf, driverOf } from '../../src/sequelize/drivers.ts'

describe('a statement that does not come back', () => {
  const database = useDatabase('sqlite', { each: true })

  const turn = () => new Promise((resolve) => setImmediate(resolve))
  /** What a call has come to. */
  const watch = (call: Promise<unknown>) => {
    const seen: unknown[] = []
    call.then(
      (value) => seen.push(value),
      (error: unknown) => seen.push(error),
    )
    return seen
  }
  /** Until the time limit is over, and not before. */
  const endAfter = async (seconds: number, seen: readonly unknown[]) => {
    await turn()
    mock.timers.tick(seconds * 1000 - 1)
    await turn()
    expect(seen).to.deep.equal([])
    mock.timers.tick(1)
    await turn()
    expect(seen).to.have.length(1)
  }

  for (const [given, seconds] of [
    [undefined, 10],
    [3, 3],
  ] as const) {
    it(`fails after ${seconds} s, and may have had its effect`, async () => {
      const { sequelize } = database
      driverOf(sequelize).run = () => new Promise(() => {})
      mock.timers.enable({ apis: ['setTimeout'] })
      try {
        const seen = watch(databaseOf(sequelize, given).write('UPDATE', []))
        await endAfter(seconds, seen)
        expect(seen[0]).to.have.property('code', 'ETIMEDOUT')
        expect(seen[0]).to.have.property('tookEffect', undefined)
      } finally {
        mock.timers.reset()
      }
    })
  }

  it('for want of a connection has no effect, and a connection that comes too late is given back', async () => {
    const { connectionManager } = database.sequelize
    const { promise, resolve } = Promise.withResolvers<object>()
    const released: unknown[] = []
    connectionManager.getConnection = () => promise
    connectionManager.releaseConnection = (connection: unknown) => void released.push(connection)
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      const seen = watch(databaseOf(database.sequelize).write('UPDATE', []))
      await endAfter(10, seen)
      expect(seen[0]).to.include({ code: 'ETIMEDOUT', tookEffect: false })
      expect(released).to.deep.equal([])
      const connection = {}
      resolve(connection)
      await turn()
      expect(released).to.deep.equal([connection])
    } finally {
      mock.timers.reset()
      Reflect.deleteProperty(connectionManager, 'getConnection')
      Reflect.deleteProperty(connectionManager, 'releaseConnection')
    }
  })

  it('is the only one that keeps a timer', async () => {
    const real = { setTimeout, clearTimeout }
    const running = new Set<unknown>()
    let started = 0
    Object.assign(globalThis, {
      setTimeout: (...args: Parameters<typeof setTimeout>) => {
        const timer = real.setTimeout(...args)
        running.add(timer)
        started += 1
        return timer
      },
      clearTimeout: (timer: NodeJS.Timeout) => {
        running.delete(timer)
        real.clearTimeout(timer)
      },
    })
    try {
      const bound = databaseOf(database.sequelize)
      expect(await bound.find('SELECT 1 AS one', [])).to.deep.equal([{ one: 1 }])
      expect(await bound.find('broken', []).catch((error: unknown) => error)).to.be.an('error')
      expect(started).to.be.greaterThan(3)
      expect(running).to.have.property('size', 0)
    } finally {
      Object.assign(globalThis, real)
    }
  })
})

describe('a statement that is sent again', () => {
  const database = useDatabase('sqlite', { each: true })

  /** One that fails with these fates, the last of them for good. */
  const failing = (...fates: readonly [...Fate[], Fate]) => {
    const { sequelize } = database
    const left = [...fates]
    Object.assign(driverOf(sequelize), {
      run: () => Promise.reject(new Error('failed')),
      fateOf: () => (left.length > 1 ? left.shift() : left[0]) as Fate,
    })
    return databaseOf(sequelize)
      .write('UPDATE', [])
      .catch(() => {})
  }

  it('pauses four times, for up to twice as long each time, by chance', async () => {
    expect(await recordPauses(() => failing('rolled back'), 0.5)).to.deep.equal([10, 20, 40, 80])
    expect(await recordPauses(() => failing('rolled back'), 0.25)).to.deep.equal([5, 10, 20, 40])
  })

  it('waits five seconds for a lock, in pauses of up to 80 ms', async () => {
    const pauses = await recordPauses(() => failing('locked'))
    expect(pauses.slice(0, 5)).to.deep.equal([10, 20, 40, 80, 80])
    expect(new Set(pauses.slice(3))).to.deep.equal(new Set([80]))
    const waited = pauses.reduce((sum, pause) => sum + pause, 0)
    expect(waited).to.be.within(5000, 5079)
  })

  it('has patience with a lock to the very end of that time, which begins with the first pause', async () => {
    await recordPauses(async (pass) => {
      const wait = createPatience()
      pass(60_000)
      expect(await wait()).to.equal(true)
      pass(5000 - 10)
      expect(await wait()).to.equal(true)
      expect(await wait()).to.equal(false)
    })
  })

  it('pauses for a lock together with all that pause for as long, so that they share a batch again', async () => {
    const pauses = await recordPauses(async () => {
      const [one, other] = [createPatience(), createPatience()]
      expect(await Promise.all([one(), other()])).to.deep.equal([true, true])
      expect(await one()).to.equal(true)
    })
    expect(pauses).to.deep.equal([10, 20])
  })

  it('pauses by chance after a lock, too, when it is rolled back', async () => {
    const pauses = await recordPauses(() => failing('locked', 'locked', 'rolled back'), 0.25)
    expect(pauses).to.deep.equal([10, 20, 5, 10, 20, 40])
  })

  it('because its connection ended only reads, and goes again no later than the time limit of the first', async () => {
    const { sequelize } = database
    const send = async (pass: (milliseconds: number) => void, taking: number) => {
      let sent = 0
      Object.assign(driverOf(sequelize), {
        fateOf: (): Fate => 'lost',
        async run() {
          sent += 1
          pass(taking)
          throw new Error('failed')
        },
      })
      await databaseOf(sequelize, 3)
        .find('SELECT', [])
        .catch(() => {})
      return sent
    }
    await recordPauses(async (pass) => {
      expect(await send(pass, 0)).to.equal(5)
      expect(await send(pass, 2_900)).to.equal(2)
      expect(await send(pass, 3_000)).to.equal(1)
    })
  })
})
