/** Storage that is down while someone signs in as the user: a 503 that says when to come back, told by one event. */
import { expect } from 'chai'
import { createMemoryStore } from '../../../src/testing/index.ts'
import { type Scene, startScene } from '../../spec/arriving.ts'

/** A scene whose store, or sessions of the provider, can be made to fail. */
async function withOutages(
  use: (scene: Scene, fail: (what: 'records' | 'sessions') => void) => Promise<void>,
) {
  const store = createMemoryStore()
  const down = new Set<string>()
  const scene = await startScene({
    options: {
      store: {
        ...store,
        find: async (...given) => {
          if (down.has('records')) throw Object.assign(new Error('secret text'), { code: 'ECONNREFUSED' })
          return store.find(...given)
        },
      },
    },
  })
  try {
    await use(scene, (what) => {
      scene.events.splice(0)
      down.add(what)
      if (what !== 'sessions') return
      Object.assign(scene.provider.Session, { get: () => Promise.reject(new Error('secret text')) })
    })
  } finally {
    await scene.close()
  }
}

const named = ({ events }: Scene) => events.map(({ name }) => name)

describe('an outage of storage', () => {
  it('at the page of the door is a 503', () =>
    withOutages(async (scene, fail) => {
      const browser = await scene.signedIn()
      await browser.post(scene.door, { subject_token: (await scene.issue()).token })
      fail('records')
      const page = await browser.get(scene.door)
      expect([page.status, page.headers.get('retry-after')]).to.deep.equal([503, '5'])
      expect(page.text).not.to.include('secret')
      expect(page.headers.get('content-security-policy')).to.include("default-src 'none'")
      expect(named(scene)).to.deep.equal(['subject_token.refused'])
      expect(scene.events[0]?.payload).to.include({ check: 'storage', reason: 'ECONNREFUSED' })
    }))

  it('before anyone is known at the door is a 503, told as a failure of this door', () =>
    withOutages(async (scene, fail) => {
      const browser = await scene.signedIn()
      await browser.post(scene.door, { subject_token: (await scene.issue()).token })
      fail('sessions')
      expect((await browser.get(scene.door)).status).to.equal(503)
      expect(named(scene)).to.deep.equal(['impersonation.failed'])
      expect(scene.events[0]?.payload).to.include({ door: 'session', status: 503, check: 'storage' })
    }))

  it('at the code and at userinfo is a 503, and no wrong invalid_grant', () =>
    withOutages(async (scene, fail) => {
      const browser = await scene.signedIn()
      const one = await scene.issue()
      await scene.arm(browser, one.token)
      const { body } = await scene.redeem(await scene.authorize(browser))
      const other = await scene.issue()
      await scene.arm(browser, other.token)
      const arrived = await scene.authorize(browser)
      fail('records')
      const answers = [await scene.redeem(arrived), await scene.userinfo(body.access_token)]
      for (const answer of answers)
        expect([answer.status, answer.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
      // A code that is sent again is a replay.
      expect(answers.map(({ headers }) => headers.get('retry-after'))).to.deep.equal([null, '5'])
      expect(named(scene)).to.deep.equal(['impersonation.failed', 'impersonation.failed'])
      expect(scene.events[0]?.payload).to.include({ door: 'session', status: 503, clientId: 'shop' })
    }))
})
