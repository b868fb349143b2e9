/** Mixed load: views of users from their issue to their end, by several lanes at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientMetadata } from 'oidc-provider'
import { machineClient, publicClient } from '../../fixtures/clients.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { credentials, form, type HttpResponse, type Parameters } from '../../fixtures/http.ts'
import { idFrom } from '../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/constants.ts'
import { openWire, type WireRequest } from '../wire.ts'

export interface Load {
  /** Responses by status, and `lost` for those that never came. */
  readonly statuses: Readonly<Record<string, number>>
  /** What must not happen while the database is up. */
  readonly faults: readonly string[]
  stop(): Promise<void>
}

type Send = (request: WireRequest) => Promise<HttpResponse>

const LANES = 8
/** Milliseconds. */
const TIME_LIMIT = 60_000
const PAUSE = 50

/** `isDown`: whether failures are to be expected. */
export function startLoad(baseUrl: string, isDown: () => boolean): Load {
  const wire = openWire(baseUrl, TIME_LIMIT)
  const statuses: Record<string, number> = {}
  const faults: string[] = []
  let running = true
  const send: Send = async (request) => {
    const wasDown = isDown()
    const response = await wire.send(request).catch(() => undefined)
    const status = String(response?.status ?? 'lost')
    statuses[status] = (statuses[status] ?? 0) + 1
    if (response && response.status < 500) return response
    if (!wasDown && !isDown())
      faults.push(`${status} to ${request.method} ${request.path}: ${response?.text}`)
    throw new Error(status)
  }
  const lane = async (number: number) => {
    for (let turn = 0; running; turn += 1) {
      try {
        await view(send, baseUrl, turn * LANES + number)
      } catch {
        await sleep(PAUSE)
      }
    }
  }
  const lanes = Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)))
  return {
    statuses,
    faults,
    async stop() {
      running = false
      await lanes
      wire.close()
    },
  }
}

/** One view: what differs between views follows from its number. */
async function view(send: Send, baseUrl: string, number: number): Promise<void> {
  const granted = await postToken(send, machineClient(), {
    grant_type: 'client_credentials',
    resource: `${baseUrl}/api`,
    scope: 'subject-tokens:create subject-tokens:read subject-tokens:revoke',
  })
  const manage = (method: string, path: string, body?: object) =>
    send({
      method,
      path: `/api/subject-tokens${path}`,
      headers: { authorization: `Bearer ${granted.body.access_token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  const userId = ['alice', 'carol', 'dave'][number % 3]
  const issued = await manage('POST', '', { userId, context: { ticketId: String(number) } })
  const exchange = () =>
    postToken(send, publicClient(), {
      grant_type: TOKEN_EXCHANGE,
      subject_token: issued.body.subjectToken,
      subject_token_type: ACCESS_TOKEN_TYPE,
      resource: number % 2 === 0 ? API : OPAQUE_API,
      scope: 'orders:read',
    })
  await exchange()
  const id = idFrom(issued)
  await manage('GET', `/${id}`)
  if (number % 3 === 0) await exchange()
  if (number % 5 === 0) await manage('GET', `?userId=${userId}&limit=20`)
  if (number % 7 === 0) await manage('DELETE', `/${id}`)
  if (number % 11 === 0) await send({ method: 'GET', path: '/api/status-lists/0' })
  if (number % 97 === 0) await manage('GET', '/summary?days=2')
  if (number % 211 === 0) await manage('DELETE', `?userId=${userId}`)
}

function postToken(send: Send, client: ClientMetadata, parameters: Parameters): Promise<HttpResponse> {
  const { headers, body } = credentials(client)
  return send({
    method: 'POST',
    path: '/oidc/token',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: form({ ...body, ...parameters }).toString(),
  })
}
