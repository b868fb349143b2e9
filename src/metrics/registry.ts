/**
 * Finds the SDK of OpenTelemetry, if the application has registered one, without loading `@opentelemetry/api`.
 *
 * All copies of that package in a process meet in one place, a member of the global object: `setGlobalMeterProvider` of one
 * copy writes there, and `getMeterProvider` of another reads it. Reading it here works for any copy, bundled or not, in
 * ES modules and CommonJS, and needs neither a second copy nor an asynchronous `import()`, for which `attach` could not wait,
 * nor a `require` that bundlers follow or leave behind. The name changes with the major version of the API only, and
 * test/scenarios/metrics/registry.test.ts holds it against the package.
 */
import type { MeterProvider } from '@opentelemetry/api'

const REGISTRY = Symbol.for('opentelemetry.js.api.1')

/** `undefined` without an SDK: its place is empty, and the API alone would give out instruments that do nothing. */
export function registeredMeterProvider(): MeterProvider | undefined {
  const registry: unknown = Reflect.get(globalThis, REGISTRY)
  if (typeof registry !== 'object' || registry === null) return undefined
  const provider: unknown = Reflect.get(registry, 'metrics')
  return isMeterProvider(provider) ? provider : undefined
}

const isMeterProvider = (value: unknown): value is MeterProvider =>
  typeof value === 'object' && value !== null && 'getMeter' in value && typeof value.getMeter === 'function'
