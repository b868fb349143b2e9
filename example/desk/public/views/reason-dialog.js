/** Asks for the reason and the ticket: no one is viewed without them. */
import { byId } from '../element.js'

const dialog = byId('reason-dialog')
const form = byId('reason-form')
const FIELDS = [
  { input: byId('reason'), missing: 'Enter a reason.' },
  { input: byId('ticketId'), missing: 'Enter a ticket.' },
]

let askedFor
let resolveRequest

/** Resolves to `{ reason, ticketId }`, or to `undefined` if the engineer cancels. */
export function askReason({ id, name }) {
  // After a failure the fields keep their values, for the same customer.
  if (askedFor !== id) form.reset()
  askedFor = id
  for (const { input } of FIELDS) mark(input, '')
  byId('reason-title').textContent = `View as ${name}`
  resolveRequest?.()
  dialog.showModal()
  return new Promise((resolve) => {
    resolveRequest = resolve
  })
}

export function forgetReason() {
  askedFor = undefined
}

export const closeReason = () => dialog.close()

form.addEventListener('submit', (event) => {
  event.preventDefault()
  for (const { input, missing } of FIELDS) mark(input, input.value.trim() ? '' : missing)
  const wrong = FIELDS.find(({ input }) => input.ariaInvalid === 'true')
  if (wrong) return wrong.input.focus()
  const [reason, ticketId] = FIELDS.map(({ input }) => input.value.trim())
  resolveRequest({ reason, ticketId })
  dialog.close()
})

byId('reason-cancel').addEventListener('click', () => dialog.close())
// The Escape key closes it, too. The event comes late: by then the dialog may be open again, for another customer.
dialog.addEventListener('close', () => {
  if (!dialog.open) resolveRequest?.()
})

function mark(input, problem) {
  input.ariaInvalid = problem ? 'true' : 'false'
  byId(`${input.id}-error`).textContent = problem
}
