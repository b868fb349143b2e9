/** The server process. It serves HTTP under load, and its parent over IPC in between. */
import { createPrivateKey, type JsonWebKey, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import Koa from 'koa'
import { QueryTypes, type Sequelize } from 'sequelize'
import { connect } from '../src/cli/connect.ts'
import { databaseOf } from '../src/sequelize/drivers.ts'
import { numberOf } from '../src/sequelize/tokens/place.ts'
import {
  createDeployment,
  type DeploymentSettings,
  ISSUER,
  issueActorToken,
  storeClients,
} from './deployment.ts'
import { serve } from './processes.ts'

interface Settings extends DeploymentSettings {
  readonly databaseUrl: string
}

export interface Started {
  readonly port: number
  /** The port of a Koa application that only responds with a small JSON. */
  readonly barePort: number
  readonly actorToken: string
}

interface Usage {
  /** Microseconds of CPU since the start, of every thread, user and system. */
  readonly cpu: number
  /** Bytes: the highest resident memory since the start. */
  readonly peakMemory: number
}

interface Work {
  readonly operations: number
  readonly seconds: number
}

export type ServerTasks = {
  start(settings: Settings): Promise<Started>
  usage(_: undefined): Usage
  sign(seconds: number): Work
  query(job: { seconds: number; concurrency: number; id: string }): Promise<Work>
}

let settings: Settings
let sequelize: Sequelize

serve({
  async start(given) {
    settings = given
    sequelize = connect(settings.databaseUrl)
    const { provider, app } = createDeployment(sequelize, settings)
    if (settings.clients === 'stored') await storeClients(sequelize)
    const bare = new Koa()
    bare.use((ctx) => {
      ctx.body = { hello: 'world' }
    })
    // The garbage of the start. A collection that begins under load makes V8 take objects of requests for long-lived ones,
    // in some processes and not in others, and those spend a tenth of their CPU on it from then on.
    gc?.()
    return {
      port: await listen(app.callback()),
      barePort: await listen(bare.callback()),
      actorToken: await issueActorToken(provider),
    }
  },

  usage() {
    const { user, system } = process.cpuUsage()
    return { cpu: user + system, peakMemory: process.resourceUsage().maxRSS * 1024 }
  },

  sign(seconds) {
    const { signingKey, algorithm } = settings
    const key = createPrivateKey({ key: signingKey as JsonWebKey, format: 'jwk' })
    const digest = algorithm === 'EdDSA' ? null : `sha${algorithm.slice(2)}`
    const input = Buffer.alloc(400, 'x')
    const watch = stopwatch(seconds)
    let operations = 0
    for (; watch.runs(); operations += 50) {
      for (let batch = 0; batch < 50; batch += 1) sign(digest, input, { key, dsaEncoding: 'ieee-p1363' })
    }
    return { operations, seconds: watch.elapsed() }
  },

  async query({ seconds, concurrency, id }) {
    const bind = [databaseOf(sequelize).dialect.bindId(id), numberOf(ISSUER)]
    const watch = stopwatch(seconds)
    let operations = 0
    const drive = async () => {
      for (; watch.runs(); operations += 1) {
        await sequelize.query(
          'SELECT number, user_id, context FROM subject_tokens WHERE id = $1 AND issuer = $2',
          { bind, type: QueryTypes.SELECT },
        )
      }
    }
    await Promise.all(Array.from({ length: concurrency }, drive))
    return { operations, seconds: watch.elapsed() }
  },
} satisfies ServerTasks)

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('not listening on a port')
  return address.port
}

function stopwatch(seconds: number) {
  const start = performance.now()
  const elapsed = () => (performance.now() - start) / 1000
  return { elapsed, runs: () => elapsed() < seconds }
}
