/** Formats times for people. The APIs use epoch seconds. */
import { element } from './element.js'

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const DAY_AND_CLOCK = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
})
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' })
const AGO = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** Seconds, largest first. */
const UNITS = [
  ['day', 86400],
  ['hour', 3600],
  ['minute', 60],
]

/** Smaller differences may be the way of the response. In milliseconds. */
const NOTICEABLE = 5000

/**
 * Milliseconds between two looks at the clock. A timer set for a later moment is late if the laptop sleeps meanwhile: the
 * clock goes on, and the timer does not.
 */
export const GLANCE = 1000

/** By how much the clock of this browser is ahead of the provider's, in milliseconds. */
let ahead = 0

/** `seconds` is the present by the provider's clock, which the times of the record are by. */
export function compareClocks(seconds) {
  const difference = Date.now() - seconds * 1000
  ahead = Math.abs(difference) > NOTICEABLE ? difference : 0
}

/** How long it is until then, by the provider's clock, in milliseconds. */
export const until = (seconds) => seconds * 1000 - Date.now() + ahead

export const clock = (seconds) => CLOCK.format(seconds * 1000)

/** An ISO 8601 date. */
export const day = (date) => DAY.format(new Date(date))

export const dayAndClock = (seconds) => DAY_AND_CLOCK.format(seconds * 1000)

/** "3 minutes ago", with the exact time in its title and in print. */
export function moment(seconds) {
  const dateTime = new Date(seconds * 1000).toISOString()
  const exact = dayAndClock(seconds)
  return element('time', { dateTime, title: exact, 'data-exact': exact }, ago(seconds))
}

/** Brings the moments inside an element up to date. */
export function refreshMoments(within) {
  for (const time of within.querySelectorAll('time[data-exact]')) {
    const text = ago(Date.parse(time.dateTime) / 1000)
    if (time.textContent !== text) time.textContent = text
  }
}

function ago(seconds) {
  const passed = -until(seconds) / 1000
  const [unit, length] = UNITS.find(([, length]) => passed >= length) ?? []
  return unit ? AGO.format(-Math.floor(passed / length), unit) : 'just now'
}

/** "4:59" */
export function countdown(milliseconds) {
  const left = Math.max(0, Math.ceil(milliseconds / 1000))
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
}
