/** The view of a customer: what the customer sees, and how it was obtained. */
import { MEANINGS, TIMES } from '../claims.js'
import { byId, element } from '../element.js'
import { show } from '../navigation.js'
import { clock } from '../times.js'
import { chainOf } from './chain.js'
import { wirePanel } from './wire-panel.js'

export function showViewing({ customer, claims, orders, wire }) {
  byId('orders').replaceChildren(
    ...orders.orders.map(({ id, item }) => element('li', {}, item, element('span', {}, `Order ${id}`))),
  )
  const { customer: seen, actor, scope, impersonation, billing } = orders
  byId('api-saw').replaceChildren(
    ...fact('customer', seen),
    ...fact('actor', actor),
    ...fact('scope', scope),
    // The orders API has asked another API, which knows the whole chain.
    ...(billing ? fact('billing', chainOf(billing)) : []),
    ...fact('impersonation', impersonation),
  )
  const others = Object.keys(claims).filter((name) => !(name in MEANINGS))
  byId('claims').replaceChildren(
    ...[...Object.keys(MEANINGS), ...others]
      .filter((name) => name in claims)
      .map((name) => claim(name, claims)),
  )
  byId('wire').replaceChildren(wirePanel(wire))
  show('viewing', `Viewing as ${customer.name}`)
}

/** Removes an ended view from the document, too. */
export function clearViewing() {
  for (const id of ['orders', 'api-saw', 'claims', 'wire']) byId(id).replaceChildren()
}

const fact = (name, value) => [
  element('dt', {}, name),
  element('dd', {}, element('code', {}, written(value))),
]

function claim(name, claims) {
  const time = TIMES.includes(name) ? ` (${clock(claims[name])})` : ''
  return element(
    'div',
    {},
    ...fact(name, claims[name] && written(claims[name]) + time),
    element('dd', { className: 'meaning' }, MEANINGS[name] ?? 'Another claim of this deployment.'),
  )
}

const written = (value) => (typeof value === 'string' ? value : JSON.stringify(value))
