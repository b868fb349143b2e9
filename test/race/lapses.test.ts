/** Lapses in time by a fault in the driver: the contract of a store finds them on the servers, too. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn, describeOn } from '../../fixtures/on-database.ts'
import type { Driver } from '../../src/sequelize/database/driver.ts'
import type { Binding, Row, Text } from '../../src/sequelize/database/text.ts'
import { hexOf } from '../../src/sequelize/database/values.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { ACTORS, STOPS, USES } from '../../src/sequelize/tables.ts'
import { partOf, USED } from '../../src/sequelize/tokens/rows.ts'
import { subjectTokenStoreContract, type TestRunner } from '../../src/testing/index.ts'
import { errorsOf } from '../testing/collected.ts'
import { MEETS } from '../testing/lapses.ts'
import { LONG } from './race.ts'

type Run = Driver['run']

/** A driver of which the statements are counted. */
interface Watched extends Pick<Driver, 'run' | 'dialect'> {
  /** Resolves when none of the statements is under way for so many turns, or many more of them have been answered. */
  othersGoOn(idleTurns?: number): Promise<void>
}

/** A fault in how a driver runs statements, and the titles of the tests of which each says so. */
interface DriverLapse {
  plant(driver: Watched): Run
  readonly found: readonly string[]
}

const NOTHING = { rows: [], affected: 0 }

/** Statements: more than the calls of one meeting send. */
const MANY = 50
/** Turns of the event loop: more than there are between two statements of a call. */
const IDLE = 10

function watch({ run, dialect }: Driver): Watched {
  let underWay = 0
  let answered = 0
  return {
    dialect,
    async run(...given) {
      underWay += 1
      try {
        return await run(...given)
      } finally {
        underWay -= 1
        answered += 1
      }
    },
    async othersGoOn(idleTurns = IDLE) {
      const enough = answered + MANY
      for (let idle = 0; idle < idleTurns && answered < enough; idle = underWay > 0 ? 0 : idle + 1)
        await turn()
    },
  }
}

const isSpend = ({ intent }: Text): boolean => intent?.to === 'claim' && intent.table === USES.name
const isTombstone = ({ sql, intent }: Text): boolean => sql.startsWith(`INSERT INTO ${USES.name} `) && !intent
const readsStops = ({ sql }: Text): boolean => sql.includes(partOf('s'))
const readsUses = ({ sql, intent }: Text): boolean => sql.includes(partOf('u')) && !intent

/** Spends that look which tokens have a row of a table, and write for those that they saw none of. */
const looking =
  ({ run, othersGoOn }: Watched, rows: string, write: Run): Run =>
  async (connection, text, bindings) => {
    if (!isSpend(text)) return run(connection, text, bindings)
    const ids = bindings.map((binding) => binding[USED.indexOf('token_id')] ?? null)
    const places = ids.map((_, index) => `$${index + 1}`)
    const sql = `SELECT token_id FROM ${rows} AND token_id IN (${places.join(', ')})`
    const [found = NOTHING] = await run(connection, { sql, rare: true }, [ids])
    const seen = new Set(found.rows.map(({ token_id: id }) => hexOf(id)))
    await othersGoOn()
    const results = []
    for (const [index, binding] of bindings.entries())
      results.push(...(seen.has(hexOf(ids[index])) ? [NOTHING] : await write(connection, text, [binding])))
    return results
  }

/** Kill switches that return the uses that they read before they wrote. */
const readingUsesBefore = ({ run }: Watched): Run => {
  const before = new Map<string, Row>()
  let [kills, wrote] = [false, false]
  const answer = (row: Row): Row => {
    const none = Object.keys(row).flatMap((name) => (name.startsWith('u_') ? [[name, null]] : []))
    return { ...row, ...Object.fromEntries(none), ...before.get(hexOf(row.id)) }
  }
  return async (connection, text, bindings) => {
    wrote ||= kills && isTombstone(text)
    const results = await run(connection, text, bindings)
    if (readsUses(text)) {
      kills = true
      for (const row of results.flatMap(({ rows }) => rows)) before.set(hexOf(row.u_token_id), row)
    }
    if (!wrote || text.intent?.to !== 'find') return results
    return results.map(({ rows, affected }) => ({ rows: rows.map(answer), affected }))
  }
}

