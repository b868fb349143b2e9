/** What a record means to its reader at this moment, in the words and the colours of the console. */
import { countdown, until } from './times.js'

const STATES = {
  live: ['live', 'Live'],
  active: ['ended', 'Not used yet'],
  expired: ['ended', 'Never used'],
  consumed: ['ended', 'Expired'],
  self: ['ended', 'Stopped by the engineer'],
  continued: ['ended', 'Continued'],
  signedOut: ['ended', 'Signed out'],
  stopped: ['stopped', 'Stopped'],
  replayed: ['alarm', 'Reused token'],
}

const isOver = (seconds) => seconds === undefined || until(seconds) <= 0

/** When what came of the token ends by itself, once it was used: the shop, or an access token. In seconds. */
export const endOf = ({ session, accessToken }) => session?.endsAt ?? accessToken?.expiresAt

/** Whether someone views the customer now. */
const isLive = (item) => item.state === 'consumed' && !isOver(endOf(item))

/** One of the names of `STATES`. */
export function stateOf(item) {
  const { state, replay, revocation: { cause } = {}, expiresAt } = item
  if (replay || cause === 'replay') return 'replayed'
  if (isLive(item)) return 'live'
  if (state === 'revoked') return ['self', 'continued', 'signedOut'].includes(cause) ? cause : 'stopped'
  return state === 'active' && isOver(expiresAt) ? 'expired' : state
}

/** Its colour: of who views now, of an ordinary end, of a stop by someone else, of an alarm. */
export const toneOf = (item) => STATES[stateOf(item)][0]

export const wordOf = (item) => STATES[stateOf(item)][1]

export const canBeStopped = (item) => ['live', 'active'].includes(stateOf(item))

/** "4:59 left" */
export const leftOf = (item) => `${countdown(until(endOf(item)))} left`

/** "1:00": how long the customer could be viewed, where that is over. */
export function lastedOf(item) {
  const { consumedAt, revokedAt } = item
  if (consumedAt === undefined || isLive(item)) return undefined
  const ends = [revokedAt, endOf(item)].filter((end) => end !== undefined)
  return countdown((Math.min(...ends) - consumedAt) * 1000)
}
