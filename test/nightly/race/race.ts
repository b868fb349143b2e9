/** Tokens raced by several processes, and what must be true afterwards, whatever happened in between. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Cluster } from '../../../fixtures/cluster.ts'
import type { Addresses } from '../../../fixtures/deployment.ts'
import type { HttpResponse } from '../../../fixtures/http.ts'
import { exchange, issue, managementToken } from '../../../fixtures/requests.ts'

/** The form of `npm run race`, and of `npm run race -- --minutes 10`: short, again and again. */
export const LONG = process.env.RACE === 'long'
export const REPEATED = process.env.RACE === 'short'

const TOKENS = LONG ? 2000 : 60
/** Milliseconds for a race. */
export const TIMEOUT = LONG ? 600_000 : 90_000

interface RaceOptions {
  readonly tokens: number
  /** Happens once, when a third of the tokens has been raced. */
  readonly disturbance?: Disturbance
}

interface Disturbance {
  /** Breaks something during the races that are under way. One token is raced while it is broken. */
  strike(): Promise<void>
  mend(): Promise<void>
}

interface RaceReport {
  readonly tokens: number
  readonly requests: number
  /** Tokens whose winner's response was lost with its process or its connection. */
  readonly unanswered: number
  /** Responses by status, and `lost` for connections that broke. */
  readonly statuses: Readonly<Record<string, number>>
  /** Milliseconds from the mending to the next subject token that is issued. */
  readonly back?: number
}

function tell(what: string, report: RaceReport): void {
  if (LONG) console.log(`      ${what}`, JSON.stringify(report))
}

/** Simultaneous exchanges of one token on every process. */
const WIDTH = 2
/** Tokens raced at the same time. */
const LANES = 8

export function itSpendsEach(where: string, cluster: () => Cluster, tokens = TOKENS): void {
  it('spends every token exactly once', async () => {
    const report = await race(cluster(), { tokens })
    tell(where, report)
    const losers = WIDTH * cluster().services().length - 1
    expect(report.statuses).to.deep.equal({ 200: tokens, 400: tokens * losers })
  })
}

/** Something fails in the middle of a race: some are told that it is an outage, where it is one of the database. */
export function itSurvives(
  what: string,
  cluster: () => Cluster,
  disturbance: Disturbance,
  { isOutage }: { readonly isOutage: boolean },
): void {
  it(`ends no process, spends none twice, loses none, and resumes by itself: ${what}`, async () => {
    const report = await race(cluster(), { tokens: TOKENS, disturbance })
    tell(what, report)
    if (isOutage) expect(Object.keys(report.statuses)).to.include('503')
    expect(cluster().ended()).to.equal(0)
  })
}

/**
 * Races every token on all processes at once. Then: none was spent twice, and none was lost: each was spent
 * exactly once, or can still be exchanged. A token is only refused as invalid if it is.
 */
async function race(cluster: Cluster, { tokens, disturbance }: RaceOptions): Promise<RaceReport> {
  const statuses: Record<string, number> = {}
  let started = 0
  let unanswered = 0
  let resuming: Promise<number> | undefined
  const management = await firstResponse(cluster, (service) => managementToken(service))

  const issueSometime = () => firstResponse(cluster, (service) => issue(service, {}, management))
  const lane = async () => {
    while (started < tokens) {
      started += 1
      const strikes = disturbance && started === Math.ceil(tokens / 3)
      const { subjectToken } = await issueSometime()
      if (strikes) await disturbance.strike()
      const responses = await Promise.all(
        cluster
          .services()
          .flatMap((service) => Array.from({ length: WIDTH }, () => attempt(service, subjectToken))),
      )
      if (strikes) resuming = disturbance.mend().then(() => timeUntil(() => issueSometime()))
      for (const { status } of responses) statuses[status] = (statuses[status] ?? 0) + 1
      if (!(await settle(cluster, subjectToken, responses))) unanswered += 1
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
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

async function attempt(service: Addresses, subjectToken: string): Promise<Attempt> {
  try {
    const { status, text } = await exchange(service, { subject_token: subjectToken })
    return { status: String(status), text }
  } catch {
    return { status: 'lost', text: '' }
  }
}

async function exchangeSometime(cluster: Cluster, subjectToken: string): Promise<HttpResponse> {
  return firstResponse(cluster, async (service) => {
    const response = await exchange(service, { subject_token: subjectToken })
    return response.status < 500 ? response : undefined
  })
}

/** Calls the processes in turn until one responds: the service resumes by itself. */
async function firstResponse<Value>(
  cluster: Cluster,
  ask: (service: Addresses) => Promise<Value | undefined>,
): Promise<Value> {
  const givenUp = Date.now() + 60_000
  for (let turn = 0; Date.now() < givenUp; turn += 1) {
    const services = cluster.services()
    const service = services[turn % services.length]
    const value = service && (await ask(service).catch(() => undefined))
    if (value) return value
    await sleep(20)
  }
  throw new Error('the service did not resume')
}
