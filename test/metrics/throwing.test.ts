/** An SDK whose instruments throw: what is reported is lost, and nothing else. */
import { expect } from 'chai'
import { startDeployment } from '../../fixtures/deployment.ts'
import { countReplay } from '../../src/metrics/metrics.ts'

const REGISTRY = Symbol.for('opentelemetry.js.api.1')
const fail = () => {
  throw new Error('the SDK is broken')
}
const instrument = { add: fail, record: fail, addCallback: () => {} }
const meter = new Proxy({}, { get: () => () => instrument })

describe('metrics: an SDK that throws', () => {
  const earlier: unknown = Reflect.get(globalThis, REGISTRY)
  before(() => Reflect.set(globalThis, REGISTRY, { metrics: { getMeter: () => meter } }))
  after(() => Reflect.set(globalThis, REGISTRY, earlier))

  it('changes no issue, no stop and no report of a replay', async () => {
    const deployment = await startDeployment()
    try {
      const { records } = deployment.impersonation
      const { id } = await records.issue({ userId: 'alice', createdBy: 'job' })
      expect(await records.stop({ id })).to.deep.equal({ revoked: 1 })
      expect(() => countReplay('now', true)).not.to.throw()
    } finally {
      await deployment.close()
    }
  })
})
