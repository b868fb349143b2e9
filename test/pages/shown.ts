/** What the page shows and sends, read back as a person would. */
import { expect } from 'chai'
import type { Locator, Page, Request } from 'playwright-core'
import { banner } from './desk.ts'

export const isFocused = async (control: Locator): Promise<boolean> =>
  (await control.and(control.page().locator(':focus')).count()) === 1

/** In seconds. */
export async function remaining(page: Page): Promise<number> {
  const [minutes, seconds] = (await page.getByRole('timer').innerText()).split(':').map(Number)
  return Number(minutes) * 60 + Number(seconds)
}

/** The clock runs until it is stopped, which takes longer on a busy machine. */
const AHEAD = 5000

/** No time passes from then on but what the test lets pass; for a page whose clock is installed. */
export async function stopTime(page: Page): Promise<void> {
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + AHEAD)
}

/** Opens the drawer with the token and the requests, or with those of a refusal, where there is one. */
async function openDrawer(page: Page): Promise<void> {
  const refused = page.locator('#refused-wire > details:not([open]) > summary')
  if (await refused.count()) await refused.click()
  const summary = page.getByText('How this works')
  if ((await summary.isVisible()) && !(await page.locator('#how[open]').count())) await summary.click()
}

/** Each claim of the decoded token, with its value and its explanation. */
export async function claimsShown(page: Page): Promise<Map<string, string[]>> {
  await openDrawer(page)
  const claims = await page.locator('#claims > div').all()
  const read = claims.map(
    async (claim): Promise<[string, string[]]> => [
      await claim.locator('dt').innerText(),
      await claim.locator('dd').allInnerTexts(),
    ],
  )
  return new Map(await Promise.all(read))
}

/** The requests on the wire, opened one by one. */
export async function wireShown(page: Page): Promise<string[]> {
  await openDrawer(page)
  const exchanged = await page.locator('.exchanged').all()
  for (const one of exchanged) await one.locator('summary').click()
  return Promise.all(exchanged.map((one) => one.innerText()))
}

/** What the banner says while it stays for a moment after the view. */
const STOPPING = /Stopping …|Not stopped yet|Stopped \d\d:\d\d:\d\d/

/** No banner but one that says what becomes of the stop, and nothing of the customer left in the document. */
export async function expectNothingViewed(page: Page): Promise<void> {
  await banner(page).filter({ hasNotText: STOPPING }).waitFor({ state: 'hidden' })
  for (const id of ['orders', 'profile', 'invoice', 'api-saw', 'copy', 'claims', 'wire']) {
    expect(await page.locator(`#${id}`).innerHTML(), id).to.equal('')
  }
}

/** Everything that the page requests from now on, except its own files. */
export function requestsOf(page: Page): Request[] {
  const sent: Request[] = []
  page.on('request', (request) => {
    if (!new URL(request.url()).pathname.startsWith('/desk/')) sent.push(request)
  })
  return sent
}

// biome-ignore lint/suspicious/noExplicitAny: a test is about to check the body
export async function responseTo(request: Request | undefined): Promise<any> {
  return (await request?.response())?.json()
}
