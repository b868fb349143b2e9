/** The process that is watched: one deployment, and what it costs, told when the parent asks. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { API, startDeployment } from '../../fixtures/deployment.ts'
import { connect } from '../../src/cli/connect.ts'
import { heapAfterCollection } from '../memory.ts'

/** Bytes, counts and milliseconds. */
export interface Gauges {
  readonly rss: number
  /** Without garbage. */
  readonly heap: number
  /** What keeps the event loop alive: sockets, timers, requests. */
  readonly handles: number
  /** Of the pool to the database. */
  readonly connections: number
  /** The longest that the event loop was late since the last call, without the collection of garbage for `heap`. */
  readonly delay: number
}

process.once('message', async ({ databaseUrl }: { readonly databaseUrl: string }) => {
  const sequelize = connect(databaseUrl)
  const { baseUrl, events, errors } = await startDeployment({
    database: {
      kind: 'postgres',
      url: databaseUrl,
      sequelize,
      statements: [],
      runs: [],
      connect: () => connect(databaseUrl),
      close: () => sequelize.close(),
    },
    options: { getCustomJwtClaims: ({ context }) => ({ told: context.grant.subjectTokenContext, api: API }) },
  })
  const delays = monitorEventLoopDelay({ resolution: 10 })
  delays.enable()
  process.on('message', () => {
    // The fixture keeps them for tests.
    events.length = 0
    errors.length = 0
    const delay = delays.max / 1e6
    const heap = heapAfterCollection()
    delays.reset()
    process.send?.({
      rss: process.memoryUsage.rss(),
      heap,
      handles: process.getActiveResourcesInfo().length,
      connections: poolOf(sequelize).size,
      delay,
    } satisfies Gauges)
  })
  process.send?.(baseUrl)
})

process.once('disconnect', () => process.exit())

const poolOf = (sequelize: object): { readonly size: number } =>
  Reflect.get(Reflect.get(sequelize, 'connectionManager'), 'pool')
