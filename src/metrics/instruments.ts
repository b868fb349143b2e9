/** The instruments, each once: what they are called, what they count, and in which unit. */
import type { Counter, Histogram, MeterProvider } from '@opentelemetry/api'
import { BEGINNINGS } from './series.ts'
import { observe } from './sources.ts'

/** The instruments that requests write to. */
export type Instruments = ReturnType<typeof createInstruments>

/** The boundaries that the semantic conventions recommend for the duration of HTTP requests. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

export function createInstruments(provider: MeterProvider) {
  const meter = provider.getMeter('oidc-provider-impersonation')
  const counter = (name: string, one: string, description: string): Counter =>
    meter.createCounter(`impersonation.${name}`, { description, unit: `{${one}}` })
  const duration = (what: string, description: string): Histogram =>
    meter.createHistogram(`impersonation.${what}.duration`, {
      description,
      unit: 's',
      advice: { explicitBucketBoundaries: BOUNDARIES },
    })
  const counters = {
    exchanges: counter(
      'exchanges',
      'exchange',
      'Requests for an exchange, by outcome, and by the check that refused or failed',
    ),
    operations: counter('operations', 'operation', 'Issues, stops, lists and status lists, by outcome'),
    replays: counter(
      'replays',
      'replay',
      'Uses of a spent subject token, by what became of the access token and by who sent it',
    ),
    failures: counter(
      'failures',
      'failure',
      'Responses of 5xx outside of an exchange, as impersonation.failed tells them',
    ),
    logouts: counter(
      'logouts',
      'logout',
      'Attempts to tell an application that a session has ended, by what came of it',
    ),
  } satisfies Readonly<Record<keyof typeof BEGINNINGS, Counter>>
  for (const [name, series] of Object.entries(BEGINNINGS))
    for (const attributes of series) counters[name as keyof typeof BEGINNINGS].add(0, attributes)
  observe(meter)
  return {
    ...counters,
    exchangeDuration: duration('exchange', 'How long an exchange took'),
    operationDuration: duration('operation', 'How long an operation took'),
    functionDuration: duration('function', 'How long a function of the deployment took'),
  }
}
