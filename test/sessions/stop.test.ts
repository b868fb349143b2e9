/** A stop responds when Session, Grant and opaque tokens have ended, and waits for no application (protocol.md §10.6). */
import { expect } from 'chai'
import type { AdapterFactory } from 'oidc-provider'
import { storedModels } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { postRevocation, revoke } from '../../fixtures/management.ts'
import { introspect } from '../../fixtures/requests.ts'
import { opaqueToken } from '../../fixtures/sessions.ts'
import { insideOf } from '../../src/impersonation.ts'
import { revokeSubjectToken } from '../../src/records/stop.ts'
import { sessionName } from '../../src/sessions/names.ts'
import { type Scene, withScene } from '../spec/ending.ts'

/** What is left of a session at the provider. */
async function leftOf({ deployment: { provider } }: Scene, id: string): Promise<string[]> {
  const name = sessionName(id)
  const [session, grant] = await Promise.all([provider.Session.findByUid(name), provider.Grant.find(name)])
  return [...(session ? ['Session'] : []), ...(grant ? ['Grant'] : [])]
}

const WAYS: readonly (readonly [way: string, stop: (scene: Scene, id: string) => Promise<unknown>])[] = [
  ['DELETE /{id}', ({ deployment }, id) => revoke(deployment, id)],
  ['POST /revocations', ({ deployment }, id) => postRevocation(deployment, { id })],
  ['the kill switch', ({ deployment }) => postRevocation(deployment, { userId: 'alice' })],
  ['records.stop', ({ deployment }, id) => deployment.impersonation.records.stop({ id })],
  ['records.stopAll', ({ deployment }) => deployment.impersonation.records.stopAll({ actorId: 'carol' })],
]

describe('sessions: a stop', () => {
  for (const [way, stop] of WAYS) {
    it(`has ended Session, Grant and opaque tokens when it responds: ${way}`, () =>
      withScene({}, async (scene) => {
        const id = await scene.open()
        const token = await opaqueToken(scene.deployment, sessionName(id))
        expect(await leftOf(scene, id)).to.deep.equal(['Session', 'Grant'])
        expect((await introspect(scene.deployment, token)).active).to.equal(true)
        await stop(scene, id)
        expect(await leftOf(scene, id)).to.deep.equal([])
        expect((await introspect(scene.deployment, token)).active).to.equal(false)
        // No one has looked, so no one has told the application.
        expect(scene.application.told).to.deep.equal([])
      }))
  }

  it('leaves the sessions of others as they are', () =>
    withScene({}, async (scene) => {
      const [id, other] = [await scene.open(), await scene.open()]
      await scene.stop(id)
      expect(await leftOf(scene, other)).to.deep.equal(['Session', 'Grant'])
      expect(await scene.says(other)).to.include({ logout: 'pending' })
    }))

  it('wakes this process', () =>
    withScene({}, async (scene) => {
      const id = await scene.open()
      let woken = 0
      const wakeSessions = () => {
        woken += 1
      }
      const service = { ...insideOf(scene.deployment.impersonation), wakeSessions }
      await revokeSubjectToken(service, id, { cause: 'host' })
      expect(woken).to.equal(1)
      await revokeSubjectToken(service, id, { cause: 'host' })
      expect(woken).to.equal(1)
    }))
})

describe('sessions: a stop when the provider cannot end a session', () => {
  for (const model of ['Session', 'Grant', 'AccessToken']) {
    it(`responds with 503, and the next one completes it: ${model}`, () => {
      const models = storedModels()
      let fails = false
      const adapter: AdapterFactory = (name) => {
        const own = models.adapter(name)
        const failing = async () => {
          throw new Error('private')
        }
        return new Proxy(own, {
          get: (_, method) =>
            fails && name === model && (method === 'destroy' || method === 'revokeByGrantId')
              ? failing
              : Reflect.get(own, method),
        })
      }
      return withScene({ configuration: { adapter } }, async (scene) => {
        const id = await scene.open()
        scene.clock.tick(100)
        fails = true
        const refused = await postRevocation(scene.deployment, { id })
        expect(refused.status).to.equal(503)
        // Tokens are not issued any more: the record decides.
        expect((await scene.deployment.impersonation.records.get(id))?.revokedAt).to.equal(now())
        await scene.watch.look()
        expect(scene.application.told).to.have.length(1)
        expect((await scene.says(id))?.logout).to.equal('pending')
        fails = false
        const repeated = await postRevocation(scene.deployment, { id })
        expect(repeated.body).to.deep.equal({ revoked: 1 })
        expect(await leftOf(scene, id)).to.deep.equal([])
        await scene.pass(1)
        expect((await scene.says(id))?.logout).to.equal('confirmed')
      })
    })
  }

  it('is ended all the same where no one repeats the stop, as after the death of a process', () =>
    withScene({}, async (scene) => {
      const id = await scene.open()
      const { store, provider } = insideOf(scene.deployment.impersonation)
      await store.revoke(provider.issuer, id, now(), { cause: 'command' })
      expect(await leftOf(scene, id)).to.deep.equal(['Session', 'Grant'])
      await scene.watch.look()
      expect(await leftOf(scene, id)).to.deep.equal([])
      expect((await scene.says(id))?.logout).to.equal('confirmed')
    }))

  it('leaves nothing of what an answer under way has saved since', () =>
    withScene({}, async (scene) => {
      const id = await scene.open()
      await scene.stop(id)
      await scene.watch.look()
      const { provider } = scene.deployment
      const grant = Object.assign(new provider.Grant({ accountId: 'alice', clientId: 'shop' }), {
        jti: sessionName(id),
        exp: now() + 600,
      })
      await grant.save()
      await scene.pass(10)
      expect(await leftOf(scene, id)).to.deep.equal([])
    }))
})
