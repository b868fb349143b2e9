/** Everything that one run sends requests to, and what it has seen of it so far. */
import { inspect } from 'node:util'
import { type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import { type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { type Deployment, type DeploymentOverrides, startDeployment } from '../../fixtures/deployment.ts'
import { type HttpResponse, send } from '../../fixtures/http.ts'
import { createAdapter, createSubjectTokenStore, type Purged, purge } from '../../src/sequelize/index.ts'
import { collectSecrets, type Secrets } from './secrets.ts'
import {
  ALL_RESOURCES,
  configurationFor,
  MORE_CLIENTS,
  optionsFor,
  type People,
  people,
  RULES,
  type Rules,
  withBackends,
} from './setting.ts'

/** Milliseconds until a request without response counts as one that hangs. */
const HANGS = 30_000

interface Request {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Issuer {
  readonly deployment: Deployment
  readonly rules: Rules
}

export interface World {
  readonly issuers: readonly [Issuer, Issuer]
  readonly clock: StoppedClock
  readonly people: People
  readonly secrets: Secrets
  /** Requests so far, and responses by status. */
  readonly sent: { count: number }
  readonly answers: Map<string, number>
  /** A name that no earlier case of the run has had. */
  name(): string
  purge(retention: number): Promise<Purged>
  send(issuer: Issuer, request: Request): Promise<HttpResponse>
  /** What went wrong beside the responses since the last call. */
  faults(): string[]
  close(): Promise<void>
}

export async function openWorld(kind: DatabaseKind): Promise<World> {
  const database = await openDatabase(kind)
  const secrets = collectSecrets()
  const statements = new Set<string>()
  const sequelize = database.connect({ logging: (sql) => void statements.add(sql) })
  const clock = stopClock()
  const everyone = people()
  const overrides = (index: 0 | 1) => overridesOf({ ...database, sequelize }, everyone, index)
  const first = await startDeployment(overrides(0))
  const second = await startDeployment(overrides(1))
  const issuers = [
    { deployment: first, rules: RULES[0] },
    { deployment: second, rules: RULES[1] },
  ] as const
  const rejections = watchRejections()
  const sent = { count: 0 }
  const answers = new Map<string, number>()
  let names = 0

  const answered = (response: HttpResponse): HttpResponse => {
    sent.count += 1
    const status = String(response.status)
    answers.set(status, (answers.get(status) ?? 0) + 1)
    return response
  }
  const texts = () => {
    const told = issuers.flatMap(({ deployment }) => toldBy(deployment))
    const all = [...statements, ...told]
    statements.clear()
    return all
  }

  return {
    issuers,
    clock,
    people: everyone,
    secrets,
    sent,
    answers,
    name() {
      names += 1
      return String(names)
    },
    purge: (retention) => purge(sequelize, { retention }),
    send: async ({ deployment }, { path, ...request }) =>
      answered(await send(deployment.baseUrl + path, { ...request, signal: AbortSignal.timeout(HANGS) })),
    faults: () => [
      ...texts().flatMap((text) => leakIn(secrets, text)),
      ...rejections.take().map((error) => `an unhandled rejection: ${inspect(error)}`),
    ],
    async close() {
      for (const { deployment } of issuers) await deployment.close()
      clock.restore()
      rejections.stop()
      await database.close()
    },
  }
}

function overridesOf(database: Database, everyone: People, index: 0 | 1): DeploymentOverrides {
  const { sequelize } = database
  const stored = createAdapter(sequelize, { namespace: `issuer-${index}` })
  return {
    database,
    clients: MORE_CLIENTS,
    resources: ALL_RESOURCES,
    options: {
      ...optionsFor(RULES[index]),
      store: createSubjectTokenStore(sequelize),
    },
    configuration: {
      ...configurationFor(everyone),
      adapter: withBackends(stored),
    },
  }
}

/** The events and errors of a deployment since the last call. */
const toldBy = ({ events, errors }: Deployment): string[] => [
  ...events.splice(0).map((event) => JSON.stringify(event)),
  ...errors.splice(0).map((error) => inspect(error, { depth: 6, showHidden: true, maxStringLength: null })),
]

function leakIn(secrets: Secrets, text: string): string[] {
  const secret = secrets.foundIn(text)
  return secret === undefined ? [] : [`a log or an event holds ${secret}: ${text.slice(0, 300)}`]
}

/** Takes the place of the test runner's listener, which would end the run. */
function watchRejections() {
  const found: unknown[] = []
  const others = process.listeners('unhandledRejection')
  const listener = (error: unknown) => void found.push(error)
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', listener)
  return {
    take: () => found.splice(0),
    stop() {
      process.off('unhandledRejection', listener)
      for (const other of others) process.on('unhandledRejection', other)
    },
  }
}
