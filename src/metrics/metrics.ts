/** What requests report, to the SDK of OpenTelemetry that the application has registered. Without one, to no one. */
import type { MeterProvider } from '@opentelemetry/api'
import type { AccessTokenEnd, ImpersonationFailed } from '../events.ts'
import type { CallbackName } from '../refusals.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import { registeredMeterProvider } from './registry.ts'
import { attributes, type Ending, type Kind, type Logout, type Operation, type Outcome } from './series.ts'
import { addSource, type Source } from './sources.ts'

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

/** Once: without the zero at its beginning, the first increase of a counter is none. */
function warn(): void {
  isLate = false
  process.emitWarning(
    'the SDK of OpenTelemetry was registered after attach(provider): what happened until now was not counted, and an alert may miss the first of something. Register it before.',
    { type: 'ImpersonationWarning', code: 'IMPERSONATION_LATE_METRICS' },
  )
}

/** To be called when a provider is attached, so that every series begins before the first request. */
export function beginMetrics(provider: object, source: Source): void {
  addSource(provider, source)
  if (!current()) isLate = true
}

const secondsSince = (begun: number): number => (performance.now() - begun) / 1000

/** Starts the time of an exchange. What it returns reports how it ended. */
export function timeExchange(kind: Kind): (outcome: Outcome, check?: string) => void {
  const begun = performance.now()
  return (outcome, check) => {
    const instruments = current()
    instruments?.exchanges.add(1, attributes.exchange(kind, outcome, check))
    instruments?.exchangeDuration.record(secondsSince(begun), attributes.exchange(kind, outcome))
  }
}

/** Reports an operation. `isFailure` tells a failure from a refusal. */
export async function timed<Result>(
  operation: Operation,
  isFailure: (thrown: unknown) => boolean,
  work: () => Promise<Result>,
): Promise<Result> {
  const begun = performance.now()
  const end = (outcome: Outcome) => {
    const instruments = current()
    instruments?.operations.add(1, attributes.operation(operation, outcome))
    instruments?.operationDuration.record(secondsSince(begun), attributes.operation(operation))
  }
  try {
    const result = await work()
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
  return (ending) => current()?.functionDuration.record(secondsSince(begun), attributes.call(name, ending))
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
  current()?.replays.add(1, attributes.replay(ended, sameClient))

/** An exchange for a session, whose time is that of an authorization request. */
export const countSession = (outcome: Outcome, check?: string): void =>
  current()?.exchanges.add(1, attributes.exchange('session', outcome, check))

export const countLogout = (logout: Logout): void => current()?.logouts.add(1, attributes.logout(logout))

export const countFailure = ({ door, status }: Pick<ImpersonationFailed, 'door' | 'status'>): void =>
  current()?.failures.add(1, attributes.failure(door, status))
