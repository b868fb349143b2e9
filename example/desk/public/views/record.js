/** The record, page by page, with its filters. */
import { listImpersonations } from '../backend.js'
import { byId, element } from '../element.js'
import { clearMessages, tellPerson } from '../messages.js'
import { show } from '../navigation.js'
import { recordRow } from './record-table.js'

const PAGE = '10'

let names
let nextCursor
/** The filters of the first page: further pages belong to the same list. */
let filters = {}
let stop
let attempt

/** `stop` asks for a reason, stops one and returns its record; `attempt` runs actions that may fail. */
export async function showRecord(people, given) {
  names = new Map(people.map(({ id, name }) => [id, name]))
  stop = given.stop
  attempt = given.attempt
  options(
    'userId',
    people.filter(({ role }) => role === 'customer'),
  )
  options(
    'actorId',
    people.filter(({ role }) => role === 'support'),
  )
  await load()
  show('record', 'Record')
}

function options(name, people) {
  const select = byId('filters').elements[name]
  const { value } = select
  select.replaceChildren(
    element('option', { value: '' }, 'Any'),
    ...people.map((person) => element('option', { value: person.id }, person.name)),
  )
  select.value = value
}

byId('filters').addEventListener('submit', (event) => {
  event.preventDefault()
  attempt(async () => {
    clearMessages()
    await load()
    tellPerson(
      `${byId('record-rows').children.length} shown${nextCursor ? ', older ones are available' : ''}.`,
    )
  })
})

byId('older').addEventListener('click', () =>
  attempt(async () => {
    const rows = await readPage({ cursor: nextCursor })
    byId('record-rows').append(...rows)
    rows[0]?.querySelector('.state').focus()
  }),
)

async function load() {
  filters = Object.fromEntries([...new FormData(byId('filters'))].filter(([, value]) => value !== ''))
  const rows = await readPage({})
  byId('record-rows').replaceChildren(...rows)
  const isFiltered = Object.keys(filters).length > 0
  byId('nothing-recorded').textContent = isFiltered ? 'No impersonations match.' : 'No impersonations yet.'
  byId('nothing-recorded').hidden = rows.length > 0
}

/** The rows of one page that match the filters. */
async function readPage(page) {
  const read = await listImpersonations({ ...filters, limit: PAGE, ...page })
  nextCursor = read.nextCursor
  byId('older').hidden = !nextCursor
  return read.items.map(row)
}

function row(item) {
  const made = recordRow(item, names, (what) =>
    attempt(async () => {
      const record = await stop(item, what)
      if (!record) return
      const stopped = row(record)
      made.replaceWith(stopped)
      stopped.querySelector('.state').focus()
    }),
  )
  return made
}
