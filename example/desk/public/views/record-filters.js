/** The filters of the record: by customer, engineer, state and day. */
import { listPeople } from '../backend.js'
import { byId, element } from '../element.js'

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
}

export function resetFilters() {
  form.reset()
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
