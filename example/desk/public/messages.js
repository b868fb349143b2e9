/** Messages for the person at the page. The regions are in the document from the start, so they are announced. */
import { byId } from './element.js'

byId('dismiss').addEventListener('click', () => {
  clearMessages()
  byId('heading').focus()
})

/** Something was refused, failed, or was ended by someone else. */
export const alertPerson = (text) => put('alert', text)

/** Something is done. `link` leads to more about it. */
export const tellPerson = (text, link) => put('done', text, link)

/** Something has begun. */
export const tellProgress = (text) => put('progress', text)

export const clearMessages = () => put('none', '')

/** What is shown at the moment. */
export const messageShown = () => byId('alert').textContent || byId('status').textContent

function put(kind, text, link) {
  byId('messages').dataset.kind = kind
  const isAlert = kind === 'alert'
  byId('status').textContent = isAlert ? '' : text
  byId('alert').textContent = isAlert ? text : ''
  byId('more').hidden = !link
  if (!link) return
  byId('more').textContent = link.text
  byId('more').href = link.href
}
