/** Reports of requests to the OpenTelemetry SDK that the application has registered. Without one, nothing is measured. */
import type { Counter, Histogram, MeterProvider } from '@opentelemetry/api'
import { type CallbackName, isFailure } from '../base/errors.ts'
import type { AccessTokenEnd, ImpersonationFailed } from '../events.ts'
import {
  attributes,
  BEGINNINGS,
  type Ending,
  type Kind,
  type Logout,
  type Operation,
  type Outcome,
} from './series.ts'
import { addSource, observe, type Source } from './sources.ts'

const instrumentsOf = new WeakMap<MeterProvider, Instruments>()

/** Whether a provider was attached before there was an SDK. */
let isLate = false

/** Asked for at each report: the API has no instruments that wait for an SDK, as it has for traces. */
function current(): Instruments | undefined {
  const provider = registeredMeterProvider()
  if (!provider) return undefined
  const known = instrumentsOf.get(provider)
  if (known) return known
  const instruments = createInstruments(provider)
  instrumentsOf.set(provider, instruments)
  if (isLate) warn()
  return instruments
}

/** Warns once: without the zero at its beginning, the first increase of a counter is none. */
function warn(): void {
  isLate = false
  process.emitWarning(
    'the SDK of OpenTelemetry was registered after attach(provider): what happened until now was not counted, and an alert may miss the first of something. Register it before.',
    { type: 'ImpersonationWarning', code: 'IMPERSONATION_LATE_METRICS' },
  )
}

/** Begins every series before the first request: called when a provider is attached. */
export function beginMetrics(provider: object, source: Source): void {
  addSource(provider, source)
  if (registeredMeterProvider()) report(() => {})
  else isLate = true
}

/** An SDK's error changes no answer, and keeps no event back. */
function report(to: (instruments: Instruments) => void): void {
  try {
    const instruments = current()
    if (instruments) to(instruments)
  } catch {
    // There is no one to tell: an SDK logs its own errors.
  }
}

const secondsSince = (begun: number): number => (performance.now() - begun) / 1000

/** Starts the time of an exchange. What it returns reports how it ended. */
export function timeExchange(kind: Kind): (outcome: Outcome, check?: string) => void {
  const begun = performance.now()
  return (outcome, check) =>
    report(({ exchanges, exchangeDuration }) => {
      exchanges.add(1, attributes.exchange(kind, outcome, check))
      exchangeDuration.record(secondsSince(begun), attributes.exchange(kind, outcome))
    })
}

/** An operation, each call of which is reported. */
export const timed =
  <Given extends unknown[], Result>(operation: Operation, work: (...given: Given) => Promise<Result>) =>
  async (...given: Given): Promise<Result> => {
    const begun = performance.now()
    const end = (outcome: Outcome) =>
      report(({ operations, operationDuration }) => {
        operations.add(1, attributes.operation(operation, outcome))
        operationDuration.record(secondsSince(begun), attributes.operation(operation))
      })
    try {
      const result = await work(...given)
      end('done')
      return result
    } catch (error) {
      end(isFailure(error) ? 'failed' : 'refused')
      throw error
    }
  }

/** Starts the time of a call of the deployment's function. What it returns reports how it ended. */
export function timeCall(name: CallbackName): (ending: Ending) => void {
  const begun = performance.now()
  return (ending) =>
    report(({ functionDuration }) =>
      functionDuration.record(secondsSince(begun), attributes.call(name, ending)),
    )
}

/** Reports how long `findAccount` took, of one account or of several together. */
export async function timedLookup<Result>(look: () => Promise<Result>): Promise<Result> {
  const end = timeCall('findAccount')
  try {
    const result = await look()
    end('returned')
    return result
  } catch (error) {
    end('failed')
    throw error
  }
}

export const countReplay = (ended: AccessTokenEnd, sameClient: boolean): void =>
  report(({ replays }) => replays.add(1, attributes.replay(ended, sameClient)))

/** An exchange for a session, whose time is that of an authorization request. */
export const countSession = (outcome: Outcome, check?: string): void =>
  report(({ exchanges }) => exchanges.add(1, attributes.exchange('session', outcome, check)))

export const countLogout = (logout: Logout): void =>
  report(({ logouts }) => logouts.add(1, attributes.logout(logout)))

export const countFailure = ({ door, status }: Pick<ImpersonationFailed, 'door' | 'status'>): void =>
  report(({ failures }) => failures.add(1, attributes.failure(door, status)))

/** The place where all copies of `@opentelemetry/api` in a process meet: one writes there what another reads. */
const REGISTRY = Symbol.for('opentelemetry.js.api.1')

/**
 * The SDK that the application has registered, found without loading `@opentelemetry/api`. Reading the global works for any
 * copy of that package, bundled or not, in ES modules and CommonJS. It needs no second copy, no `import()`, for which `attach`
 * could not wait, and no `require`, which bundlers follow. The name changes with the major version of the API only, and
 * test/scenarios/metrics/registry.test.ts holds it against the package.
 *
 * `undefined` without an SDK: its place is empty, and the API alone would return instruments that do nothing.
 */
export function registeredMeterProvider(): MeterProvider | undefined {
  const { metrics } = Object(Reflect.get(globalThis, REGISTRY))
  return typeof Object(metrics).getMeter === 'function' ? metrics : undefined
}

/** The instruments that requests write to. */
type Instruments = ReturnType<typeof createInstruments>

/** The boundaries that the semantic conventions recommend for the duration of HTTP requests. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** The instruments, each once: what they are called, what they count, and in which unit. */
function createInstruments(provider: MeterProvider) {
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
