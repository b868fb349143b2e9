/** The filters of the record: by customer, engineer, state and day. */
import { listPeople } from '../backend.js'
import { button, byId, element } from '../element.js'

const form = byId('filters')

/** `listener` is called when the filters are others. */
export function onFilters(listener) {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    listener()
  })
  form.addEventListener('change', listener)
  byId('clear-filters').addEventListener('click', () => {
    form.reset()
    listener()
  })
  byId('chosen-filters').addEventListener('click', ({ target, detail }) => {
    // The second click of a double click hits what has moved into the place of the first.
    if (detail > 1) return
    const field = form.elements[target.closest('.chip')?.value]
    if (!field) return
    field.value = ''
    field.focus()
    listener()
  })
}

/** One button for each filter in force, which takes it away. */
export function showChosenFilters() {
  const chosen = [...form.elements].filter(({ name, value }) => name !== '' && value !== '')
  byId('chosen-filters').replaceChildren(...chosen.map(chip))
}

function chip(field) {
  const text = `${field.labels[0].textContent}: ${field.selectedOptions?.[0].text ?? field.value}`
  const ariaLabel = `Remove the filter ${text}`
  return element('li', {}, button(`${text} ×`, { className: 'chip', value: field.name, ariaLabel }))
}

export function resetFilters() {
  form.reset()
  showChosenFilters()
  byId('customer-ids').replaceChildren()
}

/** What is filled in, as the backend names it. */
export function chosenFilters() {
  const given = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ''))
  const { state, from, to, ...others } = given
  return {
    ...others,
    ...(state && (state === 'live' ? { live: 'true' } : { state })),
    ...(from && { createdAfter: startOf(from, 0) }),
    ...(to && { createdBefore: startOf(to, 1) }),
  }
}

/** When a day starts here, or one that many days later, in seconds. */
function startOf(date, days) {
  const start = new Date(`${date}T00:00`)
  start.setDate(start.getDate() + days)
  return String(start.getTime() / 1000)
}

export async function offerEngineers() {
  const { users } = await listPeople({ role: 'support' })
  const select = byId('filter-engineer')
  const { value } = select
  const options = users.map(({ id, name }) => element('option', { value: id }, name))
  select.replaceChildren(element('option', { value: '' }, 'Any'), ...options)
  select.value = value
}

/** Suggests ids. Without them the field works as well. */
byId('filter-customer').addEventListener('input', async ({ target }) => {
  const { users } = await listPeople({ role: 'customer', q: target.value }).catch(() => ({ users: [] }))
  byId('customer-ids').replaceChildren(...users.map(({ id, name }) => element('option', { value: id }, name)))
})
