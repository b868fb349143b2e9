/** Tokens raced by several processes, and what must be true afterwards, whatever happened in between. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { machineClient } from '../../../fixtures/clients.ts'
import { type Cluster, ISSUER } from '../../../fixtures/cluster.ts'
import { API } from '../../../fixtures/deployment.ts'
import { credentials, form, type HttpResponse, send } from '../../../fixtures/http.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../../src/base/constants.ts'

/** The form of `npm run race`, and of `npm run race -- --minutes 10`: short, again and again. */
export const LONG = process.env.RACE === 'long'
export const REPEATED = process.env.RACE === 'short'

export interface RaceOptions {
  readonly tokens: number
  /** Simultaneous exchanges of one token on every process. */
  readonly width?: number
  /** Tokens raced at the same time. */
  readonly lanes?: number
  /** Happens once, when a third of the tokens has been raced. */
  readonly disturbance?: Disturbance
}

interface Disturbance {
  /** Breaks something during the races that are under way. One token is raced while it is broken. */
  strike(): Promise<void>
  mend(): Promise<void>
}

export interface RaceReport {
  readonly tokens: number
  readonly requests: number
  /** Tokens whose winner's response was lost with its process or its connection. */
  readonly unanswered: number
  /** Responses by status, and `lost` for connections that broke. */
  readonly statuses: Readonly<Record<string, number>>
  /** Milliseconds from the mending to the next subject token that is issued. */
  readonly back?: number
}

export function tell(what: string, report: RaceReport): void {
  if (LONG) console.log(`      ${what}`, JSON.stringify(report))
}

/**
 * Races every token on all processes at once. Then: none was spent twice, and none was lost: each was spent
 * exactly once, or can still be exchanged. A token is only refused as invalid if it is.
 */
export async function race(cluster: Cluster, options: RaceOptions): Promise<RaceReport> {
  const { tokens, width = 2, lanes = 8, disturbance } = options
  const statuses: Record<string, number> = {}
  let started = 0
  let unanswered = 0
  let resuming: Promise<number> | undefined
  const managementToken = await firstResponse(cluster, (address) => requestManagementToken(address))

  const issueSometime = () => firstResponse(cluster, (address) => issue(address, managementToken))
  const lane = async () => {
    while (started < tokens) {
      started += 1
      const strikes = disturbance && started === Math.ceil(tokens / 3)
      const subjectToken = await issueSometime()
      if (strikes) await disturbance.strike()
      const responses = await Promise.all(
        cluster
          .addresses()
          .flatMap((address) => Array.from({ length: width }, () => attempt(address, subjectToken))),
      )
      if (strikes) resuming = disturbance.mend().then(() => timeUntil(() => issueSometime()))
      for (const { status } of responses) statuses[status] = (statuses[status] ?? 0) + 1
      if (!(await settle(cluster, subjectToken, responses))) unanswered += 1
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const back = await resuming
  const requests = Object.values(statuses).reduce((sum, count) => sum + count, 0)
  return { tokens, requests, unanswered, statuses, back }
}

async function timeUntil(done: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await done()
  return Math.round(performance.now() - start)
}

interface Attempt {
  readonly status: string
  readonly text: string
}

/** Checks what became of one token. Resolves to whether its winner got a response. */
async function settle(
  cluster: Cluster,
  subjectToken: string,
  responses: readonly Attempt[],
): Promise<boolean> {
  const winners = responses.filter(({ status }) => status === '200').length
  expect(winners, 'a token was spent twice').to.be.at.most(1)
  const refused = responses.some(({ status }) => status === '400')
  for (const { status, text } of responses) {
    expect(['200', '400', '500', '503', 'lost'], text).to.include(status)
    if (status === '400') expect(text).to.include('subject_token is invalid')
  }
  const again = await exchangeSometime(cluster, subjectToken)
  if (winners === 1) {
    expect(again.status, 'a token was spent again').to.equal(400)
    return true
  }
  // No winner got a response: the token was spent in a process that died, or it can still be exchanged.
  const faults = responses.some(({ status }) => ['500', '503', 'lost'].includes(status))
  expect(faults, 'every exchange of a token was refused').to.equal(true)
  expect(again.status, again.text).to.be.oneOf([200, 400])
  if (refused) expect(again.status, 'a token was refused, and was good').to.equal(400)
  return again.status === 200
}

async function attempt(address: string, subjectToken: string): Promise<Attempt> {
  try {
    const { status, text } = await exchange(address, subjectToken)
    return { status: String(status), text }
  } catch {
    return { status: 'lost', text: '' }
  }
}

async function exchangeSometime(cluster: Cluster, subjectToken: string): Promise<HttpResponse> {
  return firstResponse(cluster, async (address) => {
    const response = await exchange(address, subjectToken)
    return response.status < 500 ? response : undefined
  })
}

/** Calls the processes in turn until one responds: the service resumes by itself. */
async function firstResponse<Value>(
  cluster: Cluster,
  ask: (address: string) => Promise<Value | undefined>,
): Promise<Value> {
  const givenUp = Date.now() + 60_000
  for (let turn = 0; Date.now() < givenUp; turn += 1) {
    const addresses = cluster.addresses()
    const address = addresses[turn % addresses.length]
    const value = address && (await ask(address).catch(() => undefined))
    if (value) return value
    await sleep(20)
  }
  throw new Error('the service did not resume')
}

async function requestManagementToken(address: string): Promise<string | undefined> {
  const { headers } = credentials(machineClient())
  const body = form({
    grant_type: 'client_credentials',
    resource: ISSUER.replace('/oidc', '/api'),
    scope: 'subject-tokens:create',
  })
  const response = await send(`${address}/oidc/token`, { method: 'POST', headers, body })
  return response.body?.access_token
}

async function issue(address: string, managementToken: string): Promise<string | undefined> {
  const response = await send(`${address}/api/subject-tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${managementToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ userId: 'alice' }),
  })
  return response.body?.subjectToken
}

function exchange(address: string, subjectToken: string): Promise<HttpResponse> {
  const body = form({
    grant_type: TOKEN_EXCHANGE,
    client_id: 'spa',
    subject_token: subjectToken,
    subject_token_type: ACCESS_TOKEN_TYPE,
    resource: API,
  })
  return send(`${address}/oidc/token`, { method: 'POST', body })
}
