/** The shop as the customer sees it: Sam opens it at the door, a colleague stops it, and the shop ends its own session. */
import { setTimeout } from 'node:timers/promises'
import type { Configuration } from 'openid-client'
import { fetchProtectedResource } from 'openid-client'
import { Browser } from './browser.ts'
import * as promises from './promises.ts'
import * as screen from './screen.ts'
import { requestStop } from './stop.ts'
import { expecting, type Walk } from './walk.ts'

/** Milliseconds within which the shop is told. */
const PATIENCE = 10_000

interface Backend {
  readonly backend: Configuration
  readonly managementToken: string
}

export async function openAndStop(given: Walk, by: Backend, who: promises.Impersonated): Promise<void> {
  screen.step(
    'The backend gets a subject token that opens the shop as Alice',
    'Only Sam can use it, only once, and only there.',
  )
  const { subjectToken, id } = await issue(given, by, who)

  screen.step(
    'Sam brings it to the door of the provider, signs in, and confirms',
    'The shop then signs in as always: it was not changed for this.',
  )
  const browser = await open(given, subjectToken, who.actorId)

  screen.step('The shop is open as Alice', 'It shows her orders, and reads in the ID token that it is Sam.')
  screen.markResponse('her account, and Sam in it')
  await lookAtShop(given, browser, promises.shopResponse(who))

  screen.step('A colleague stops it', 'The provider tells the shop, which ends its own session.')
  await requestStop(given, { ...by, id })
  await until(async () => (await stateOfShop(given, browser)) !== 'open')
  screen.markResponse('closed: the shop has ended its own session')
  await lookAtShop(given, browser, promises.shopEnded)

  screen.step('The record says so', 'And that the shop has confirmed.')
  const url = new URL(`${given.baseUrl}/api/subject-tokens/${id}`)
  const headers = { authorization: `Bearer ${by.managementToken}` }
  await until(async () => {
    const record = await (await given.send(url, { headers })).json()
    return Object(record).session?.logout !== 'pending'
  })
  await expecting(given, 'record of the shop', promises.sessionRecord(who), () =>
    fetchProtectedResource(by.backend, by.managementToken, url, 'GET'),
  )
}

async function issue(
  given: Walk,
  { backend, managementToken }: Backend,
  { userId, actorId, clientId, reason, ticketId }: promises.Impersonated,
): Promise<{ readonly subjectToken: string; readonly id: string }> {
  const url = new URL(`${given.baseUrl}/api/subject-tokens`)
  const body = JSON.stringify({ use: 'session', userId, actorId, clientId, context: { reason, ticketId } })
  const headers = new Headers({ 'content-type': 'application/json' })
  const promise = promises.sessionTokenResponse(given.baseUrl)
  const response = await expecting(given, 'subject token for the shop', promise, () =>
    fetchProtectedResource(backend, managementToken, url, 'POST', body, headers),
  )
  const { subjectToken } = (await response.json()) as { subjectToken: string }
  return { subjectToken, id: response.headers.get('location')?.split('/').at(-1) ?? '' }
}

/** Returns the browser, in which the shop is open. */
async function open(given: Walk, subjectToken: string, account: string): Promise<Browser> {
  let requests = 0
  const browser = new Browser(given.send, () => {
    requests += 1
  })
  const door = new URL(`${given.baseUrl}/impersonate`)
  const signIn = await browser.visit(door, { subject_token: subjectToken })
  await browser.visit(signIn, { account })
  const sealed = /name="sealed" value="([^"]+)"/.exec(browser.page)?.[1] ?? ''
  await browser.visit(new URL(`${door}/confirm`), { sealed })
  const start = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(browser.page)?.[1] ?? ''
  await browser.visit(new URL(start))
  screen.hops(requests)
  return browser
}

const sessionOf = ({ shop }: Walk) => new URL(`${shop}/session`)

async function lookAtShop(given: Walk, browser: Browser, promise: object): Promise<void> {
  const url = sessionOf(given)
  await expecting(given, 'the shop', promise, () =>
    given.wire.fetch(url.href, {
      method: 'GET',
      headers: { cookie: browser.cookiesFor(url) },
      body: undefined,
      redirect: 'manual',
    }),
  )
}

async function stateOfShop(given: Walk, browser: Browser): Promise<unknown> {
  const url = sessionOf(given)
  const response = await given.send(url, { headers: { cookie: browser.cookiesFor(url) } })
  return Object(await response.json()).state
}

/** Asks four times a second, without showing it. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE
  while (performance.now() < end && !(await isSo())) await setTimeout(250)
}
