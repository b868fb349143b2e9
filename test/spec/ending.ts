/** A provider, an application that is told, and a clock that stands still: what the tests of the end of sessions share. */
import type { ClientMetadata, Configuration } from 'oidc-provider'
import { type StoppedClock, stopClock } from '../../fixtures/clock.ts'
import type { DatabaseKind } from '../../fixtures/databases.ts'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import {
  type Answer,
  type Application,
  openSession,
  reachesLoopback,
  sessionSays,
  shopClient,
  startApplication,
} from '../../fixtures/sessions.ts'
import { createMemoryStore } from '../../packages/store-contract/src/index.ts'
import { insideOf } from '../../src/impersonation.ts'
import { type SessionWatch, watchSessions } from '../../src/sessions/watch.ts'
import { answer, record, type Steps } from './rule.ts'

export interface Scene {
  readonly deployment: Deployment
  readonly application: Application
  readonly clock: StoppedClock
  readonly watch: SessionWatch
  /** Begins a session of the shop. Returns the id of its record. */
  open(session?: Parameters<typeof openSession>[1]): Promise<string>
  stop(id: string): Promise<void>
  /** Lets time pass, second by second, and looks in each. */
  pass(seconds: number): Promise<void>
  /** What the record says of the session. */
  says(id: string): ReturnType<typeof sessionSays>
  eventsOf(name: string): unknown[]
}

export interface Given {
  readonly answers?: readonly Answer[]
  /** Changes of the client. */
  readonly client?: Partial<ClientMetadata>
  /** Where it is told. Default: where the application is; `null`: nowhere. */
  readonly uri?: string | null
  readonly configuration?: Configuration
  /** Default: none, but a store in memory. */
  readonly database?: DatabaseKind
}

export async function withScene(
  { answers = [], client, uri, configuration, database }: Given,
  use: (scene: Scene) => Promise<void>,
): Promise<void> {
  const clock = stopClock()
  const application = await startApplication(...answers)
  const address = uri === null ? undefined : (uri ?? application.uri)
  const deployment = await startDeployment({
    clients: [shopClient(address, client)],
    configuration: { ...reachesLoopback(), ...configuration },
    ...(database ? { database } : { options: { store: createMemoryStore() } }),
  })
  const watch = watchSessions(insideOf(deployment.impersonation))
  try {
    await use({
      deployment,
      application,
      clock,
      watch,
      open: async (session) => (await openSession(deployment, session)).id,
      stop: async (id) => void (await deployment.impersonation.records.stop({ id })),
      async pass(seconds) {
        for (let second = 0; second < seconds; second += 1) {
          clock.tick(1)
          await watch.look()
        }
      },
      says: (id) => sessionSays(deployment, id),
      eventsOf: (name) =>
        deployment.events.filter((event) => event.name === name).map(({ payload }) => payload),
    })
  } finally {
    watch.stop()
    await Promise.all([deployment.close(), application.close()])
    clock.restore()
  }
}

/** A cell says what is told and what the record says. */
export const timed = (use: (scene: Scene) => Promise<void>, given: Given = {}): Steps => [
  answer(record(() => withScene(given, use))),
]
