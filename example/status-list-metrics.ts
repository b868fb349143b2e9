/** For an API: how old the status lists are that its verifier works with, for an alert (docs/operate.md). */
import { metrics } from '@opentelemetry/api'
import type { VerifierOptions } from '../packages/resource-server/src/index.ts' // yours: 'oidc-provider-impersonation-resource-server'

/** An API that no one calls fetches no list, and nothing waits for one. */
const FORGOTTEN = 120

/** The option `onStatusList` of a verifier. Without an SDK it does nothing. */
export function watchStatusLists(): NonNullable<VerifierOptions['onStatusList']> {
  const meter = metrics.getMeter('orders-api')
  const lists = new Map<string, { readonly signedAt: number | undefined; readonly askedAt: number }>()
  const now = () => Date.now() / 1000

  const fetches = meter.createCounter('impersonation.verifier.status_list.fetches', { unit: '{fetch}' })
  for (const outcome of ['fetched', 'failed']) fetches.add(0, { outcome })
  meter
    .createObservableGauge('impersonation.verifier.status_list.age', { unit: 's' })
    .addCallback((result) => {
      const used = [...lists.values()].filter(({ askedAt }) => now() - askedAt < FORGOTTEN)
      const ages = used.flatMap(({ signedAt }) => (signedAt === undefined ? [] : [now() - signedAt]))
      result.observe(Math.max(0, ...ages))
    })
  return ({ uri, age, outcome }) => {
    fetches.add(1, { outcome })
    lists.set(uri, { signedAt: age === undefined ? undefined : now() - age, askedAt: now() })
  }
}
