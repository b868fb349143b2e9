/** `stop` of the client, when the provider fails on the way. */
import { expect } from 'chai'
import { type Deployment, startDeployment } from '../../../fixtures/deployment.ts'
import { json, startStandIn } from '../../../fixtures/stand-in.ts'
import { createMemoryStore } from '../../../src/testing/memory-store.ts'
import { createImpersonationClient, ImpersonationError } from '../src/index.ts'

const credentials = { clientId: 'backend', clientSecret: 'backend-secret' }

describe('client: stop', () => {
  let deployment: Deployment
  before(async () => {
    const memory = createMemoryStore()
    let failed = false
    async function* revokeWhere(...given: Parameters<typeof memory.revokeWhere>) {
      yield* memory.revokeWhere(...given)
      if (failed) return
      failed = true
      throw new Error('connection lost')
    }
    deployment = await startDeployment({ options: { store: { ...memory, revokeWhere } } })
  })
  after(() => deployment.close())

  it('is not repeated by itself, so that it never reports too few; the caller can repeat it', async () => {
    const client = createImpersonationClient({ issuer: deployment.issuer, ...credentials })
    const issued = [1, 2, 3].map(() => client.issue({ userId: 'alice', context: { ticketId: 'T-1' } }))
    const ids = (await Promise.all(issued)).map(({ id }) => id)
    const error = await client.stop({ userId: 'alice' }).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(ImpersonationError).and.include({ status: 503 })
    expect(await client.stop({ userId: 'alice' })).to.deep.equal({ revoked: 0 })
    for (const id of ids) expect(await client.get(id)).to.have.property('state', 'revoked')
  })

  it('comes back after a 429, which says that nothing was done', async () => {
    const responses = [429, 200]
    const standIn = await startStandIn({
      api: (response) => json(response, responses.shift() ?? 500, { revoked: 3 }, { 'retry-after': '0' }),
    })
    try {
      const client = createImpersonationClient({ issuer: standIn.issuer, ...credentials })
      expect(await client.stop({ userId: 'alice' })).to.deep.equal({ revoked: 3 })
    } finally {
      await standIn.close()
    }
  })
})
