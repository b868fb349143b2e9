/** The test of each database: pairs of calls that meet, and what must be true afterwards. */
import { expect } from 'chai'
import type { Sequelize } from 'sequelize'
import { type Database, type DatabaseKind, openDatabase } from '../../../fixtures/databases.ts'
import { beforeOn, describeOn } from '../../../fixtures/on-database.ts'
import { type RacerConfiguration, type Racers, startRacers } from '../../../fixtures/racers.ts'
import { linesOf, PAIRS, racePairs } from './pairs.ts'
import { LONG } from './race.ts'

export interface Course {
  readonly racers: Racers
  readonly sequelize: Sequelize
}

export function itRacesPairs(course: () => Course): void {
  it('lets exchanges, stops and replays of one token meet in one of two orders', async function () {
    this.timeout(Math.max(60_000, PAIRS * 200))
    const began = performance.now()
    const tallies = await racePairs({ ...course(), pairs: PAIRS })
    const lines = linesOf(tallies)
    if (LONG)
      console.log(
        [...lines, `${((performance.now() - began) / 1000).toFixed(0)} s`]
          .map((line) => `      ${line}`)
          .join('\n'),
      )
    for (const [name, { pairs, met, one, other, faults, errors }] of tallies) {
      expect({ faults, errors }, lines.join('\n')).to.deep.equal({ faults: {}, errors: [] })
      expect(met, `${name}: met at the gate`).to.equal(pairs)
      expect(Math.min(one, other), `${name}: the rarer order, of ${pairs}`).to.be.at.least(
        Math.floor(pairs * 0.05),
      )
    }
  })
}

/** How each process reaches the database, if not directly, and what is to be ended before the database is closed. */
interface Way extends Partial<RacerConfiguration> {
  readonly stop?: () => Promise<void>
}

/** Three processes on one database. `prepare` changes it, or finds the way to it; skipped where it finds none. */
export function describePairs(
  kind: DatabaseKind,
  where: string,
  prepare: (database: Database) => Promise<Way | undefined> = async () => ({}),
): void {
  describeOn(kind, `pairs of calls in three processes ${where}`, () => {
    let database: Database
    let racers: Racers
    let way: Way | undefined
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
    })
    before(async function () {
      way = await prepare(database)
      if (!way) return this.skip()
      const { databaseUrl = database.url, isolation } = way
      racers = await startRacers(Array.from({ length: 3 }, () => ({ databaseUrl, isolation })))
    })
    after(async () => {
      await racers?.close()
      await way?.stop?.()
      await database?.close()
    })

    itRacesPairs(() => ({ racers, sequelize: database.sequelize }))
  })
}
