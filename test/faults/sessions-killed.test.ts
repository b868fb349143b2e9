/** A process is killed at each write about a session: no end is lost, and no session is without its record. */
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { DATABASES, type Database, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import type { Said, Write } from '../../fixtures/session-opener.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const OPENER = path.join(import.meta.dirname, '../../fixtures/session-opener.ts')
const WRITES: readonly Write[] = ['open', 'stop', 'claim', 'answer', 'settle']
/** At each write. */
const KILLS = 4
const LATER = Math.floor(Date.now() / 1000) + 100_000

/** What a process has said of each session until it was killed: the last of its writes, and whether it was done. */
type Ends = ReadonlyMap<string, Said>

/** Kills a process as soon as it begins this write for the fifth time, or some moments later. */
async function killedAt(write: Write, url: string, issuer: string): Promise<Ends> {
  const child: ChildProcess = fork(OPENER, [url, issuer], { execArgv: ['--no-warnings'] })
  const exit = once(child, 'exit')
  const ends = new Map<string, Said>()
  let begun = 0
  child.on('message', (message) => {
    const said = message as Said
    ends.set(said.id, said)
    if (said.write !== write || said.is !== 'begun') return
    begun += 1
    if (begun === 5) void sleep(Math.random() * 3).then(() => child.kill('SIGKILL'))
  })
  const [, signal] = await exit
  expect(signal).to.equal('SIGKILL')
  return ends
}

describe('a process that is killed while it ends sessions', function () {
  this.timeout(90_000)

  for (const kind of DATABASES) {
    describe(`on ${kind}`, () => {
      let database: Database
      beforeOn(kind, async () => {
        database = await openDatabase(kind)
      })
      after(() => database?.close())

      for (const write of WRITES)
        it(`leaves no session that no one will end: at its write to ${write}`, async () => {
          const store = createSubjectTokenStore(database.sequelize)
          const sessions = store.sessions ?? expect.fail('no sessions')
          for (let kills = 0; kills < KILLS; kills += 1) {
            const issuer = `https://${randomUUID()}.example.com`
            const ends = await killedAt(write, database.url, issuer)
            expect(ends.size).to.be.at.least(5)
            const open = new Map((await sessions.findDue(issuer, LATER, 10_000)).map((due) => [due.id, due]))
            const untried = new Set((await sessions.findDue(issuer, 0, 10_000)).map(({ id }) => id))
            for (const id of open.keys()) expect(ends.has(id), 'a session without a record').to.equal(true)
            for (const [id, said] of ends) {
              const reached = 2 * WRITES.indexOf(said.write) + (said.is === 'done' ? 1 : 0)
              const has = (done: Write) => reached >= 2 * WRITES.indexOf(done) + 1
              const hasBegun = (begun: Write) => reached >= 2 * WRITES.indexOf(begun)
              const use = (await store.find(issuer, id))?.use
              if (has('open')) expect(use, 'a session that was opened has no use').not.to.equal(undefined)
              if (use && !hasBegun('settle')) expect(open.has(id), 'no one will end it').to.equal(true)
              if (has('stop') && !hasBegun('claim'))
                expect(untried.has(id), 'its stop is not seen').to.equal(true)
              if (has('claim')) expect(untried.has(id), 'it was tried').to.equal(false)
              if (has('answer')) expect(use?.session?.logout).to.equal('confirmed')
              if (has('settle')) expect(open.has(id), 'it was settled').to.equal(false)
            }
          }
        })
    })
  }
})
