/** People to pick from, searched and page by page. Protected people have a button too, so that you can see the refusal. */
import { listPeople } from '../backend.js'
import { button, byId, element } from '../element.js'
import { attempt } from '../failures.js'
import { show } from '../navigation.js'
import { wirePanel } from './wire-panel.js'

/** Milliseconds after the last key. */
const PAUSE = 250

let onView
let onShop
let next
/** The list that was asked for last: an earlier one that arrives late is dropped. */
let asked = 0
let isLoaded = false

export async function showCustomers(given) {
  onView = given.onView
  onShop = given.onShop
  clearRefusedRequests()
  show('customers', 'Customers')
  if (!isLoaded) await load()
}

export function clearCustomers() {
  asked++
  isLoaded = false
  clearTimeout(pause)
  clearRefusedRequests()
  byId('search').reset()
  byId('people').replaceChildren()
  byId('people-count').textContent = ''
  byId('more-people').hidden = true
}

/** After a refusal the engineer stays on this view, and can see how far the requests got: folded, so that the list stays where it is. */
export function showRefusedRequests(wire) {
  if (wire.entries.length === 0) return
  const summary = element('summary', {}, 'How far the requests got')
  byId('refused-wire').replaceChildren(element('details', { className: 'drawer' }, summary, wirePanel(wire)))
}

export const clearRefusedRequests = () => byId('refused-wire').replaceChildren()

/** While one view starts, no other can: the buttons say so. */
export function markStarting(customer) {
  for (const button of byId('people').querySelectorAll('button')) {
    button.ariaDisabled = customer ? 'true' : null
    // Only buttons that start a view here name a customer.
    const { id } = button.dataset
    button.ariaBusy = id !== undefined && id === customer?.id ? 'true' : null
  }
}

byId('search').addEventListener('submit', (event) => {
  event.preventDefault()
  attempt(load)
})

let pause
byId('search').addEventListener('input', () => {
  clearTimeout(pause)
  pause = setTimeout(() => attempt(load), PAUSE)
})

byId('more-people').addEventListener('click', () =>
  attempt(async () => {
    const page = await read({ after: next })
    if (!page) return
    const added = page.users.map(row)
    byId('people').append(...added)
    added[0]?.querySelector('button').focus()
  }),
)

async function load() {
  clearTimeout(pause)
  byId('people').ariaBusy = 'true'
  if (!isLoaded) byId('people').replaceChildren(...[1, 2, 3].map(skeleton))
  try {
    const page = await read({})
    if (!page) return
    isLoaded = true
    byId('people').replaceChildren(...page.users.map(row))
    byId('people-count').textContent = counted(page.total)
  } finally {
    byId('people').ariaBusy = 'false'
    if (!isLoaded) byId('people').replaceChildren()
  }
}

async function read(page) {
  const mine = ++asked
  const q = byId('q').value.trim()
  const read = await listPeople({ ...(q && { q }), ...page })
  if (mine !== asked) return undefined
  next = read.next
  byId('more-people').hidden = !next
  return read
}

function counted(total) {
  if (total === 0)
    return `No one is found for “${byId('q').value.trim()}”. Try a part of a name, an id or an e-mail address.`
  return total === 1 ? '1 person' : `${total} people`
}

const skeleton = () => element('li', { className: 'skeleton', ariaHidden: 'true' })

function row(person) {
  const { id, name, email, plan, whyNot } = person
  return element(
    'li',
    {},
    element(
      'div',
      { className: 'who' },
      element('h2', {}, name),
      element('p', {}, `${email} · `, element('code', {}, id)),
    ),
    element('p', { className: 'what' }, ...(whyNot ? [badge(), ' ', whyNot] : [`${plan} plan`])),
    element('div', { className: 'ways' }, ...(whyNot ? [] : [shopButton(person)]), viewButton(person)),
  )
}

const shopButton = (person) =>
  button('Open the shop', {
    ariaLabel: `Open the shop as ${person.name}`,
    onclick: () => onShop(person),
  })

const viewButton = (person) =>
  button('View', {
    className: person.whyNot ? 'quiet' : 'outline',
    ariaLabel: `View as ${person.name}`,
    'data-id': person.id,
    onclick: () => onView(person),
  })

const badge = () => element('span', { className: 'pill try' }, 'Try a refusal')
