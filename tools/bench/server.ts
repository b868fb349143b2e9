/** The server process. It serves HTTP under load, and its parent over IPC in between. */
import { createPrivateKey, type JsonWebKey, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from '../../src/cli/connect.ts'
import { createDeployment, type DeploymentSettings, issueActorToken } from './deployment.ts'
import { serve } from './processes.ts'

interface Settings extends DeploymentSettings {
  readonly databaseUrl: string
}

let settings: Settings

const tasks = {
  async start(given: Settings) {
    settings = given
    const sequelize = connect(settings.databaseUrl)
    const { provider, app } = createDeployment(sequelize, settings)
    // The garbage of the start. A collection that begins under load makes V8 take objects of requests for long-lived ones,
    // in some processes and not in others, and those spend a tenth of their CPU on it from then on.
    gc?.()
    const server = createServer(app.callback()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { port: (server.address() as AddressInfo).port, actorToken: await issueActorToken(provider) }
  },

  /** Since the start: microseconds of CPU, of every thread, user and system, and bytes of the highest resident memory. */
  usage(_: undefined) {
    const { user, system } = process.cpuUsage()
    return { cpu: user + system, peakMemory: process.resourceUsage().maxRSS * 1024 }
  },

  sign(seconds: number) {
    const { signingKey, algorithm } = settings
    const key = createPrivateKey({ key: signingKey as JsonWebKey, format: 'jwk' })
    const digest = algorithm === 'EdDSA' ? null : `sha${algorithm.slice(2)}`
    const input = Buffer.alloc(400, 'x')
    const start = performance.now()
    const elapsed = () => (performance.now() - start) / 1000
    let operations = 0
    for (; elapsed() < seconds; operations += 50) {
      for (let batch = 0; batch < 50; batch += 1) sign(digest, input, { key, dsaEncoding: 'ieee-p1363' })
    }
    return { operations, seconds: elapsed() }
  },
}

export type ServerTasks = typeof tasks
serve(tasks)
