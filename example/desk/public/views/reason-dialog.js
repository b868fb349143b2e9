/** Asks for the reason and the ticket: nobody is viewed without them. */
import { byId } from '../element.js'

const dialog = byId('reason-dialog')
const form = byId('reason-form')
const FIELDS = [
  { input: byId('reason'), missing: 'Say why you need this view.' },
  { input: byId('ticketId'), missing: 'Say which ticket it is for.' },
]

let askedFor
let answered

/** Answers `{ reason, ticketId }`, or nothing when the engineer thinks better of it. */
export function askReason({ id, name }) {
  // After a failure the answers are still there, for the same customer.
  if (askedFor !== id) form.reset()
  askedFor = id
  for (const { input } of FIELDS) mark(input, '')
  byId('reason-title').textContent = `View as ${name}`
  answered?.()
  dialog.showModal()
  return new Promise((resolve) => {
    answered = resolve
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
  answered({ reason, ticketId })
  dialog.close()
})

byId('reason-cancel').addEventListener('click', () => dialog.close())
// Also by the Escape key. The event comes late: by then the dialog may be open again, for the next answer.
dialog.addEventListener('close', () => {
  if (!dialog.open) answered?.()
})

function mark(input, problem) {
  input.ariaInvalid = problem ? 'true' : 'false'
  byId(`${input.id}-error`).textContent = problem
}
