/** Random walks of issue, exchange, replay, revoke and expiry, against a model of the protocol. */
import fc from 'fast-check'
import { now } from '../../../fixtures/clock.ts'
import type { World } from '../world.ts'
import { acknowledge } from './acknowledging.ts'
import { exchange } from './exchanging.ts'
import { changeAccount, issue, login } from './issuing.ts'
import type { Lane } from './model.ts'
import { pass, passOn } from './passing.ts'
import { clear, purge } from './purging.ts'
import { list, look, show } from './reading.ts'
import { checkStatusLists } from './status-lists.ts'
import { type Course, courses, type Exchange, LANES, type Round, type Step } from './steps.ts'
import { end, kill, misrevoke, revoke } from './stopping.ts'
import { summaries } from './summary.ts'
import { startWalk, type Walk } from './walk.ts'

/** Cases that are tried to make a failing one smaller. */
const SMALLER = 300

/** Holds for every walk. Those that come after so many requests are passed over. */
export function walks(world: World, until: number): fc.IAsyncProperty<[Course]> {
  let left = Number.POSITIVE_INFINITY
  let limit = until
  return fc.asyncProperty(courses, async (course) => {
    left -= 1
    if (left < 0 || world.sent.count >= limit) return
    try {
      await walk(world, course)
      const [fault] = world.faults()
      if (fault !== undefined) throw new Error(fault)
    } catch (error) {
      world.faults()
      // Smaller cases are tried whatever the number of requests.
      limit = Number.POSITIVE_INFINITY
      left = Math.min(left, SMALLER)
      throw error
    }
  })
}

async function walk(world: World, { alone, rounds }: Course): Promise<void> {
  const started = await startWalk(world)
  if (alone) await clear(started)
  for (const lane of started.lanes)
    for (const issuer of [0, 1] as const) await login(started, lane, { ...SOMEONE, issuer })
  const checkSummary = summaries(started)
  for (const { time, purge: retention, summary: days, steps } of rounds) {
    const passed = secondsOf(started, time)
    world.clock.tick(passed)
    if (passed > 1) await checkStatusLists(started)
    if (retention !== undefined) await purge(started, retention, alone)
    if (days !== undefined && alone) await checkSummary(days)
    const lanes = await Promise.allSettled(
      started.lanes.map(async (lane, index) => {
        for (const { step } of steps.filter((one) => one.lane % LANES === index))
          await take(started, lane, step)
      }),
    )
    // Not before all of them have ended: what is still under way would disturb the next case.
    for (const lane of lanes) if (lane.status === 'rejected') throw lane.reason
    started.settleEvents()
  }
  world.clock.tick(2)
  await checkStatusLists(started)
}

/** Who can act from the beginning. */
const SOMEONE = {
  kind: 'login',
  person: 3,
  client: 1,
  format: 'jwt',
  scope: 'openid orders:read',
  received: true,
} as const

async function exchangeAndPass(walk: Walk, lane: Lane, step: Exchange): Promise<void> {
  const before = lane.held.length
  await exchange(walk, lane, step)
  const given = lane.held[before]
  if (given && step.pass) await passOn(walk, lane, step.pass, given)
}

type Taken<Kind> = (walk: Walk, lane: Lane, step: Extract<Step, { kind: Kind }>) => Promise<void> | void

/** How each step is taken. */
const TAKEN: { readonly [Kind in Step['kind']]: Taken<Kind> } = {
  ...{ issue, exchange: exchangeAndPass, pass, login, show, look, list },
  ...{ end, revoke, misrevoke, acknowledge, kill, account: changeAccount },
}

const take = <Kind extends Step['kind']>(
  walk: Walk,
  lane: Lane,
  step: Extract<Step, { kind: Kind }>,
): Promise<void> | void => TAKEN[step.kind as Kind](walk, lane, step)

/** Just before or just at the next expiry, or a number of seconds. */
function secondsOf({ lanes }: Walk, time: Round['time']): number {
  if (typeof time === 'number') return time
  const ends = lanes
    .flatMap(({ tokens, held }) => [...tokens, ...held])
    .map(({ expiresAt }) => expiresAt)
    .filter((end) => end > now())
  if (ends.length === 0) return 1
  return Math.min(...ends) - now() - (time === 'before' ? 1 : 0)
}
