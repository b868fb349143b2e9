/** A dialog whose fields must be filled in. What was typed is kept until it has served. */
import { byId } from '../element.js'

/**
 * `name` is the start of its ids; `fields` lists inputs and what to say while they are empty. One with a `choice` counts only
 * while that is checked.
 */
export function requiredDialog(name, fields) {
  const dialog = byId(`${name}-dialog`)
  const form = byId(`${name}-form`)
  /** What was typed, by what was asked for. */
  const drafts = new Map()
  let askedFor
  let resolveRequest

  const typed = () => fields.map(({ input, choice }) => (choice?.checked === false ? '' : input.value))

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    for (const { input, missing, choice } of fields)
      mark(input, input.value.trim() || choice?.checked === false ? '' : missing)
    const wrong = fields.find(({ input }) => input.ariaInvalid === 'true')
    if (wrong) return wrong.input.focus()
    resolveRequest(typed().map((text) => text.trim()))
    dialog.close()
  })
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit()
  })
  for (const { input } of fields) input.addEventListener('input', () => count(input))
  byId(`${name}-cancel`).addEventListener('click', () => dialog.close())
  // The Escape key closes it, too. The event comes late: by then the dialog may be open again, for another one.
  dialog.addEventListener('close', () => {
    if (!dialog.open) resolveRequest?.()
  })

  return {
    /** Resolves to the values, or to `undefined` if the engineer cancels. */
    ask(id, title) {
      if (askedFor) drafts.set(askedFor, typed())
      askedFor = id
      const draft = drafts.get(id)
      fields.forEach(({ input, choice }, place) => {
        input.value = draft?.[place] ?? ''
        if (choice) choice.checked = input.value !== ''
        mark(input, '')
        count(input)
      })
      byId(`${name}-title`).textContent = title
      resolveRequest?.()
      dialog.showModal()
      return new Promise((resolve) => {
        resolveRequest = resolve
      })
    },
    /** It has served. */
    forget(id) {
      drafts.delete(id)
      if (askedFor === id) askedFor = undefined
    },
    /** Nothing that was typed stays, nor whom it was about. */
    forgetAll() {
      drafts.clear()
      askedFor = undefined
      form.reset()
      byId(`${name}-title`).replaceChildren()
    },
    close: () => dialog.close(),
  }
}

function mark(input, problem) {
  input.ariaInvalid = problem ? 'true' : 'false'
  byId(`${input.id}-error`).textContent = problem
}

function count({ id, value, maxLength }) {
  byId(`${id}-count`).textContent = `${value.length} of ${maxLength} characters`
}
