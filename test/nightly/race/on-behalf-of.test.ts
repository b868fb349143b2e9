/** Random walks over issue, exchange, downstream, stop, expiry and changes of clients. `npm run race`: 100,000 walks. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  introspectingClient,
  machineClient,
  publicClient,
  storedModels,
  webClient,
} from '../../../fixtures/clients.ts'
import { stopClock } from '../../../fixtures/clock.ts'
import { withDeployment } from '../../../fixtures/deployment.ts'
import { downstream } from '../../../fixtures/on-behalf-of.ts'
import { HOPS, type Met, step, Walk } from './on-behalf-of-walk.ts'
import { LONG, REPEATED } from './race.ts'

const WALKS = LONG ? 100_000 : 6
/** Most of what can go wrong needs few; a walk that is long reaches every depth. */
const STEPS = LONG ? 12 : 100
/** In `npm test` always the same, so that a commit is not red for what an earlier one did, or for a walk that met too little. */
const SEED = LONG || REPEATED ? {} : { seed: 7 }

describe('on behalf of: random walks', function () {
  this.timeout(LONG ? 7_200_000 : 90_000)

  it('never widen a scope, a life or an audience, never change the user, and end with the impersonation', () => {
    const clock = stopClock()
    const models = storedModels([publicClient(), webClient(), machineClient(), introspectingClient()])
    const met: Met = { accepted: 0, refused: 0, stopped: 0, deepest: 0, shut: 0, open: 0 }
    const configuration = { clients: [], adapter: models.adapter }
    return withDeployment(
      downstream({ onBehalfOf: { hops: HOPS } }, { configuration }),
      async (deployment) => {
        const walks = fc.array(step, { minLength: STEPS, maxLength: STEPS, size: 'max' })
        const property = fc.asyncProperty(walks, async (steps) => {
          const walk = new Walk({ deployment, models, clock, met })
          for (const one of steps) await walk.take(one)
          deployment.events.length = 0
        })
        await fc.assert(property, { numRuns: WALKS, endOnFailure: true, ...SEED })
        console.log(`      ${WALKS} walks, ${WALKS * STEPS} steps`, JSON.stringify(met))
        if (!REPEATED) expectAllMet(met)
        expect(deployment.errors).to.deep.equal([])
      },
    ).finally(() => clock.restore())
  })
})

function expectAllMet(met: Met): void {
  expect(met.deepest).to.be.within(LONG ? HOPS : 2, HOPS)
  for (const [what, count] of Object.entries(met)) expect(count, what).to.be.greaterThan(0)
}
