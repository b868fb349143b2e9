/** The instruments, each once: what they are called, what they count, and in which unit. */
import type { Counter, Histogram, Meter, MeterProvider } from '@opentelemetry/api'
import { BEGINNINGS } from './series.ts'
import { observe } from './sources.ts'

/** What requests write to. */
export interface Instruments {
  readonly exchanges: Counter
  readonly exchangeDuration: Histogram
  readonly operations: Counter
  readonly operationDuration: Histogram
  readonly functionDuration: Histogram
  readonly replays: Counter
  readonly failures: Counter
  readonly logouts: Counter
}

/** Those that the semantic conventions recommend for the duration of HTTP requests. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

const duration = (meter: Meter, name: string, description: string): Histogram =>
  meter.createHistogram(name, {
    description,
    unit: 's',
    advice: { explicitBucketBoundaries: BOUNDARIES },
  })

export function createInstruments(provider: MeterProvider): Instruments {
  const meter = provider.getMeter('oidc-provider-impersonation')
  const instruments: Instruments = {
    exchanges: meter.createCounter('impersonation.exchanges', {
      description: 'Requests for an exchange, by outcome, and by the check that refused or failed',
      unit: '{exchange}',
    }),
    exchangeDuration: duration(meter, 'impersonation.exchange.duration', 'How long an exchange took'),
    operations: meter.createCounter('impersonation.operations', {
      description: 'Issues, stops, lists and status lists, by outcome',
      unit: '{operation}',
    }),
    operationDuration: duration(meter, 'impersonation.operation.duration', 'How long an operation took'),
    functionDuration: duration(
      meter,
      'impersonation.function.duration',
      'How long a function of the deployment took',
    ),
    replays: meter.createCounter('impersonation.replays', {
      description: 'Uses of a spent subject token, by what became of the access token and by who sent it',
      unit: '{replay}',
    }),
    failures: meter.createCounter('impersonation.failures', {
      description: 'Responses of 5xx outside of an exchange, as impersonation.failed tells them',
      unit: '{failure}',
    }),
    logouts: meter.createCounter('impersonation.logouts', {
      description: 'Attempts to tell an application that a session has ended, by what came of it',
      unit: '{logout}',
    }),
  }
  for (const [name, series] of Object.entries(BEGINNINGS))
    for (const attributes of series) instruments[name as keyof typeof BEGINNINGS].add(0, attributes)
  observe(meter)
  return instruments
}
