/** Random walks of issue, exchange, replay, revoke and expiry, against a model of the protocol. */
import { now } from '../../fixtures/clock.ts'
import { defineGroup } from '../group.ts'
import type { World } from '../world.ts'
import { exchange } from './exchanging.ts'
import { changeAccount, issue, login } from './issuing.ts'
import type { Lane } from './model.ts'
import { list, look, show } from './reading.ts'
import { checkStatusLists } from './status-lists.ts'
import { LANES, type Round, type Step, walks } from './steps.ts'
import { kill, revoke } from './stopping.ts'
import { startWalk, type Walk } from './walk.ts'

export const walk = defineGroup('walk', walks, async (world: World, rounds: readonly Round[]) => {
  const started = await startWalk(world)
  for (const { time, steps } of rounds) {
    const passed = secondsOf(started, time)
    world.clock.tick(passed)
    if (passed > 1) await checkStatusLists(started)
    await Promise.all(
      started.lanes.map(async (lane, index) => {
        for (const { step } of steps.filter((one) => one.lane % LANES === index))
          await take(started, lane, step)
      }),
    )
    started.settleEvents()
  }
  world.clock.tick(2)
  await checkStatusLists(started)
})

function take(walk: Walk, lane: Lane, step: Step): Promise<void> | void {
  switch (step.kind) {
    case 'issue':
      return issue(walk, lane, step)
    case 'exchange':
      return exchange(walk, lane, step)
    case 'login':
      return login(walk, lane, step)
    case 'show':
      return show(walk, lane, step)
    case 'look':
      return look(walk, lane, step)
    case 'list':
      return list(walk, lane, step)
    case 'revoke':
      return revoke(walk, lane, step)
    case 'kill':
      return kill(walk, lane, step)
    case 'account':
      return changeAccount(walk, lane, step)
  }
}

/** Just before or just at the next expiry, or a number of seconds. */
function secondsOf({ lanes }: Walk, time: Round['time']): number {
  if (typeof time === 'number') return time
  const ends = lanes
    .flatMap(({ tokens, actors }) => [
      ...tokens,
      ...tokens.flatMap(({ use }) => use?.accessToken ?? []),
      ...actors,
    ])
    .map(({ expiresAt }) => expiresAt)
    .filter((end) => end > now())
  if (ends.length === 0) return 1
  return Math.min(...ends) - now() - (time === 'before' ? 1 : 0)
}
