/** `npm run soak -- --minutes 20`: see docs/fuzz.md. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startMariadb } from '../../fixtures/mariadb.ts'
import { startPostgres } from '../../fixtures/postgres.ts'
import type { OwnServer } from '../../fixtures/server-process.ts'
import { connect } from '../../src/cli/connect.ts'
import { migrate } from '../../src/sequelize/index.ts'
import { startLoad } from './load.ts'
import type { Gauges } from './server.ts'
import { slopeOf } from './slope.ts'

const USAGE = `npm run soak -- [options]

  --minutes <n>   how long (default 20)
  --kind <kind>   the database server that is started, and killed twice: postgres, mysql (default postgres)
`
const SERVERS = { postgres: startPostgres, mysql: startMariadb }
/** Seconds. */
const SAMPLE_EVERY = 5
const DOWN = 3
/** How long the service may take until it serves again. */
const RECOVERY = 15

/** What may grow in a minute, once the caches are full. */
const LIMITS: Readonly<Record<keyof Gauges, number>> = {
  rss: 8 * 1024 * 1024,
  heap: 1024 * 1024,
  handles: 5,
  connections: 1,
  delay: Number.POSITIVE_INFINITY,
}

interface Sampled extends Gauges {
  readonly at: number
}

const { minutes, kind } = optionsOrExit()
const database = await SERVERS[kind]()
if (!database) throw new Error(`no ${kind} server can be started here`)
try {
  await soak(database)
} finally {
  await database.stop()
}

function optionsOrExit() {
  try {
    const { values } = parseArgs({
      options: { minutes: { type: 'string', default: '20' }, kind: { type: 'string', default: 'postgres' } },
    })
    const length = Number(values.minutes)
    if (!(length >= 1 && length <= 10_000)) throw new Error('--minutes must be a number from 1 to 10000')
    if (values.kind !== 'postgres' && values.kind !== 'mysql')
      throw new Error('--kind must be postgres or mysql')
    return { minutes: length, kind: values.kind } as const
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    process.exit(2)
  }
}

async function soak(server: OwnServer): Promise<void> {
  const sequelize = connect(server.url)
  await migrate(sequelize)
  await sequelize.close()
  const child = fork(path.resolve(import.meta.dirname, 'server.ts'), { execArgv: ['--no-warnings'] })
  child.send({ databaseUrl: server.url })
  const [baseUrl] = await once(child, 'message')
  const start = performance.now()
  const seconds = () => (performance.now() - start) / 1000
  let downUntil = 0
  const load = startLoad(String(baseUrl), () => seconds() < downUntil)
  const restarts = [minutes * 20, minutes * 40]
  const samples: Sampled[] = []
  while (seconds() < minutes * 60) {
    await sleep(SAMPLE_EVERY * 1000)
    child.send('gauges')
    const [gauges] = (await once(child, 'message')) as [Gauges]
    samples.push({ ...gauges, at: seconds() })
    if (restarts.length === 0 || seconds() < (restarts[0] ?? 0)) continue
    restarts.shift()
    downUntil = Number.POSITIVE_INFINITY
    await server.kill()
    await sleep(DOWN * 1000)
    await server.start()
    downUntil = seconds() + RECOVERY
  }
  await load.stop()
  child.kill()
  report(samples, load.statuses, load.faults)
}

function report(samples: readonly Sampled[], statuses: object, faults: readonly string[]): void {
  console.log(`${minutes} minutes on ${kind}, killed twice; responses: ${JSON.stringify(statuses)}`)
  // The first third fills caches, and the pool.
  const settled = samples.slice(Math.floor(samples.length / 3))
  for (const name of Object.keys(LIMITS) as (keyof Gauges)[]) {
    const slope = slopeOf(settled.map((sample) => ({ at: sample.at, value: sample[name] })))
    const [first, last] = [settled[0]?.[name] ?? 0, settled.at(-1)?.[name] ?? 0]
    const largest = Math.max(...settled.map((sample) => sample[name]))
    const figures = [first, last, largest, slope].map((figure) => Math.round(figure))
    console.log(
      `${name.padEnd(12)} first ${figures[0]}  last ${figures[1]}  largest ${figures[2]}  per minute ${figures[3]}`,
    )
    if (slope > LIMITS[name]) faultsFound([`${name} grows by ${Math.round(slope)} in a minute`])
  }
  faultsFound(faults)
}

function faultsFound(faults: readonly string[]): void {
  for (const fault of faults.slice(0, 20)) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
}
