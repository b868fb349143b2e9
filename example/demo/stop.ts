/** The kill switch: a colleague stops the view, and the API that has verified its access token a moment ago refuses it. */
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
  /** Of the record. */
  readonly id: string
}

/** The longest time that a JWT works after it was stopped: the list's own, and two seconds to build and to fetch it. */
const PATIENCE = (STATUS_LIST_TTL + 2) * 1000

export async function stop(given: Walk, running: Running): Promise<void> {
  screen.step('A colleague stops it', 'The record keeps who did so, and why.')
  await requestStop(given, running)

  screen.step(
    'The orders API has the next status list',
    `The provider publishes what was stopped. The API reads the list again after ${STATUS_LIST_TTL} seconds.`,
  )
  await untilRefused(given, running)
  const orders = new URL(`${given.baseUrl}/orders-api/orders`)
  await expecting(given, 'stopped token', promises.stoppedResponse, () =>
    // The client library throws on a refusal. Only the response matters here.
    fetchProtectedResource(running.desk, running.accessToken, orders, 'GET').catch(() => {}),
  )
}

async function requestStop(given: Walk, { backend, managementToken, id }: Running): Promise<void> {
  const url = new URL(`${given.baseUrl}/api/subject-tokens/revocations`)
  const body = JSON.stringify({ id, ...promises.STOP })
  const headers = new Headers({ 'content-type': 'application/json' })
  await expecting(given, 'revocation response', promises.revocationResponse, () =>
    fetchProtectedResource(backend, managementToken, url, 'POST', body, headers),
  )
}

/** Calls the API twice a second, without showing it, until it refuses or has had its time. */
async function untilRefused({ baseUrl, send }: Walk, { accessToken }: Running): Promise<void> {
  const headers = { authorization: `Bearer ${accessToken}` }
  const end = performance.now() + PATIENCE
  while (performance.now() < end) {
    const response = await send(`${baseUrl}/orders-api/orders`, { headers })
    await response.body?.cancel()
    if (!response.ok) return
    await setTimeout(500)
  }
}
