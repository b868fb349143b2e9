/** The customer's own pages of the shop, as the API returns them to the customer. */
import { button, byId, element, fact } from '../element.js'
import { day } from '../times.js'

const EUROS = new Intl.NumberFormat('en-IE', { style: 'currency', currency: 'EUR' })

/** `onInvoice` is called with the id of an order. */
export function showShop({ customer, orders, profile }, onInvoice) {
  byId('hello').textContent = `Hello, ${profile.name ?? customer.name}`
  const isEmpty = orders.orders.length === 0
  byId('orders').replaceChildren(...orders.orders.map((order) => orderRow(order, onInvoice)))
  byId('no-orders').hidden = !isEmpty
  const { name, email, address, plan } = profile
  const facts = Object.entries({ Name: name, 'E-mail': email, Address: address, Plan: plan })
  byId('profile').replaceChildren(...facts.flatMap(([what, value]) => (value ? fact(what, value) : [])))
}

function orderRow({ id, item, placed, state, cents }, onInvoice) {
  const ariaLabel = `Invoice of order ${id}`
  const isDone = state === 'Delivered'
  return element(
    'li',
    {},
    element(
      'div',
      { className: 'item' },
      element('strong', {}, item),
      element('span', {}, `Order ${id} · ${day(placed)}`),
    ),
    element('span', { className: `pill ${isDone ? 'ended' : 'live'}` }, state),
    element('span', { className: 'money' }, EUROS.format(cents / 100)),
    button('Invoice', { className: 'quiet', ariaLabel, onclick: () => onInvoice(id) }),
  )
}

export function showInvoice({ number, placed, to, lines, cents }) {
  const line = ({ item, cents }) =>
    element('li', {}, element('span', {}, item), element('span', {}, EUROS.format(cents / 100)))
  const heading = element('h3', { tabIndex: -1 }, `Invoice ${number}`)
  byId('invoice').replaceChildren(
    heading,
    element('p', {}, `${day(placed)} · ${to}`),
    element('ul', {}, ...lines.map(line), line({ item: 'Total', cents })),
  )
  byId('invoice').hidden = false
  heading.focus()
}

export function clearShop() {
  for (const id of ['orders', 'profile', 'invoice']) byId(id).replaceChildren()
  byId('hello').textContent = 'Hello'
  byId('invoice').hidden = true
  byId('no-orders').hidden = true
}
