/** Formats times for people. The APIs use epoch seconds. */
import { element } from './element.js'

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const DAY_AND_CLOCK = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

export const clock = (seconds) => CLOCK.format(seconds * 1000)

export const moment = (seconds) =>
  element('time', { dateTime: new Date(seconds * 1000).toISOString() }, DAY_AND_CLOCK.format(seconds * 1000))
