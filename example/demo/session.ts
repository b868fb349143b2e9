/** The shop as the customer sees it: Sam opens it at the door, a colleague stops it, and the shop ends its own session. */
import { Browser } from './browser.ts'
import * as promises from './promises.ts'
import * as screen from './screen.ts'
import { expecting, issue, showRecord, stop, until, type Walk } from './walk.ts'

/** Seconds within which the shop is told. */
const PATIENCE = 10

export async function openAndStop(given: Walk): Promise<void> {
  const { baseUrl, who, managementToken, send } = given
  screen.step(
    'The backend gets a subject token that opens the shop as Alice',
    'Only Sam can use it, only once, and only there.',
  )
  const promise = promises.sessionTokenResponse(baseUrl)
  const { subjectToken, id } = await issue(given, 'subject token for the shop', promise, { use: 'session' })

  screen.step(
    'Sam brings it to the door of the provider, signs in, and confirms',
    'The shop then signs in as always: it was not changed for this.',
  )
  const browser = await open(given, subjectToken)

  screen.step(
    'The shop is open as Alice',
    'It shows her orders, and reads in the ID token that it is Sam, who may change nothing.',
  )
  screen.markResponse('her account, and Sam in it')
  await lookAtShop(given, browser, promises.shopResponse(who))

  screen.step('A colleague stops it', 'The provider tells the shop, which ends its own session.')
  await stop(given, id)
  const session = sessionOf(given, browser)
  await until(async () => (await memberOf(send(session.url, session.init), 'state')) !== 'open', PATIENCE)
  screen.markResponse('closed: the shop has ended its own session')
  await lookAtShop(given, browser, promises.shopEnded)

  screen.step('The record says so', 'And that the shop has confirmed.')
  const headers = { authorization: `Bearer ${managementToken}` }
  await until(async () => {
    const told = await memberOf(send(`${baseUrl}/api/subject-tokens/${id}`, { headers }), 'session')
    return Object(told).logout !== 'pending'
  }, PATIENCE)
  await showRecord(given, id, 'record of the shop', promises.sessionRecord(who))
}

/** Returns the browser, in which the shop is open. */
async function open({ baseUrl, send, who }: Walk, subjectToken: string): Promise<Browser> {
  const browser = new Browser(send)
  const door = new URL(`${baseUrl}/impersonate`)
  const signIn = await browser.visit(door, { subject_token: subjectToken })
  await browser.visit(signIn, { account: who.actorId })
  const sealed = /name="sealed" value="([^"]+)"/.exec(browser.page)?.[1] ?? ''
  await browser.visit(new URL(`${door}/confirm`), { sealed })
  const start = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(browser.page)?.[1] ?? ''
  await browser.visit(new URL(start))
  screen.hops(browser.requests)
  return browser
}

/** What the page of the shop asks every few seconds. */
function sessionOf({ shop }: Walk, browser: Browser) {
  const url = new URL(`${shop}/session`)
  return { url, init: { method: 'GET', headers: { cookie: browser.cookiesFor(url) } } }
}

async function lookAtShop(given: Walk, browser: Browser, promise: object): Promise<void> {
  const { url, init } = sessionOf(given, browser)
  await expecting(given, 'the shop', promise, () =>
    given.wire.fetch(url.href, { ...init, body: undefined, redirect: 'manual' }),
  )
}

async function memberOf(response: Promise<Response>, name: string): Promise<unknown> {
  return Object(await (await response).json())[name]
}
