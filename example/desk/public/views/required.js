/** A dialog whose fields must all be filled in. */
import { byId } from '../element.js'

/** `name` is the start of its ids; `fields` lists inputs and what to say while they are empty. */
export function requiredDialog(name, fields) {
  const dialog = byId(`${name}-dialog`)
  const form = byId(`${name}-form`)
  let askedFor
  let resolveRequest

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    for (const { input, missing } of fields) mark(input, input.value.trim() ? '' : missing)
    const wrong = fields.find(({ input }) => input.ariaInvalid === 'true')
    if (wrong) return wrong.input.focus()
    resolveRequest(fields.map(({ input }) => input.value.trim()))
    dialog.close()
  })
  byId(`${name}-cancel`).addEventListener('click', () => dialog.close())
  // The Escape key closes it, too. The event comes late: by then the dialog may be open again, for another one.
  dialog.addEventListener('close', () => {
    if (!dialog.open) resolveRequest?.()
  })

  return {
    /** Resolves to the values, or to `undefined` if the engineer cancels. */
    ask(id, title) {
      // After a failure the fields keep their values, for the same id.
      if (askedFor !== id) form.reset()
      askedFor = id
      for (const { input } of fields) mark(input, '')
      byId(`${name}-title`).textContent = title
      resolveRequest?.()
      dialog.showModal()
      return new Promise((resolve) => {
        resolveRequest = resolve
      })
    },
    forget() {
      askedFor = undefined
    },
    close: () => dialog.close(),
  }
}

function mark(input, problem) {
  input.ariaInvalid = problem ? 'true' : 'false'
  byId(`${input.id}-error`).textContent = problem
}
