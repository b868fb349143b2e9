/** One process of `secrets.test.ts`: a whole sign-in as the user, while everything that can log does. */
import { startScene } from '../../spec/arriving.ts'

const scene = await startScene({ options: { requiredContext: ['reason'] } })
const browser = await scene.signedIn()
const { token } = await scene.issue({ context: { reason: 'lost order' } })
const page = await browser.follow(await browser.post(scene.door, { subject_token: token }))
const { action, fields } = browser.formOf(page)
const way = await browser.post(action, fields)
const armed = browser.cookies.map(({ value }) => value)
const arrived = await scene.authorize(browser)
const { body } = await scene.redeem(arrived)
const { text } = await scene.userinfo(body.access_token)
const seen = [page.text, way.text, String(arrived.location), text, JSON.stringify(scene.events)]
await scene.close()
process.send?.({ token, seen, armed })
