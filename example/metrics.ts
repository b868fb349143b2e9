/** `METRICS_PORT=9464 npm start`: counts and times for Prometheus, by the SDK that a deployment would choose for itself. */
import { metrics } from '@opentelemetry/api'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'

/**
 * Serves `/metrics` at this port of 127.0.0.1. To be called before the provider is built, so that every counter begins at
 * zero.
 */
export async function serveMetrics(port: number) {
  const exporter = new PrometheusExporter({
    host: '127.0.0.1',
    port,
    preventServerStart: true,
    withoutScopeInfo: true,
  })
  const provider = new MeterProvider({ readers: [exporter] })
  metrics.setGlobalMeterProvider(provider)
  await exporter.startServer()
  return {
    async close() {
      metrics.disable()
      await provider.shutdown()
    },
  }
}
