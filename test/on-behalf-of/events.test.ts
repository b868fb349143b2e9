/** The events about APIs that exchange (protocol.md §6, events.md): one for each request, and never a token. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { stopClock } from '../../fixtures/clock.ts'
import { type Deployment, OPAQUE_API, startDeployment } from '../../fixtures/deployment.ts'
import { manage, show } from '../../fixtures/management.ts'
import {
  BILLING,
  billingApi,
  downstream,
  LEDGER,
  ownToken,
  passedOn,
  passOn,
  viewed,
} from '../../fixtures/on-behalf-of.ts'

describe('on behalf of: events', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment(downstream({ onBehalfOf: { hops: 2 } }))
  })
  after(() => deployment.close())

  const during = async (work: () => Promise<unknown>) => {
    const before = deployment.events.length
    await work()
    return deployment.events.slice(before)
  }

  it('tell of each step who is behind it, and lead from one to the next and to the record', async () => {
    const { accessToken, id } = await viewed(deployment)
    let child = await passedOn(deployment, await ownToken(deployment))
    const [first] = await during(async () => {
      child = await passedOn(deployment, accessToken, { scope: 'orders:read' })
    })
    const { jti, exp } = child.claims
    expect(first).to.deep.equal({
      name: 'access_token.exchanged',
      payload: {
        id,
        userId: 'alice',
        createdBy: 'backend',
        clientId: 'orders-api',
        actor: { sub: 'bob', clientId: 'spa' },
        through: [],
        parentJti: decodeJwt(accessToken).jti,
        resource: BILLING,
        scope: 'orders:read',
        accessToken: { format: 'jwt', jti, expiresAt: exp },
      },
    })
    const [second] = await during(() =>
      passedOn(deployment, child.accessToken, { resource: LEDGER }, { client: billingApi() }),
    )
    expect(second?.payload).to.deep.include({
      id,
      through: ['orders-api'],
      parentJti: jti,
      clientId: 'billing-api',
    })
    expect(second?.payload).to.be.frozen
    expect(Reflect.get(second?.payload ?? {}, 'through')).to.be.frozen
  })

  it("tell of a user's own token, and of an opaque one, what there is to tell", async () => {
    const [own] = await during(async () => passedOn(deployment, await ownToken(deployment)))
    expect(own?.payload).to.have.all.keys(
      'userId',
      'clientId',
      'through',
      'parentJti',
      'resource',
      'accessToken',
    )
    const { accessToken } = await viewed(deployment, { resource: OPAQUE_API, scope: 'orders:read' })
    const [opaque] = await during(() => passedOn(deployment, accessToken))
    expect(opaque?.payload).not.to.have.property('parentJti')
    expect(opaque?.payload).to.have.property('id')
  })

  it('tell of a refusal as much as was known', async () => {
    const { accessToken, id } = await viewed(deployment)
    const [event] = await during(() => passOn(deployment, accessToken, { resource: LEDGER }))
    expect(event).to.deep.equal({
      name: 'access_token.refused',
      payload: {
        stage: 'onBehalfOf',
        error: 'invalid_target',
        check: 'target',
        reason: 'not among the resources of the client',
        clientId: 'orders-api',
        id,
        userId: 'alice',
        actor: { sub: 'bob', clientId: 'spa' },
        through: [],
        parentJti: decodeJwt(accessToken).jti,
      },
    })
    const [early] = await during(() => passOn(deployment, 'x'))
    expect(early?.payload).to.have.all.keys('stage', 'error', 'check', 'reason', 'clientId')
  })

  it('never hold a token, nor does a table', async () => {
    const { accessToken } = await viewed(deployment)
    const child = await passedOn(deployment, accessToken)
    const rows = await Promise.all(
      ['subject_tokens', 'subject_token_uses'].map((table) =>
        deployment.database.sequelize.query(`SELECT * FROM ${table}`),
      ),
    )
    for (const token of [accessToken, child.accessToken]) {
      const [, , signature = ''] = token.split('.')
      expect(JSON.stringify([deployment.events, rows, deployment.errors])).not.to.include(signature)
    }
  })

  it('are no part of the record: it stays what the first exchange made it', async () => {
    const clock = stopClock()
    try {
      const { accessToken, id } = await viewed(deployment)
      const before = (await show(deployment, id)).body
      await passedOn(deployment, accessToken)
      await passOn(deployment, accessToken, { resource: LEDGER })
      expect((await show(deployment, id)).body).to.deep.equal(before)
      expect((await manage(deployment, 'GET', '?actorId=orders-api')).body.items).to.deep.equal([])
    } finally {
      clock.restore()
    }
  })

  it('survive listeners that fail, and change no response', async () => {
    const fail = () => {
      throw new Error('listener')
    }
    deployment.provider.on('access_token.exchanged', fail)
    deployment.provider.on('access_token.refused', fail)
    try {
      await passedOn(deployment, await ownToken(deployment))
      expect((await passOn(deployment, 'x')).status).to.equal(400)
    } finally {
      deployment.provider.off('access_token.exchanged', fail)
      deployment.provider.off('access_token.refused', fail)
    }
  })
})
