/** Everyone, with a button each. Protected people have one too, so that you can see the refusal. */
import { byId, element } from '../element.js'
import { show } from '../navigation.js'
import { wirePanel } from './wire-panel.js'

export function showCustomers(people, onView) {
  byId('people').replaceChildren(...people.map((person) => card(person, onView)))
  clearRefusedRequests()
  show('customers', 'Customers')
}

/** After a refusal the engineer stays on this view, and can see how far the requests got. */
export function showRefusedRequests(wire) {
  if (wire.entries.length > 0) byId('refused-wire').replaceChildren(wirePanel(wire))
}

export const clearRefusedRequests = () => byId('refused-wire').replaceChildren()

function card(person, onView) {
  const { id, name, role, whyNot } = person
  const note = element('p', { className: 'note' }, whyNot ?? '')
  const button = element(
    'button',
    { type: 'button', className: whyNot ? 'quiet' : '', onclick: () => onView(person) },
    `View as ${name}`,
  )
  return element(
    'li',
    {},
    element('h2', {}, name),
    element('p', {}, `${role} · `, element('code', {}, id)),
    ...(whyNot ? [note] : []),
    button,
  )
}
