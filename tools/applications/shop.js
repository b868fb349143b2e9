/** An engineer in a browser: from the desk through the door into the shop as the customer, and out by three ways. */
import assert from 'node:assert/strict'

/** Milliseconds, for each thing that is waited for. */
const PATIENCE = 30_000
/** Milliseconds between two questions to a page. */
const EVERY = 50

const REASON = 'A teapot is missing'
const WHY = 'The ticket is closed'
const NOTE = '#open-shop'
const STOP = 'impersonation-banner >>> section [aria-disabled]'
const GO_ON = 'impersonation-banner >>> dialog[open] button'
const CONFIRMED = /The shop confirmed at \d\d:\d\d:\d\d that its own session is over/

/** By the role and the name that assistive technology is told. */
const named = (role, name) => `::-p-aria([name="${name}"][role="${role}"])`

const press = (page, name) => page.locator(named('button', name)).click()

/** Asks again until an element says so, and resolves to all that it says. */
async function says(page, selector, pattern) {
  const since = Date.now()
  for (;;) {
    // Between two pages there is none.
    const text = await page.$eval(selector, (element) => element.innerText).catch(() => '')
    const words = text.replace(/\s+/g, ' ').trim()
    if (pattern.test(words)) return words
    if (Date.now() - since > PATIENCE)
      assert.match(words, pattern, `${selector} says “${words}”, not ${pattern}`)
    await new Promise((resolve) => setTimeout(resolve, EVERY))
  }
}

/** What lies on top at the centre of an element, as a pointer meets it, by the name of its tag. */
const onTopOf = async (page, selector) =>
  await page.$eval(selector, (element) => {
    const { x, y, width, height } = element.getBoundingClientRect()
    return document.elementFromPoint(x + width / 2, y + height / 2)?.localName
  })

/** `tell` receives each step that was as promised. Rejects with an `AssertionError` at the first that is not. */
export async function walkShop(browser, { baseUrl, shop }, tell) {
  const problems = []
  const watched = (page) => {
    page.setDefaultTimeout(PATIENCE)
    // Also where a page violates its Content-Security-Policy.
    page.on('pageerror', ({ message }) => problems.push(`${page.url()}: ${message}`))
    return page
  }
  const desk = watched(await browser.newPage())
  desk.on('popup', watched)
  await signIn(desk, baseUrl)
  tell('sam signs in at the desk')
  const given = { desk, address: shop }
  await endAtDesk(given, tell)
  await endInShop(given, tell)
  await endAtConsole({ ...given, baseUrl, security: watched(await elsewhere(browser)) }, tell)
  assert.deepEqual(problems, [])
  tell('no page threw, or violated its Content-Security-Policy')
}

/** The first that opens the shop tells how. */
async function endAtDesk({ desk, address }, tell) {
  const page = await openShop(desk, address, tell)
  await desk.bringToFront()
  await press(desk, 'End it')
  await says(desk, NOTE, /You ended the shop as Alice Archer at/)
  await says(desk, NOTE, CONFIRMED)
  tell('“End it” at the desk ends it, and the desk says that the shop confirmed')
  await page.bringToFront()
  await isClosed(page)
  tell('the shop has covered itself, shows nothing of alice, and does not go on as sam unnoticed')
}

async function endInShop({ desk, address }, tell) {
  const page = await openShop(desk, address)
  await page.locator(STOP).click()
  await isClosed(page)
  await says(desk, NOTE, /You left the shop as Alice Archer at/)
  await says(desk, NOTE, CONFIRMED)
  tell('“Stop viewing” in the banner does the same')
}

async function endAtConsole({ desk, address, baseUrl, security }, tell) {
  const page = await openShop(desk, address)
  await stopAtConsole(security, baseUrl)
  await isClosed(page)
  await says(desk, NOTE, /Dana Dorn stopped your view of Alice Archer at .* The reason: The ticket is closed/)
  await says(desk, NOTE, CONFIRMED)
  tell('so does a stop at the console, the desk says who and why, and that the shop confirmed')
}

/** A page of a colleague. In a window of its own, so that the shop stays in view. */
const elsewhere = async (browser) => (await browser.createBrowserContext()).newPage({ type: 'window' })

async function signIn(page, baseUrl) {
  await page.goto(`${baseUrl}/`)
  await press(page, 'Sign in')
  await press(page, 'Sam Sawyer sam')
  await press(page, 'Allow')
  await says(page, 'h1', /^Customers$/)
}

async function openShop(desk, address, tell = () => {}) {
  await press(desk, 'Open the shop as Alice Archer')
  await desk.locator('#reason').fill(REASON)
  await desk.locator('#ticketId').fill('T-1')
  const opened = new Promise((resolve) => desk.once('popup', resolve))
  await press(desk, 'Start')
  const page = await opened
  const asked = await says(page, 'main', /^Open The Corner Shop as Alice Archer\?/)
  for (const part of ['You are Sam Sawyer', 'You will be Alice Archer', 'after 5 minutes', REASON, 'T-1'])
    assert.ok(asked.includes(part), `the door says “${asked}”, and not “${part}”`)
  await says(desk, NOTE, /The shop waits for you in another tab/)
  tell('the door says who acts, as whom, where, for how long and why, and waits')
  await press(page, 'Open as Alice Archer')
  await says(page, 'main', /^Hello, Alice Archer Your orders A teapot/)
  assert.equal(page.url(), `${address}/`)
  await says(desk, NOTE, /The shop is open as Alice Archer in another tab, until/)
  tell('the shop is open as alice, with her orders')
  await says(
    page,
    'impersonation-banner >>> section',
    /^You see what Alice Archer sees · as sam \d:\d\d Stop viewing/,
  )
  assert.equal(await onTopOf(page, STOP), 'impersonation-banner')
  assert.equal(await onTopOf(page, 'header a'), 'a')
  tell('its banner names both people, is on top, and does not cover the header')
  return page
}

/** It covers itself, the customer is in it no more, and it does not go on as the engineer before a button is pressed. */
async function isClosed(page) {
  await says(page, GO_ON, /^Continue as sam$/)
  assert.equal(await onTopOf(page, 'body'), 'impersonation-banner')
  assert.equal(await page.$eval('main', ({ textContent }) => textContent.trim()), '')
  await page.locator(GO_ON).click()
  await says(page, 'h1', /^This session has ended$/)
  await page.close()
}

async function stopAtConsole(page, baseUrl) {
  await page.goto(`${baseUrl}/impersonations`)
  await press(page, 'Dana Dorn dana')
  // Of all the records, only the one that is live can be stopped.
  await page.locator('tbody a[href*="stop"]').click()
  await page.locator(named('textbox', 'Reason')).fill(WHY)
  await press(page, 'Stop now')
}
