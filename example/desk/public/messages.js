/** Sentences for the person in front of the page. Each region is in the document from the start, so it is announced. */
import { byId } from './element.js'

/** Something was refused, or failed. */
export function alertPerson(text) {
  byId('status').textContent = ''
  byId('alert').textContent = text
}

/** Something is done. */
export function tellPerson(text) {
  byId('alert').textContent = ''
  byId('status').textContent = text
}

/** For those who do not see the clock run. */
export function announce(text) {
  byId('announcement').textContent = text
}

export function clearMessages() {
  for (const id of ['alert', 'status', 'announcement']) byId(id).textContent = ''
}
