/**
 * `node tools/record-alerts.ts <run>`: records what Prometheus would scrape while a deployment works and something goes
 * wrong. The rules of docs/observability/ are tested over these series, so record them before you change a rule.
 *
 * A real PostgreSQL, started for it, a provider, an API that verifies what it receives, and five impersonations a second:
 * issued, exchanged, used, and one in ten stopped. Everything is as by default, except that scrapes are 5 s apart instead
 * of the usual 15 or 30, so that less time is needed to see as many.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { QueryTypes, Sequelize } from 'sequelize'
import { serveMetrics } from '../example/metrics.ts'
import { watchStatusLists } from '../example/status-list-metrics.ts'
import { INTERVAL, keepRun, type Run, readScrape, type Scrape } from '../fixtures/alerts/recording.ts'
import type { Database } from '../fixtures/databases.ts'
import { API, type Deployment, startDeployment } from '../fixtures/deployment.ts'
import { postRevocation } from '../fixtures/management.ts'
import { startPostgres } from '../fixtures/postgres.ts'
import { exchange, idFrom, postSubjectToken } from '../fixtures/requests.ts'
import { freePort, type OwnServer } from '../fixtures/server-process.ts'
import { createVerifier } from '../packages/resource-server/src/index.ts'
import { migrate } from '../src/sequelize/index.ts'

/** What a fault has in its hands. */
interface Scene {
  readonly server: OwnServer
  readonly deployment: Deployment
  /** As a host of its own, past the pool of the service. */
  readonly admin: Sequelize
  hangs: boolean
}

interface Fault {
  /** Seconds until it is lifted. */
  readonly lasts: number
  readonly begin: (scene: Scene) => Promise<unknown>
  readonly end: (scene: Scene) => Promise<unknown>
}

let paused: number[] = []

const FAULTS: Readonly<Record<string, Fault>> = {
  'database paused': {
    lasts: 90,
    async begin({ admin }) {
      const [row] = await admin.query<{ data_directory: string }>('SHOW data_directory', {
        type: QueryTypes.SELECT,
      })
      const file = path.join(row?.data_directory ?? '', 'postmaster.pid')
      const postmaster = Number(readFileSync(file, 'utf8').split('\n')[0])
      const children = execFileSync('pgrep', ['-P', String(postmaster)], { encoding: 'utf8' })
        .trim()
        .split('\n')
      paused = [postmaster, ...children.map(Number)]
      for (const pid of paused) process.kill(pid, 'SIGSTOP')
    },
    async end() {
      for (const pid of paused) process.kill(pid, 'SIGCONT')
    },
  },
  'function hangs': {
    lasts: 90,
    async begin(scene) {
      scene.hangs = true
    },
    async end(scene) {
      scene.hangs = false
    },
  },
}

const QUIET = 'quiet'
const BEFORE = 60
const AFTER = 90

async function work(
  { deployment, hangs }: Scene,
  verify: (token: string) => Promise<unknown>,
  nth: number,
): Promise<void> {
  const issued = await postSubjectToken(deployment, { userId: 'alice', expiresIn: 60 })
  if (issued.status !== 201) return
  const { status, body } = await exchange(deployment, {
    subject_token: issued.body.subjectToken,
    resource: API,
  })
  if (status !== 200) return
  await verify(body.access_token)
  if (nth % 10 === 0 && !hangs) await postRevocation(deployment, { id: idFrom(issued), cause: 'self' })
}

async function record(name: string): Promise<void> {
  const fault = FAULTS[name]
  if (!fault && name !== QUIET)
    throw new Error(`a run is one of ${[QUIET, ...Object.keys(FAULTS)].join(', ')}`)
  const server = (await startPostgres()) ?? fail('no PostgreSQL from npm')
  const port = await freePort()
  const metrics = await serveMetrics(port)
  const sequelize = new Sequelize(server.url, { logging: false })
  await migrate(sequelize)
  const admin = new Sequelize(server.url, { logging: false, pool: { max: 1 } })
  const database: Database = {
    kind: 'postgres',
    sequelize,
    url: server.url,
    statements: [],
    runs: [],
    connect: () => sequelize,
    close: async () => {},
  }
  const scene: Scene = { server, admin, hangs: false, deployment: undefined as never }
  const isAllowed = () => (scene.hangs ? new Promise<boolean>(() => {}) : true)
  const deployment = await startDeployment({ database, options: { isAllowed } })
  Object.assign(scene, { deployment })
  const verify = verifierOf(deployment)

  const scrapes: Scrape[] = []
  const length = (fault ? BEFORE + fault.lasts + AFTER : 600) / INTERVAL + 1
  const load = setInterval(() => {
    nth += 1
    void work(scene, verify, nth).catch(() => {})
  }, 200)
  let nth = 0
  const begun = Date.now()
  for (let at = 0; at < length; at += 1) {
    await sleep(Math.max(0, begun + at * INTERVAL * 1000 - Date.now()))
    scrapes.push(readScrape(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()))
    // As the monitoring of a deployment does.
    void fetch(`${deployment.baseUrl}/probes/health`).catch(() => {})
    if (fault && at === BEFORE / INTERVAL) await fault.begin(scene)
    if (fault && at === (BEFORE + fault.lasts) / INTERVAL) void fault.end(scene)
  }
  clearInterval(load)
  const span: Run['fault'] = fault && [BEFORE, BEFORE + fault.lasts]
  keepRun(name, scrapes, span)
  await metrics.close()
  await sleep(1000)
  await Promise.race([Promise.all([sequelize.close(), admin.close(), deployment.close()]), sleep(15_000)])
  await server.stop()
}

function verifierOf({ issuer }: Deployment): (token: string) => Promise<unknown> {
  const verify = createVerifier({ issuer, audience: API, onStatusList: watchStatusLists() })
  return (token) =>
    verify(new Request('http://127.0.0.1/orders', { headers: { authorization: `Bearer ${token}` } }))
}

const fail = (message: string): never => {
  throw new Error(message)
}

for (const name of process.argv.slice(2)) await record(name)
process.exit(0)
