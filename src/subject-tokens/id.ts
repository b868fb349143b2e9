import { randomBytes } from 'node:crypto'

const SHAPE = /^[0-9a-f]{32}$/

/** Whether a text has the form of an id. Other texts are never looked up. */
export const isId = (value: string): boolean => SHAPE.test(value)

let lastMillisecond = 0
let sequence = 0

/**
 * The public handle of a subject token: 32 hexadecimal digits that sort by creation (12 of time, 4 of
 * sequence, 16 random). Not derived from the token, and no use at the token endpoint.
 */
export function mintId(): string {
  const now = Date.now()
  // Ids of this process must sort by creation even if the clock stops or steps back.
  if (now > lastMillisecond) {
    lastMillisecond = now
    sequence = 0
  } else if (sequence < 0xffff) {
    sequence += 1
  } else {
    lastMillisecond += 1
    sequence = 0
  }
  const time = lastMillisecond.toString(16).padStart(12, '0')
  return time + sequence.toString(16).padStart(4, '0') + randomBytes(8).toString('hex')
}
