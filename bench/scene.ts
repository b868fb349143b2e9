/** Everything a measurement needs: a database, servers on it, a generator, and the cores they run on. */
import { existsSync, readFileSync } from 'node:fs'
import type { Sequelize } from 'sequelize'
import { type Database, isAvailable, openDatabase } from '../fixtures/databases.ts'
import { endRun } from '../fixtures/end-of-run.ts'
import { signingKey } from '../fixtures/keys.ts'
import { fillHistory, issueDirectly } from './fill.ts'
import type { LoadTasks } from './load.ts'
import type { Options } from './options.ts'
import { chooseCores, startWorker, taskset, type Worker } from './processes.ts'
import { receivedTokens } from './received.ts'
import { exchange, managementToken } from './requests.ts'
import type { ServerTasks, Settings, Started } from './server.ts'

export interface Server extends Worker<ServerTasks>, Started {}

export interface Scene {
  readonly servers: readonly Server[]
  readonly generator: Worker<LoadTasks>
  /** The parent's own pool, which fills the table between the measurements. */
  readonly sequelize: Sequelize
  readonly managementToken: string
  /** A JWT that the API received: of an impersonation. */
  readonly receivedToken: string
  /** As many like it, each of them another, all of the same impersonation. */
  readonly receivedTokens: (count: number) => Promise<string[]>
  /** Inserts subject tokens, and resolves to their values. */
  readonly issueDirectly: (count: number) => Promise<string[]>
  /** Moves the database's processes off the servers' core, if it is a PostgreSQL on this machine. */
  readonly pinDatabase: () => Promise<void>
  /** One more server on the same database. The caller ends it. */
  readonly addServer: (settings?: Partial<Settings>) => Promise<Server>
  close(): Promise<void>
}

const SERVER = new URL('./server.ts', import.meta.url)
const GENERATOR = new URL('./load.ts', import.meta.url)
export const CORES = chooseCores()

/** @throws {Error} if no database of this kind is available. */
export async function openScene(options: Options, { servers = 1, history = 0 } = {}): Promise<Scene> {
  if (!(await isAvailable(options.database))) throw new Error(`no ${options.database} server here`)
  const database = await openDatabase(options.database)
  const workers: { end(): Promise<void> }[] = []
  const close = async () => {
    await Promise.all(workers.map((worker) => worker.end()))
    await database.close()
    await endRun()
  }
  try {
    const sequelize = database.connect({ logging: false })
    if (history > 0) await fillHistory(sequelize, history)
    const { algorithm, clients } = options
    const base = { databaseUrl: database.url, algorithm, clients, signingKey: signingKey(algorithm) }
    const addServer = async (settings: Partial<Settings> = {}, core = CORES.servers[0]): Promise<Server> => {
      const worker = startWorker<ServerTasks>(SERVER, core)
      workers.push(worker)
      return { ...worker, ...(await worker.ask('start', { ...base, countStatements: false, ...settings })) }
    }
    const started: Server[] = []
    for (const core of CORES.servers.slice(0, servers)) started.push(await addServer({}, core))
    const generator = startWorker<LoadTasks>(GENERATOR, CORES.others)
    workers.push(generator)
    const port = started[0]?.port ?? 0
    const [secret = ''] = await issueDirectly(sequelize, 1)
    const received = receivedTokens(await fetchExchanged(port, secret), base.signingKey)
    const [receivedToken = ''] = await received(1)
    return {
      servers: started,
      generator,
      sequelize,
      managementToken: await fetchManagementToken(port),
      receivedToken,
      receivedTokens: received,
      issueDirectly: (count) => issueDirectly(sequelize, count),
      pinDatabase: () => pinDatabase(database, sequelize),
      addServer,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Sends one prepared request outside the measurements, and resolves to the body of the response. */
export async function fetchOnce(port: number, text: string): Promise<Record<string, unknown>> {
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
