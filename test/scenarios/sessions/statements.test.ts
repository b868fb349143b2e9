/** What a sign-in as the user costs in statements, compared with an ordinary one (protocol.md §10.4). */
import { expect } from 'chai'
import { openDatabase } from '../../../fixtures/databases.ts'
import { createAdapter, createSubjectTokenStore } from '../../../src/sequelize/index.ts'
import { type Scene, shop, startScene } from '../../spec/arriving.ts'

const AT = ['arrival', 'code', 'userinfo'] as const
type Costs = Record<(typeof AT)[number], number>

/** What each of these requests runs. */
async function costsOf(scene: Scene, browser: Awaited<ReturnType<Scene['signedIn']>>): Promise<Costs> {
  const { runs } = scene.database
  const counted = async <Result>(work: () => Promise<Result>) => {
    const before = runs.length
    const result = await work()
    return { result, count: runs.length - before }
  }
  const arrival = await counted(() => scene.authorize(browser))
  const code = await counted(() => scene.redeem(arrival.result))
  expect(code.result.status, code.result.text).to.equal(200)
  const userinfo = await counted(() => scene.userinfo(code.result.body.access_token))
  expect(userinfo.result.status).to.equal(200)
  return { arrival: arrival.count, code: code.count, userinfo: userinfo.count }
}

describe('the statements of a sign-in as the user', () => {
  for (const [how, options] of Object.entries({
    'without a claims function': {},
    'with a claims function': { getCustomJwtClaims: () => ({ tier: 'gold' }) },
  })) {
    it(`are two more at the arrival than of an ordinary one, one more for the code and userinfo, ${how}`, async () => {
      const database = await openDatabase('sqlite')
      const scene = await startScene({
        database,
        options: { store: createSubjectTokenStore(database.sequelize), ...options },
        configuration: { adapter: createAdapter(database.sequelize) },
      })
      try {
        const ordinary = await scene.signedIn('carol')
        await consented(scene, ordinary, 'carol')
        const own = await costsOf(scene, ordinary)
        const engineer = await scene.signedIn('bob')
        const { token } = await scene.issue()
        const { runs } = database
        let before = runs.length
        await engineer.post(scene.door, { subject_token: token })
        expect(runs.length - before, 'brought').to.equal(0)
        before = runs.length
        const page = await engineer.get(scene.door)
        expect(runs.length - before, 'asked').to.equal(2)
        const { action, fields } = engineer.formOf(page)
        before = runs.length
        await engineer.post(action, fields)
        expect(runs.length - before, 'armed').to.equal(2)
        const acting = await costsOf(scene, engineer)
        const more = Object.fromEntries(AT.map((at) => [at, acting[at] - own[at]]))
        expect(more, JSON.stringify({ own, acting })).to.deep.equal({ arrival: 2, code: 1, userinfo: 1 })
      } finally {
        await scene.close()
        await database.close()
      }
    })
  }
})

/** The person has consented before, as customers have. */
async function consented(scene: Scene, browser: Awaited<ReturnType<Scene['signedIn']>>, accountId: string) {
  const { provider } = scene
  const grant = new provider.Grant({ accountId, clientId: shop().client_id })
  grant.addOIDCScope('openid profile')
  const grantId = await grant.save()
  const session = await provider.Session.find(browser.cookie(provider.cookieName('session'))?.value ?? '')
  Object.assign(session ?? {}, { authorizations: { shop: { sid: 'a-sid', grantId } } })
  await session?.persist()
}