/** Stops of one that return the use that they read first. */
const readingBefore = ({ run }: Watched): Run => {
  const before = new Map<string, Row>()
  const answer = (row: Row): Row => {
    const id = hexOf(row.id)
    if (row.s_stopped_at === null) {
      before.set(id, row)
      return row
    }
    const use = Object.entries(before.get(id) ?? {}).filter(([name]) => name.startsWith('u_'))
    return { ...row, ...Object.fromEntries(use) }
  }
  return async (connection, text, bindings) => {
    const results = await run(connection, text, bindings)
    if (text.intent?.to !== 'find') return results
    return results.map(({ rows, affected }) => ({ rows: rows.map(answer), affected }))
  }
}

const LAPSES: Readonly<Record<string, DriverLapse>> = {
  'a spend that looks for a use, then writes': {
    plant: (driver) =>
      looking(driver, `${USES.name} WHERE 1 = 1`, async (...given) => {
        await driver.run(...given)
        return [{ ...NOTHING, affected: 1 }]
      }),
    found: [MEETS.spends],
  },
  'a spend that looks for a stop, then writes on "unspent" alone': {
    plant(driver) {
      const spend = looking(driver, `${STOPS.name} WHERE stopped_at IS NOT NULL`, driver.run)
      return async (connection, text, bindings) => {
        if (isTombstone(text)) return bindings.map(() => NOTHING)
        // After the spends that are on their way have looked, and before they write.
        if (text.sql.startsWith(`INSERT INTO ${STOPS.name} `)) await driver.othersGoOn(2)
        return spend(connection, text, bindings)
      }
    },
    found: [MEETS.revocation, MEETS.userKill],
  },
  'a stop of one token that returns what it read before its mark': {
    plant: (driver) => readingBefore(driver),
    found: [MEETS.revocation],
  },
  'a kill switch that returns what it read before its mark': {
    plant: (driver) => readingUsesBefore(driver),
    found: [MEETS.userKill],
  },
  'links of a chain that are written after the spend': {
    plant({ run, othersGoOn }) {
      const held: (readonly [text: Text, bindings: readonly Binding[]])[] = []
      return async (connection, text, bindings) => {
        if (text.sql.startsWith(`INSERT INTO ${ACTORS.name} `)) {
          held.push([text, bindings])
          return [NOTHING]
        }
        const results = await run(connection, text, bindings)
        if (isSpend(text)) {
          await othersGoOn()
          for (const links of held.splice(0)) await run(connection, ...links)
        }
        return results
      }
    },
    found: [MEETS.shown],
  },
  'a stop that counts as reported when it is read': {
    plant:
      ({ run, dialect }) =>
      async (connection, text, bindings) => {
        const results = await run(connection, text, bindings)
        if (readsStops(text))
          for (const { s_token_id: id, s_stopped_at: stoppedAt } of results.flatMap(({ rows }) => rows))
            if (stoppedAt !== null && id !== null)
              await run(connection, { sql: `UPDATE ${STOPS.name} SET reported = 1 WHERE token_id = $1` }, [
                [dialect.bindId(hexOf(id))],
              ])
        return results
      },
    found: [
      'returns what is stopped as unreported until it is reported',
      'a kill switch that is left after its first batch loses nothing',
    ],
  },
}

const RUNS = LONG ? 20 : 1

for (const kind of ['postgres', 'mysql'] as const)
  describeOn(kind, `lapses in time by a fault in the driver, on ${kind}`, function () {
    this.timeout(RUNS * 30_000)
    let database: Database
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
    })
    after(() => database?.close())

    const contractWith = (plant: DriverLapse['plant']) => (runner: TestRunner) =>
      subjectTokenStoreContract({
        ...runner,
        async create() {
          const pool = database.connect()
          const driver = driverOf(pool)
          driver.run = plant(watch({ ...driver }))
          return { store: createSubjectTokenStore(pool), close: () => pool.close() }
        },
      })

    it('are none in a driver without a fault', async () => {
      const titles = Object.values(LAPSES).flatMap(({ found }) => found)
      expect(
        await errorsOf(
          contractWith(({ run }) => run),
          titles,
        ),
      ).to.deep.equal(new Map())
    })

    for (const [name, { plant, found }] of Object.entries(LAPSES))
      it(`are found in each run, of ${RUNS}: ${name}`, async () => {
        for (let run = 1; run <= RUNS; run += 1) {
          const failures = await errorsOf(contractWith(plant), found)
          expect([...failures.keys()], `run ${run}`).to.have.members(found)
        }
      })
  })
