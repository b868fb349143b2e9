/** What a record means to its reader at this moment, in the words and the colours of the console. */
import { countdown, until } from './times.js'

const isOver = (seconds) => seconds === undefined || until(seconds) <= 0

/** Whether someone views the customer now. */
export const isLive = ({ state, accessToken }) => state === 'consumed' && !isOver(accessToken?.expiresAt)

const isUnused = ({ state, expiresAt }) => state === 'active' && !isOver(expiresAt)

export const canBeStopped = (item) => isLive(item) || isUnused(item)

/** Stops that are none: they ended as they should. */
const ENDS = { self: 'Ended', continued: 'Continued', signedOut: 'Signed out' }

/** `tone`: live; ended, as it should be; stopped, by someone else; alarm. */
export function stateOf(item) {
  const { state, replay, revocation = {} } = item
  if (replay) return { tone: 'alarm', text: isLive(item) ? 'Used again, live' : 'Used again' }
  if (isLive(item)) return { tone: 'live', text: 'Live' }
  if (state === 'revoked') {
    const text = ENDS[revocation.cause]
    if (text) return { tone: 'ended', text }
    return { tone: revocation.cause === 'replay' ? 'alarm' : 'stopped', text: 'Stopped' }
  }
  if (isUnused(item)) return { tone: 'ended', text: 'Not used yet' }
  return { tone: 'ended', text: state === 'consumed' ? 'Expired' : 'Never used' }
}

/** "4:59", until it ends. */
export const leftOf = ({ accessToken }) => countdown(until(accessToken.expiresAt))

/** "1:00": how long the customer could be viewed, if it is over. */
export function lastedOf(item) {
  const { consumedAt, revokedAt, accessToken } = item
  if (consumedAt === undefined || isLive(item)) return undefined
  const ends = [revokedAt, accessToken?.expiresAt].filter((end) => end !== undefined)
  return countdown((Math.min(...ends) - consumedAt) * 1000)
}
