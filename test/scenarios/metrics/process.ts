/** A process of a deployment: `before` or `after` says when it registers its SDK. Prints what a reader of metrics sees. */
import { metrics } from '@opentelemetry/api'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { startDeployment } from '../../../fixtures/deployment.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'

const [, , order] = process.argv
const warnings: unknown[] = []
process.on('warning', (warning) => warnings.push(Reflect.get(warning, 'code') ?? warning.name))

const exporter = new PrometheusExporter({ preventServerStart: true, withoutScopeInfo: true })
const provider = new MeterProvider({ readers: [exporter] })
const seen = async () => {
  const { resourceMetrics } = await exporter.collect()
  return new PrometheusSerializer(undefined, false, undefined, true, true).serialize(resourceMetrics)
}

if (order === 'before') metrics.setGlobalMeterProvider(provider)
const deployment = await startDeployment()
if (order === 'after') metrics.setGlobalMeterProvider(provider)
const first = await seen()
for (let time = 0; time < 3; time += 1) {
  const { subjectToken } = await issue(deployment)
  await exchange(deployment, { subject_token: subjectToken })
}
const last = await seen()
await deployment.close()
console.log(JSON.stringify({ first, last, warnings }))
