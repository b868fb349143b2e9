/** Storage that is down while someone signs in as the user: a 503 that says when to come back, told by one event. */
import { expect } from 'chai'
import { StoreFailure } from '../../../src/tokens/store.ts'
import { errorOf, inScene, replace, type Scene } from '../../spec/arriving.ts'

const DOWN = Object.assign(new Error('secret text'), { code: 'ECONNREFUSED' })

/** A call of the store, or of sessions of the provider, fails from now on. */
function fail(
  { store, provider, events }: Scene,
  what: 'find' | 'consume' | 'sessions',
  error: Error = DOWN,
) {
  events.splice(0)
  const fails = () => Promise.reject(error)
  if (what === 'sessions') Object.assign(provider.Session, { get: fails })
  else replace(store, what, fails)
}

const named = ({ events }: Scene) => events.map(({ name }) => name)
const brought = async (scene: Scene) => {
  const browser = await scene.signedIn()
  await browser.post(scene.door, { subject_token: (await scene.issue()).token })
  return browser
}
const armed = async (scene: Scene) => {
  const browser = await scene.signedIn()
  const { id, token } = await scene.issue()
  await scene.arm(browser, token)
  return { id, browser }
}

describe('an outage of storage', () => {
  it('at the page of the door is a 503', () =>
    inScene({}, async (scene) => {
      const browser = await brought(scene)
      fail(scene, 'find')
      const page = await browser.get(scene.door)
      expect([page.status, page.headers.get('retry-after')]).to.deep.equal([503, '5'])
      expect(page.text).not.to.include('secret')
      expect(page.headers.get('content-security-policy')).to.include("default-src 'none'")
      expect(named(scene)).to.deep.equal(['subject_token.refused'])
      expect(scene.events[0]?.payload).to.include({ check: 'storage', reason: 'ECONNREFUSED' })
    }))

  it('before anyone is known at the door is a 503, told as a failure of this door', () =>
    inScene({}, async (scene) => {
      const browser = await brought(scene)
      fail(scene, 'sessions')
      expect((await browser.get(scene.door)).status).to.equal(503)
      expect(named(scene)).to.deep.equal(['impersonation.failed'])
      expect(scene.events[0]?.payload).to.include({ door: 'session', status: 503, check: 'storage' })
    }))

  for (const [what, error, description, reason] of [
    ['find', undefined, /./, /ECONNREFUSED/],
    ['consume', new StoreFailure('lost'), /^request a new subject token$/, /unknown/],
  ] as const)
    it(`at the arrival is temporarily_unavailable, and lets no one in: ${what}`, () =>
      inScene({}, async (scene) => {
        const { id, browser } = await armed(scene)
        fail(scene, what, error)
        const answer = await scene.authorize(browser)
        expect(errorOf(answer)).to.equal('temporarily_unavailable')
        expect(answer.location?.searchParams.get('error_description')).to.match(description)
        expect(scene.refusals().join()).to.match(reason)
        expect(await scene.provider.Session.findByUid(`imp_${id}`)).to.equal(undefined)
      }))

  it("after a refusal, when the engineer's session is saved, does not take the place of its reason", () =>
    inScene({ options: { isAllowed: ({ scope }) => scope === undefined } }, async (scene) => {
      const { browser } = await armed(scene)
      scene.events.splice(0)
      Object.assign(scene.provider.Session.prototype, { save: () => Promise.reject(DOWN) })
      await scene.authorize(browser)
      expect(scene.refusals()).to.deep.equal(['isAllowed returned false'])
    }))

  for (const thrown of [undefined, null])
    it(`that findAccount has no better word for than ${thrown} is told`, async () => {
      let isDown = false
      const findAccount = async (_: unknown, accountId: string) => {
        if (isDown && accountId === 'alice') throw thrown
        return { accountId, claims: () => ({ sub: accountId }) }
      }
      await inScene({ configuration: { findAccount } }, async (scene) => {
        const { browser } = await armed(scene)
        isDown = true
        expect((await scene.authorize(browser)).status).to.equal(500)
        expect(scene.refusals()).to.have.length(1)
      })
    })

  it('at the code and at userinfo is a 503, and no wrong invalid_grant', () =>
    inScene({}, async (scene) => {
      const { body } = await scene.redeem(await scene.authorize((await armed(scene)).browser))
      const arrived = await scene.authorize((await armed(scene)).browser)
      fail(scene, 'find')
      const answers = [await scene.redeem(arrived), await scene.userinfo(body.access_token)]
      for (const answer of answers)
        expect([answer.status, answer.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
      // A code that is sent again is a replay.
      expect(answers.map(({ headers }) => headers.get('retry-after'))).to.deep.equal([null, '5'])
      expect(named(scene)).to.deep.equal(['impersonation.failed', 'impersonation.failed'])
      expect(scene.events[0]?.payload).to.include({ door: 'session', status: 503, clientId: 'shop' })
    }))
})
