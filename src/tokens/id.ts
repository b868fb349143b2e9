import { randomBytes } from 'node:crypto'
import type { Seconds } from '../base/clock.ts'

const SHAPE = /^[0-9a-f]{32}$/

/** Whether a value is a text in the form of an id. Others are never looked up. */
export const isId = (value: unknown): value is string => typeof value === 'string' && SHAPE.test(value)

/** Milliseconds. A clock that steps back by more is followed: it was wrong before. */
const LARGEST_STEP = 10_000

let lastMillisecond = 0
let sequence = 0

/**
 * The public handle of a subject token: 32 hexadecimal digits that sort by creation (12 of time, 4 of
 * sequence, 16 random). Not derived from the token, and no use at the token endpoint.
 */
export function mintId(): string {
  const now = Date.now()
  // Ids of this process sort by creation even if the clock stops or steps back a little.
  if (now > lastMillisecond || now < lastMillisecond - LARGEST_STEP) {
    lastMillisecond = now
    sequence = 0
  } else if (sequence < 0xffff) {
    sequence += 1
  } else {
    lastMillisecond += 1
    sequence = 0
  }
  return timeOf(lastMillisecond) + sequence.toString(16).padStart(4, '0') + randomBytes(8).toString('hex')
}

/** The second in which an id was minted, by its own time: that of the clock, or up to ten seconds later. */
export const secondOf = (id: string): Seconds => Math.floor(Number.parseInt(id.slice(0, 12), 16) / 1000)

/** The last millisecond that an id can hold. */
const LATEST = 0xffff_ffff_ffff

/** No id whose second is this one or later sorts before it, and each of an earlier second does. */
export const earliestId = (at: Seconds): string =>
  timeOf(Math.min(LATEST, Math.max(0, at * 1000))).padEnd(32, '0')

const timeOf = (milliseconds: number) => milliseconds.toString(16).padStart(12, '0')
