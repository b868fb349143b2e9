/** Everything a measurement needs: a database, a server on it, a generator, and the cores they run on. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { decodeJwt } from 'jose'
import type { JWK } from 'oidc-provider'
import type { Sequelize } from 'sequelize'
import { now } from '../../fixtures/clock.ts'
import { type Database, isAvailable, openDatabase } from '../../fixtures/databases.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { signingKey } from '../../fixtures/keys.ts'
import { DAY } from './deployment.ts'
import type { LoadTasks } from './load.ts'
import type { Options } from './options.ts'
import { chooseCores, startWorker, taskset, type Worker } from './processes.ts'
import { exchange, issue, managementToken } from './requests.ts'
import type { ServerTasks } from './server.ts'

type Server = Worker<ServerTasks> & Awaited<ReturnType<ServerTasks['start']>>

export interface Scene {
  readonly server: Server
  readonly generator: Worker<LoadTasks>
  /** The parent's own pool, which fills the table between the measurements. */
  readonly sequelize: Sequelize
  readonly managementToken: string
  /** A JWT that the API received: of an impersonation. */
  readonly receivedToken: string
  /** As many like it, each of them another, all of the same impersonation. */
  readonly receivedTokens: (count: number) => Promise<string[]>
  /** Of a subject token, in characters. */
  readonly tokenLength: number
  /** Has the server issue subject tokens, so that a build may have any tables. */
  readonly issueTokens: (count: number) => Promise<readonly string[]>
  /** Moves the database's processes off the server's core, if it is a PostgreSQL on this machine. */
  readonly pinDatabase: () => Promise<void>
  close(): Promise<void>
}

const HERE = path.resolve(import.meta.dirname, '../..')
const GENERATOR = new URL('./load.ts', import.meta.url)
export const CORES = chooseCores()

interface Setting {
  /** The build: a checkout of this repository. One that is not this one has its tables from its own command. */
  readonly folder?: string
}

/** @throws {Error} if no database of this kind is available. */
export async function openScene(
  options: Pick<Options, 'database' | 'algorithm'>,
  { folder = HERE }: Setting = {},
): Promise<Scene> {
  if (!(await isAvailable(options.database))) throw new Error(`no ${options.database} server here`)
  const isOwn = folder === HERE
  const database = await openDatabase(options.database, { migrated: isOwn })
  const workers: { end(): Promise<void> }[] = []
  const close = async () => {
    await Promise.all(workers.map((worker) => worker.end()))
    await database.close()
  }
  try {
    if (!isOwn) migrateBy(folder, database.url)
    const sequelize = database.connect({ logging: false })
    const { algorithm } = options
    const settings = { databaseUrl: database.url, algorithm, signingKey: signingKey(algorithm) }
    const module = pathToFileURL(path.join(folder, 'tools/bench/server.ts'))
    const worker = startWorker<ServerTasks>(module, CORES.server)
    workers.push(worker)
    const server = { ...worker, ...(await worker.ask('start', settings)) }
    const generator = startWorker<LoadTasks>(GENERATOR, CORES.others)
    workers.push(generator)
    const { port } = server
    const managementToken = await fetchManagementToken(port)
    const issueTokens = async (count: number) => {
      const job = { port, concurrency: 32, seconds: 3600, requests: [issue(managementToken)] }
      return (await generator.ask('run', { ...job, operations: count, collect: true })).issued
    }
    const [secret = ''] = await issueTokens(1)
    const received = receivedTokens(await fetchExchanged(port, secret), settings.signingKey)
    const [receivedToken = ''] = await received(1)
    return {
      server,
      generator,
      sequelize,
      managementToken,
      receivedToken,
      receivedTokens: received,
      tokenLength: secret.length,
      issueTokens,
      pinDatabase: () => pinDatabase(database, sequelize),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function migrateBy(folder: string, url: string): void {
  const command = [path.join(folder, 'src/cli/main.ts'), 'migrate']
  const env = { ...process.env, DATABASE_URL: url }
  execFileSync(process.execPath, ['--no-warnings', ...command], { cwd: folder, env, stdio: 'pipe' })
}

/** Sends one prepared request outside the measurements, and resolves to the body of the response. */
async function fetchOnce(port: number, text: string): Promise<Record<string, unknown>> {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [line = '', ...headers] = head.split('\r\n')
  const [method, path] = line.split(' ')
  const given = headers.map((header) => header.split(': ') as [string, string])
  const own = given.filter(([name]) => name !== 'host' && name !== 'content-length')
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: own, body })
  if (!response.ok) throw new Error(`${path} responded with ${response.status}: ${await response.text()}`)
  return (await response.json()) as Record<string, unknown>
}

async function fetchManagementToken(port: number): Promise<string> {
  return String((await fetchOnce(port, managementToken.before)).access_token)
}

async function fetchExchanged(port: number, subjectToken: string): Promise<string> {
  const { before, after } = exchange()
  return String((await fetchOnce(port, `${before}${subjectToken}${after}`)).access_token)
}

/** All of one impersonation, as long as each other, and signed here, so that the server has seen none of them. */
function receivedTokens(accessToken: string, key: JWK): (count: number) => Promise<string[]> {
  const claims = { ...decodeJwt(accessToken), exp: now() + DAY }
  let made = 0
  const next = () => {
    made += 1
    return signJwt({ ...claims, jti: `received-${String(made).padStart(12, '0')}` }, { key })
  }
  return (count) => Promise.all(Array.from({ length: count }, next))
}

async function pinDatabase({ kind }: Database, sequelize: Sequelize): Promise<void> {
  if (kind !== 'postgres' || CORES.others === undefined) return
  const [rows] = await sequelize.query('SELECT pid FROM pg_stat_activity WHERE datname = current_database()')
  for (const { pid } of rows as { pid: number }[]) {
    const name = `/proc/${pid}/comm`
    // On another machine these process ids belong to other processes.
    if (existsSync(name) && readFileSync(name, 'utf8').trim() === 'postgres')
      taskset('-cp', CORES.others, String(pid))
  }
}
