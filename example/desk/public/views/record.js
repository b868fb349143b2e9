/** The record, with its filters. It keeps itself up to date while it is shown. */
import { listImpersonations } from '../backend.js'
import { byId, element } from '../element.js'
import { attempt, isSignInOver } from '../failures.js'
import { clearMessages } from '../messages.js'
import { show, viewAsked } from '../navigation.js'
import { stopRecorded } from '../record-stops.js'
import { onNews } from '../tabs.js'
import { GLANCE, refreshMoments } from '../times.js'
import { showDetails } from './record-details.js'
import {
  chosenFilters,
  offerEngineers,
  onFilters,
  resetFilters,
  showChosenFilters,
} from './record-filters.js'
import { isCurrent, recordRow } from './record-table.js'

/** The newest that match: filters find the others. */
const LIMIT = '50'
/** Milliseconds. */
const EVERY = 15_000

/** The records that are shown, by id. */
const shown = new Map()
let hasOlder = false
/** As they were when the list was loaded. */
let filters = {}
/** The list that was asked for last: an earlier one that arrives late is dropped. */
let asked = 0
let underWay = 0
let isLoaded = false

export async function showRecord() {
  show('record', 'Record')
  await Promise.all([load(), offerEngineers()])
}

export function clearRecord() {
  asked++
  isLoaded = false
  shown.clear()
  resetFilters()
  byId('record-rows').replaceChildren()
}

onFilters(() => attempt(load))

const isShown = () => viewAsked() === 'record' && isLoaded && !document.hidden

setInterval(() => {
  if (!isShown()) return
  for (const { item, row } of shown.values()) if (!isCurrent(row, item)) replace(item)
  refreshMoments(byId('record-rows'))
}, GLANCE)
setInterval(() => attempt(refreshRecord), EVERY)
onNews(() => attempt(refreshRecord))

async function load() {
  clearMessages()
  filters = chosenFilters()
  showChosenFilters()
  const table = byId('record-rows')
  table.ariaBusy = 'true'
  if (shown.size === 0) table.replaceChildren(...[1, 2, 3].map(skeleton))
  byId('nothing-recorded').hidden = true
  try {
    const items = await readNewest()
    if (!items) return
    isLoaded = true
    shown.clear()
    table.replaceChildren(...items.map(add))
    tellCount()
  } finally {
    table.ariaBusy = 'false'
    for (const row of table.querySelectorAll('.skeleton')) row.remove()
  }
}

/** What is new comes first, and what has changed is replaced. If it cannot be read, the list stays as it is. */
export async function refreshRecord() {
  if (!isShown() || underWay > 0) return
  const items = await readNewest().catch((error) => {
    if (isSignInOver(error)) throw error
  })
  if (!items) return
  for (const [id, { row }] of shown) {
    if (items.some((item) => item.id === id)) continue
    shown.delete(id)
    row.remove()
  }
  for (const item of items.toReversed()) {
    const known = shown.get(item.id)
    if (!known) byId('record-rows').prepend(add(item))
    else if (JSON.stringify(known.item) !== JSON.stringify(item)) replace(item)
  }
  tellCount()
}

/** The records that match the filters, or `undefined` if another list was asked for meanwhile. */
async function readNewest() {
  const mine = ++asked
  underWay++
  const reading = listImpersonations({ ...filters, limit: LIMIT })
  const read = await reading.finally(() => underWay--)
  if (mine !== asked) return undefined
  hasOlder = read.nextCursor !== undefined
  return read.items
}

function tellCount() {
  const isFiltered = Object.keys(filters).length > 0
  const count = shown.size
  byId('record-count').textContent =
    count > 0 ? `${count} shown${hasOlder ? ', and filters find older ones' : ''}.` : ''
  byId('nothing-recorded').textContent = isFiltered
    ? 'No impersonations match these filters.'
    : 'No one has viewed a customer yet. Every view will be listed here, with its reason.'
  byId('nothing-recorded').hidden = count > 0
  byId('clear-filters').hidden = !isFiltered
}

function skeleton() {
  return element('tr', { className: 'skeleton', ariaHidden: 'true' }, element('td', { colSpan: 7 }))
}

function add(item) {
  const row = recordRow(item, {
    onStop: (what) =>
      attempt(async () => {
        const record = await stopRecorded(item, what)
        if (record) replace(record).querySelector('.state').focus()
      }),
    onDetails: () => showDetails(item),
  })
  shown.set(item.id, { item, row })
  return row
}

/** Keeps the focus in the row. */
function replace(item) {
  const { row } = shown.get(item.id)
  const hadFocus = row.contains(document.activeElement)
  const made = add(item)
  row.replaceWith(made)
  if (hadFocus) made.querySelector('.state').focus()
  return made
}
