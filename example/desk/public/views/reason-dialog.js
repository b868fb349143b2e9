/** Asks for the reason and the ticket: no one is viewed without them. */
import { VIEW_LASTS } from '../configuration.js'
import { byId } from '../element.js'
import { engineer } from '../session.js'
import { clock } from '../times.js'
import { requiredDialog } from './required.js'

const dialog = requiredDialog('reason', [
  { input: byId('reason'), missing: 'Enter a reason.' },
  { input: byId('ticketId'), missing: 'Enter a ticket.' },
])

for (const preset of document.querySelectorAll('#reason-presets button'))
  preset.addEventListener('click', () => {
    byId('reason').value = preset.textContent
    byId('reason').dispatchEvent(new Event('input'))
    byId('reason').focus()
  })

/** Resolves to `{ reason, ticketId }`, or to `undefined` if the engineer cancels. */
export async function askReason({ id, name }) {
  byId('reason-id').textContent = id
  byId('reason-lasts').textContent = lasts()
  const given = await dialog.ask(id, `View as ${name}`)
  if (!given) return undefined
  const [reason, ticketId] = given
  return { reason, ticketId }
}

function lasts() {
  const { endsAt } = engineer()
  if (endsAt > Date.now() + VIEW_LASTS * 1000) return `for ${VIEW_LASTS / 60} minutes at most`
  return `until ${clock(endsAt / 1000)}, when your sign-in ends`
}

export const forgetReason = ({ id }) => dialog.forget(id)

export function forgetReasons() {
  dialog.forgetAll()
  byId('reason-id').replaceChildren()
}

export const closeReason = () => dialog.close()
