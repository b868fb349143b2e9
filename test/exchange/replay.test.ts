/** A use after the spend (protocol.md §3.1, §6): refused, told, and the first one ends what the exchange produced. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { publicClient, webClient } from '../../fixtures/clients.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onEachDatabase } from '../../fixtures/each-database.ts'
import { revoke, show } from '../../fixtures/management.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { onlyEvent } from './refusals.ts'

describe('token exchange: a replay', () => {
  onEachDatabase({}, (on) => {
    let clock: ReturnType<typeof stopClock>
    beforeEach(() => {
      clock = stopClock()
    })
    afterEach(() => clock.restore())

    const used = async (resource: string, deployment = on.deployment, client = webClient()) => {
      const { id, subjectToken } = await issue(deployment)
      const response = await exchange(deployment, { subject_token: subjectToken, resource }, { client })
      expect(response.status, response.text).to.equal(200)
      return { id, subjectToken, accessToken: response.body.access_token as string }
    }
    /** Refused as always, and told by one event. */
    const replay = async (subjectToken: string, deployment = on.deployment, client = webClient()) => {
      const before = deployment.events.length
      const response = await exchange(deployment, { subject_token: subjectToken }, { client })
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
      expect(deployment.errors).to.deep.equal([])
      return onlyEvent(deployment, 'subject_token.replayed', before)
    }
    const recordOf = async (id: string, deployment = on.deployment) => (await show(deployment, id)).body
    const isActive = async (accessToken: string, deployment = on.deployment) =>
      (await introspect(deployment, accessToken)).active

    for (const resource of [API, OPAQUE_API]) {
      it(`is on the record, which the first one stops, for ${resource}`, async () => {
        const { id, subjectToken, accessToken } = await used(resource)
        clock.tick(4)
        const at = now()
        expect((await replay(subjectToken)).ended).to.equal('now')
        expect(await recordOf(id)).to.deep.include({
          replay: { at, clientId: 'web' },
          revokedAt: at,
          revocation: { cause: 'replay' },
          state: 'revoked',
        })
        if (resource === OPAQUE_API) expect(await isActive(accessToken)).to.equal(false)
      })

      it(`that is not the first writes nothing, for ${resource}`, async () => {
        const { id, subjectToken } = await used(resource)
        await replay(subjectToken)
        const record = await recordOf(id)
        clock.tick(5)
        const later = await recordRuns(on.database, () =>
          exchange(on.deployment, { subject_token: subjectToken }),
        )
        expect(later.map(({ sql }) => sql.split(' ')[0])).to.deep.equal(['SELECT'])
        expect(
          onlyEvent(on.deployment, 'subject_token.replayed', on.deployment.events.length - 1),
        ).to.include({ ended: 'before', sameClient: false, secondsAfter: 5 })
        expect(await recordOf(id)).to.deep.equal(record)
      })

      it(`of a revoked record writes itself only, for ${resource}`, async () => {
        const { id, subjectToken } = await used(resource)
        await revoke(on.deployment, id)
        const record = await recordOf(id)
        clock.tick(3)
        expect((await replay(subjectToken)).ended).to.equal('before')
        expect(await recordOf(id)).to.deep.equal({ ...record, replay: { at: now(), clientId: 'web' } })
      })

      it(`whose access token has expired writes itself only, for ${resource}`, async () => {
        const { id, subjectToken } = await used(resource)
        const record = await recordOf(id)
        clock.tick(600)
        for (let time = 0; time < 2; time += 1) expect((await replay(subjectToken)).ended).to.equal('expired')
        expect(await recordOf(id)).to.deep.equal({ ...record, replay: { at: now(), clientId: 'web' } })
      })
    }

    it('tells by its event what was exchanged, by whom, and how long before', async () => {
      const { id, subjectToken } = await issue(on.deployment)
      const actor = withActor(await actorToken(on.deployment))
      const parameters = { subject_token: subjectToken, scope: 'orders:read', ...actor }
      const { body } = await exchange(on.deployment, parameters)
      const usedAt = now()
      clock.tick(7)
      expect(await replay(subjectToken)).to.be.frozen.and.deep.equal({
        id,
        userId: 'alice',
        clientId: 'web',
        usedBy: 'spa',
        sameClient: false,
        usedAt,
        secondsAfter: 7,
        actor: { sub: 'bob', clientId: 'spa' },
        resource: API,
        scope: 'orders:read',
        jti: decodeJwt(body.access_token).jti,
        ended: 'now',
      })
    })

    it('is in the error that the provider logs, by name', async () => {
      const { subjectToken } = await used(API)
      const details: unknown[] = []
      on.deployment.provider.once('grant.error', (_ctx, error) => details.push(error.error_detail))
      await replay(subjectToken)
      expect(details).to.deep.equal(['used before'])
    })

    it('is 0 seconds after, if the clock stepped back meanwhile', async () => {
      const { subjectToken } = await used(API)
      clock.setBack(30)
      expect((await replay(subjectToken)).secondsAfter).to.equal(0)
    })

    it('ends no JWT where there are no status lists, and says so', async () => {
      const deployment = await on.start({ options: { statusList: false } })
      const { id, subjectToken } = await used(API, deployment)
      for (let time = 0; time < 2; time += 1)
        expect((await replay(subjectToken, deployment)).ended).to.equal('kept')
      expect(await recordOf(id, deployment)).to.deep.include({
        revocation: { cause: 'replay', ended: 'kept' },
      })
      const opaque = await used(OPAQUE_API, deployment)
      expect((await replay(opaque.subjectToken, deployment)).ended).to.equal('now')
    })

    it('says by the exchange whether it ended a JWT, whatever the options are now', async () => {
      const without = await on.start({ options: { statusList: false } })
      const within = await on.start({ issuer: without.issuer })
      for (const [first, then, ended] of [
        [without, within, 'kept'],
        [within, without, 'now'],
      ] as const) {
        const { subjectToken } = await issue(without)
        const { status, text } = await exchange(
          first,
          { subject_token: subjectToken },
          { client: webClient() },
        )
        expect(status, text).to.equal(200)
        expect((await replay(subjectToken, then)).ended).to.equal(ended)
        expect((await replay(subjectToken, first)).ended).to.equal(ended === 'now' ? 'before' : ended)
      }
    })

    it('of an opaque access token that cannot be ended is not on the record, so that the next one ends it', async () => {
      const state = { down: false }
      const adapter = createAdapter(on.database.sequelize, { namespace: 'failing' })
      const failing = (model: string) => {
        const models = adapter(model)
        const destroy = models.destroy.bind(models)
        return Object.assign(models, {
          destroy: (id: string) => (state.down ? Promise.reject(new Error('down')) : destroy(id)),
        })
      }
      const deployment = await on.start({ configuration: { adapter: failing } })
      const { id, subjectToken, accessToken } = await used(OPAQUE_API, deployment)
      state.down = true
      expect((await replay(subjectToken, deployment)).ended).to.equal('failed')
      expect(await recordOf(id, deployment))
        .to.include({ state: 'consumed' })
        .and.not.to.have.property('replay')
      expect(await isActive(accessToken, deployment)).to.equal(true)
      state.down = false
      expect((await replay(subjectToken, deployment)).ended).to.equal('now')
      expect(await isActive(accessToken, deployment)).to.equal(false)
      expect(await recordOf(id, deployment)).to.have.property('replay')
    })

    for (const resource of [API, OPAQUE_API]) {
      it(`that cannot be written is repeated by the next one, for ${resource}`, async () => {
        const real = createSubjectTokenStore(on.database.sequelize)
        const state = { down: true }
        const recordReplay: typeof real.recordReplay = (...call) =>
          state.down ? Promise.reject(new Error('down')) : real.recordReplay(...call)
        const deployment = await on.start({ options: { store: { ...real, recordReplay } } })
        const { id, subjectToken } = await used(resource, deployment)
        expect((await replay(subjectToken, deployment)).ended).to.equal('failed')
        state.down = false
        expect((await replay(subjectToken, deployment)).ended).to.equal('now')
        expect(await recordOf(id, deployment)).to.have.property('replay')
      })
    }

    describe('within replayLeeway', () => {
      let deployment: Deployment
      before(async () => {
        deployment = await on.start({ options: { replayLeeway: 10 } })
      })

      for (const resource of [API, OPAQUE_API]) {
        it(`by the same client is told, ends nothing and is not on the record, for ${resource}`, async () => {
          const { id, subjectToken, accessToken } = await used(resource, deployment)
          const record = await recordOf(id, deployment)
          for (const wait of [0, 10]) {
            clock.tick(wait)
            expect(await replay(subjectToken, deployment)).to.include({
              ended: 'kept',
              sameClient: true,
              secondsAfter: wait,
            })
          }
          expect(await recordOf(id, deployment)).to.deep.equal(record)
          if (resource === OPAQUE_API) expect(await isActive(accessToken, deployment)).to.equal(true)
          clock.tick(1)
          expect((await replay(subjectToken, deployment)).ended).to.equal('now')
          expect(await recordOf(id, deployment)).to.have.property('replay')
        })
      }

      it('by another client ends what the exchange produced', async () => {
        const { subjectToken } = await used(API, deployment, publicClient())
        expect(await replay(subjectToken, deployment)).to.include({ ended: 'now', sameClient: false })
      })

      it('by the same public client ends it, because its id is no secret', async () => {
        const { subjectToken } = await used(API, deployment, publicClient())
        const told = await replay(subjectToken, deployment, publicClient())
        expect(told).to.include({ ended: 'now', sameClient: true, secondsAfter: 0 })
      })

      it('of a revoked record tells that it was ended before', async () => {
        const { id, subjectToken } = await used(OPAQUE_API, deployment)
        await revoke(deployment, id)
        expect((await replay(subjectToken, deployment)).ended).to.equal('before')
        expect(await recordOf(id, deployment)).not.to.have.property('replay')
      })
    })

    it('by the same client in the second of the exchange ends it without replayLeeway', async () => {
      const { subjectToken } = await used(API)
      expect(await replay(subjectToken)).to.include({ ended: 'now', sameClient: true, secondsAfter: 0 })
    })

    for (const replayLeeway of [0, 10]) {
      it(`is what the losers of a race are, with a leeway of ${replayLeeway} s`, async () => {
        const waiting: (() => void)[] = []
        const getCustomJwtClaims = () =>
          new Promise<object>((resolve) => {
            if (waiting.push(() => resolve({})) === 8) for (const go of waiting.splice(0)) go()
          })
        const deployment = await on.start({ options: { getCustomJwtClaims, replayLeeway } })
        const { id, subjectToken } = await issue(deployment)
        const parameters = { subject_token: subjectToken, resource: OPAQUE_API }
        const responses = await Promise.all(
          Array.from({ length: 8 }, () => exchange(deployment, parameters, { client: webClient() })),
        )
        const winner = responses.find(({ status }) => status === 200)
        expect(await isActive(winner?.body.access_token, deployment)).to.equal(replayLeeway > 0)
        const ended = deployment.events.flatMap(({ payload }) =>
          'secondsAfter' in payload ? payload.ended : [],
        )
        expect(ended).to.have.length(7)
        expect(ended.filter((each) => each === 'now')).to.have.length(replayLeeway > 0 ? 0 : 1)
        expect('replay' in (await recordOf(id, deployment))).to.equal(replayLeeway === 0)
      })
    }
  })
})
