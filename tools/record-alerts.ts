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
import { QueryTypes, type Sequelize } from 'sequelize'
import { serveMetrics } from '../example/metrics.ts'
import { watchStatusLists } from '../example/status-list-metrics.ts'
import { INTERVAL, keepRun, type Run, readScrape, type Scrape } from '../fixtures/alerts/recording.ts'
import { API, type Deployment, startDeployment } from '../fixtures/deployment.ts'
import { postRevocation } from '../fixtures/management.ts'
import { startPostgres } from '../fixtures/postgres.ts'
import { exchange, idFrom, postSubjectToken } from '../fixtures/requests.ts'
import { freePort } from '../fixtures/server-process.ts'
import { createVerifier } from '../packages/resource-server/src/index.ts'

/** What a fault has in its hands. */
interface Scene {
  /** As a host of its own, past the pool of the service. */
  readonly admin: Sequelize
  /** Whether `isAllowed` never returns from now on. */
  readonly hang: (value: boolean) => void
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
    begin: async ({ hang }) => hang(true),
    end: async ({ hang }) => hang(false),
  },
}

const QUIET = 'quiet'
const BEFORE = 60
const AFTER = 90

async function work(
  deployment: Deployment,
  verify: (token: string) => Promise<unknown>,
  stops: boolean,
): Promise<void> {
  const issued = await postSubjectToken(deployment, { userId: 'alice', expiresIn: 60 })
  if (issued.status !== 201) return
  const { status, body } = await exchange(deployment, {
    subject_token: issued.body.subjectToken,
    resource: API,
  })
  if (status !== 200) return
  await verify(body.access_token)
  if (stops) await postRevocation(deployment, { id: idFrom(issued), cause: 'self' })
}

async function record(name: string): Promise<void> {
  const fault = FAULTS[name]
  if (!fault && name !== QUIET)
    throw new Error(`a run is one of ${[QUIET, ...Object.keys(FAULTS)].join(', ')}`)
  const port = await freePort()
  const metrics = await serveMetrics(port)
  let hangs = false
  const isAllowed = () => (hangs ? new Promise<boolean>(() => {}) : true)
  const deployment = await startDeployment({ database: 'postgres', options: { isAllowed } })
  const admin = deployment.database.connect({ pool: { max: 1 } })
  const scene: Scene = {
    admin,
    hang: (value) => {
      hangs = value
    },
  }
  const verify = verifierOf(deployment)

  const scrapes: Scrape[] = []
  const length = (fault ? BEFORE + fault.lasts + AFTER : 600) / INTERVAL + 1
  const load = setInterval(() => {
    nth += 1
    void work(deployment, verify, nth % 10 === 0 && !hangs).catch(() => {})
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
  await Promise.race([deployment.close(), sleep(15_000)])
}

function verifierOf({ issuer }: Deployment): (token: string) => Promise<unknown> {
  const verify = createVerifier({ issuer, audience: API, onStatusList: watchStatusLists() })
  return (token) =>
    verify(new Request('http://127.0.0.1/orders', { headers: { authorization: `Bearer ${token}` } }))
}

const server = await startPostgres()
if (!server) throw new Error('no PostgreSQL from npm')
process.env.TEST_POSTGRES_URL = server.url
for (const name of process.argv.slice(2)) await record(name)
await server.stop()
process.exit(0)
