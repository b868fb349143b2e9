/** Messages for the person at the page. The regions are in the document from the start, so they are announced. */
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

export function clearMessages() {
  for (const id of ['alert', 'status']) byId(id).textContent = ''
}
