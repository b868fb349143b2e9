/** What the recordings of an exchange cost, apart from the exchange: with an SDK, and without one. */
import { metrics } from '@opentelemetry/api'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { timeCall, timedLookup, timeExchange } from '../src/metrics/metrics.ts'

const TIMES = 100_000
const ROUNDS = 7

/** All that an exchange with an actor and with every function of the deployment records. */
async function recordExchange(): Promise<void> {
  const end = timeExchange('impersonation')
  await timedLookup(async () => {})
  await timedLookup(async () => {})
  for (const name of ['isAllowed', 'getCustomJwtClaims', 'extraTokenClaims'] as const)
    timeCall(name)('returned')
  end('done')
}

/** Microseconds of CPU an exchange: the best of several rounds, because whatever else runs only adds. */
async function measure(): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = process.cpuUsage()
    for (let time = 0; time < TIMES; time += 1) await recordExchange()
    const { user, system } = process.cpuUsage(begun)
    best = Math.min(best, (user + system) / TIMES)
  }
  return best
}

export async function measureMetrics(): Promise<void> {
  const without = await measure()
  metrics.setGlobalMeterProvider(
    new MeterProvider({ readers: [new PrometheusExporter({ preventServerStart: true })] }),
  )
  const cost = await measure()
  console.log(`recordings of an exchange, CPU, best of ${ROUNDS} rounds of ${TIMES}:`)
  console.log(
    `  without an SDK ${without.toFixed(2)} µs, with one ${cost.toFixed(2)} µs (aim: at most 10 µs)`,
  )
}
