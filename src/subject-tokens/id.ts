import { randomBytes } from 'node:crypto'
import type { Seconds } from '../clock.ts'

let lastMillisecond = 0
let sequence = 0

/**
 * The public handle of a subject token: 32 hexadecimal digits that sort by creation (12 of time, 4 of
 * sequence, 16 random). Not derived from the token, and no use at the token endpoint.
 */
export function mintId(): string {
  const now = Date.now()
  // A clock that stands or steps back must not reorder what this process has already handed out.
  if (now > lastMillisecond) {
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

/** No id that was minted at this time or later sorts before it. */
export const earliestId = (at: Seconds): string => timeOf(Math.max(0, at * 1000)).padEnd(32, '0')

const timeOf = (milliseconds: number) => milliseconds.toString(16).padStart(12, '0')
