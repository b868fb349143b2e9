/** What a sign-in as the user costs in statements, compared with an ordinary one (docs/protocol.md §10.4). */
import { expect } from 'chai'
import type { Browser } from '../../../fixtures/browser.ts'
import { openDatabase } from '../../../fixtures/databases.ts'
import { createAdapter, createSubjectTokenStore } from '../../../src/sequelize/index.ts'
import { consent, inScene, type Scene } from '../../spec/arriving.ts'

/** What each of these requests runs. */
async function costsOf(scene: Scene, browser: Browser) {
  const { runs } = scene.database
  const begun = runs.length
  const arrival = await scene.authorize(browser)
  const arrived = runs.length
  const { status, body, text } = await scene.redeem(arrival)
  expect(status, text).to.equal(200)
  const redeemed = runs.length
  expect((await scene.userinfo(body.access_token)).status).to.equal(200)
  return { arrival: arrived - begun, code: redeemed - arrived, userinfo: runs.length - redeemed }
}

describe('the statements of a sign-in as the user', () => {
  for (const [how, options] of Object.entries({
    'without a claims function': {},
    'with a claims function': { getCustomJwtClaims: () => ({ tier: 'gold' }) },
  })) {
    it(`are two more at the arrival than of an ordinary one, one more for the code and userinfo, ${how}`, async () => {
      const database = await openDatabase('sqlite')
      const { runs, sequelize } = database
      const given = {
        database,
        options: { store: createSubjectTokenStore(sequelize), ...options },
        configuration: { adapter: createAdapter(sequelize) },
      }
      await inScene(given, async (scene) => {
        const ordinary = await scene.signedIn('carol')
        await consent(scene, ordinary)
        const own = await costsOf(scene, ordinary)
        const engineer = await scene.signedIn('bob')
        const { token } = await scene.issue()
        const counts = [runs.length]
        await engineer.post(scene.door, { subject_token: token })
        counts.push(runs.length)
        const { action, fields } = engineer.formOf(await engineer.get(scene.door))
        counts.push(runs.length)
        await engineer.post(action, fields)
        counts.push(runs.length)
        const atDoor = counts.slice(1).map((count, index) => count - (counts[index] ?? 0))
        expect(atDoor, 'brought, asked, armed').to.deep.equal([0, 2, 2])
        const acting = await costsOf(scene, engineer)
        expect(acting).to.deep.equal({
          ...{ arrival: own.arrival + 2, code: own.code + 1, userinfo: own.userinfo + 1 },
        })
      }).finally(() => database.close())
    })
  }
})
