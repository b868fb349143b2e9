/** One process of `one-good-case.test.ts`: a whole sign-in as the user, from the management API to the end. */
import { decodeJwt } from 'jose'
import { issue } from '../../../fixtures/requests.ts'
import { shown, startScene } from '../../spec/arriving.ts'

const scene = await startScene({ options: { requiredContext: ['reason'] } })
const { impersonation, userinfo } = scene
const { subjectToken: token, id } = await issue(scene, {
  ...{ userId: 'alice', actorId: 'bob', clientId: 'shop', use: 'session' },
  context: { reason: 'lost order' },
})
const browser = await scene.signedIn()
const page = await shown(scene, browser, token)
const { action, fields } = browser.formOf(page)
const way = await browser.post(action, fields)
const armed = browser.cookies.map(({ value }) => value)
const arrived = await scene.authorize(browser)
const { body } = await scene.redeem(arrived)
const shownToShop = await userinfo(body.access_token)
const { items } = await impersonation.records.list({ live: true })
const stopped = await impersonation.records.stop({ id })
const after = await userinfo(body.access_token)
const { events, errors } = scene
await scene.close()
process.send?.({
  token,
  seen: [page.text, way.text, String(arrived.location), shownToShop.text, JSON.stringify(events), ...armed],
  id,
  idToken: decodeJwt(body.id_token),
  userinfo: shownToShop.body,
  live: items,
  stopped,
  after: after.status,
  told: events.map(({ name }) => name),
  errors: errors.map(String),
})
