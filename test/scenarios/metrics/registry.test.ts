/** How the SDK of the application is found (src/metrics/metrics.ts), held against the package, and one that throws. */
import { createRequire } from 'node:module'
import { metrics } from '@opentelemetry/api'
import { expect } from 'chai'
import { countingMeter, withMeter } from '../../../fixtures/counting-meter.ts'
import { withDeployment } from '../../../fixtures/deployment.ts'
import { countReplay, registeredMeterProvider } from '../../../src/metrics/metrics.ts'

/** Runs `work` while the place of the API holds this. */
async function withRegistry(value: unknown, work: () => unknown): Promise<void> {
  const registry = Symbol.for('opentelemetry.js.api.1')
  const before: unknown = Reflect.get(globalThis, registry)
  Reflect.set(globalThis, registry, value)
  try {
    await work()
  } finally {
    Reflect.set(globalThis, registry, before)
  }
}

describe('the SDK of OpenTelemetry', () => {
  it('is found once it is registered, and no longer', async () => {
    const provider = countingMeter()
    expect(registeredMeterProvider()).to.equal(undefined)
    await withMeter(provider, async () => expect(registeredMeterProvider()).to.equal(provider))
    expect(registeredMeterProvider()).to.equal(undefined)
  })

  it('is found if the API was loaded as CommonJS, which is a copy of its own from 1.10 on', () => {
    const copy: typeof import('@opentelemetry/api') = createRequire(import.meta.url)('@opentelemetry/api')
    const provider = countingMeter()
    copy.metrics.setGlobalMeterProvider(provider)
    try {
      expect(registeredMeterProvider()).to.equal(provider)
      expect(metrics.getMeterProvider()).to.equal(provider)
    } finally {
      copy.metrics.disable()
    }
  })

  it('is none where the API is there alone, or where its place holds something else', async () => {
    expect(metrics.getMeter('a test')).to.be.an('object')
    expect(registeredMeterProvider()).to.equal(undefined)
    for (const value of [null, 7, {}, { metrics: null }, { metrics: {} }, { metrics: { getMeter: 7 } }])
      await withRegistry(value, () =>
        expect(registeredMeterProvider(), JSON.stringify(value)).to.equal(undefined),
      )
  })

  it('that throws changes no issue, no stop and no report of a replay', () => {
    const fail = () => expect.fail('the SDK is broken')
    const meter = new Proxy({}, { get: () => () => ({ add: fail, record: fail, addCallback: () => {} }) })
    return withRegistry({ metrics: { getMeter: () => meter } }, () =>
      withDeployment({}, async ({ impersonation: { records } }) => {
        const { id } = await records.issue({ userId: 'alice', createdBy: 'job' })
        expect(await records.stop({ id })).to.deep.equal({ revoked: 1 })
        expect(() => countReplay('now', true)).not.to.throw()
      }),
    )
  })
})
