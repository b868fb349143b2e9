/** For an API: how old the status lists are that its verifier works with, for an alert (docs/alerts.md). */
import { metrics } from '@opentelemetry/api'
import type { VerifierOptions } from '../packages/resource-server/src/index.ts' // yours: 'oidc-provider-impersonation-resource-server'

/** The option `onStatusList` of a verifier. Without an SDK it does nothing. */
export function watchStatusLists(): NonNullable<VerifierOptions['onStatusList']> {
  const meter = metrics.getMeter('orders-api')
  const age = meter.createGauge('impersonation.verifier.status_list.age', { unit: 's' })
  const fetches = meter.createCounter('impersonation.verifier.status_list.fetches', { unit: '{fetch}' })
  for (const outcome of ['fetched', 'failed']) fetches.add(0, { outcome })
  // As of the last attempt: an API that no one calls fetches nothing, and that is no alarm.
  return (report) => {
    fetches.add(1, { outcome: report.outcome })
    if (report.age !== undefined) age.record(report.age)
  }
}
