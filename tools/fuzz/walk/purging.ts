/** `purge`: deletes the records that ended long enough ago, and no other. */
import { expect } from 'chai'
import { now } from '../../../fixtures/clock.ts'
import { isPurgeable } from './model.ts'
import type { Walk } from './walk.ts'

/** `alone`: whether the walk knows of every record. */
export async function purge({ world, lanes }: Walk, retention: number, alone: boolean): Promise<void> {
  const { subjectTokens } = await world.purge(retention)
  const deleted = lanes
    .flatMap(({ tokens }) => tokens)
    .filter((token) => !token.purged && isPurgeable(token, retention, now()))
  for (const token of deleted) token.purged = true
  const least = deleted.length
  if (alone) expect(subjectTokens, `records that a purge after ${retention} s deletes`).to.equal(least)
  else expect(subjectTokens, `records that a purge after ${retention} s deletes`).to.be.at.least(least)
}

/** More than any life of a token, and any age of a remembered count. */
const LONG = 4000

/** Deletes the records of earlier cases: all of them have ended by then. */
export async function clear({ world }: Walk): Promise<void> {
  world.clock.tick(LONG)
  await world.purge(0)
}
