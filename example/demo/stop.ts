/** The kill switch: a colleague stops the view, and the APIs that have verified its access tokens a moment ago refuse them. */
import { setTimeout } from 'node:timers/promises'
import type * as client from 'openid-client'
import { fetchProtectedResource } from 'openid-client'
import { STATUS_LIST_TTL } from '../impersonation.ts'
import * as promises from './promises.ts'
import * as screen from './screen.ts'
import { expecting, type Walk } from './walk.ts'

interface Running {
  readonly backend: client.Configuration
  readonly desk: client.Configuration
  readonly managementToken: string
  readonly accessToken: string
  /** What the orders API exchanged it for. */
  readonly billingToken: string
  /** Of the record. */
  readonly id: string
}

/** The longest time that a JWT works after it was stopped: the list's own, and two seconds to build and to fetch it. */
const PATIENCE = (STATUS_LIST_TTL + 2) * 1000

export async function stop(given: Walk, running: Running): Promise<void> {
  screen.step('A colleague stops it', 'The record keeps who did so, and why.')
  await requestStop(given, running)

  screen.step(
    'Both APIs have the next status list',
    `The provider publishes what was stopped. The APIs read the list again after ${STATUS_LIST_TTL} seconds.`,
  )
  const { baseUrl } = given
  await expectRefusal(given, running, {
    what: 'stopped token',
    url: `${baseUrl}/orders-api/orders`,
    token: running.accessToken,
  })
  await expectRefusal(given, running, {
    what: 'stopped billing token',
    url: `${baseUrl}/billing-api/payments`,
    token: running.billingToken,
  })
}

interface Stopped {
  readonly what: string
  readonly url: string
  readonly token: string
}

async function expectRefusal(given: Walk, { desk }: Running, stopped: Stopped): Promise<void> {
  const { what, url, token } = stopped
  await untilRefused(given, stopped)
  await expecting(given, what, promises.stoppedResponse, () =>
    // The client library throws on a refusal. Only the response matters here.
    fetchProtectedResource(desk, token, new URL(url), 'GET').catch(() => {}),
  )
}

export async function requestStop(
  given: Walk,
  { backend, managementToken, id }: Pick<Running, 'backend' | 'managementToken' | 'id'>,
): Promise<void> {
  const url = new URL(`${given.baseUrl}/api/subject-tokens/revocations`)
  const body = JSON.stringify({ id, ...promises.STOP })
  const headers = new Headers({ 'content-type': 'application/json' })
  await expecting(given, 'revocation response', promises.revocationResponse, () =>
    fetchProtectedResource(backend, managementToken, url, 'POST', body, headers),
  )
}

/** Calls the API twice a second, without showing it, until it refuses or has had its time. */
async function untilRefused({ send }: Walk, { url, token }: Stopped): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const end = performance.now() + PATIENCE
  while (performance.now() < end) {
    const response = await send(url, { headers })
    await response.body?.cancel()
    if (!response.ok) return
    await setTimeout(500)
  }
}
