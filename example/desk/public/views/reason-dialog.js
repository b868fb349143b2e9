/** Asks for the reason and the ticket: no one is viewed without them. */
import { VIEW_LASTS } from '../configuration.js'
import { byId } from '../element.js'
import { engineer } from '../session.js'
import { clock } from '../times.js'
import { requiredDialog } from './required.js'

const dialog = requiredDialog('reason', [
  { input: byId('reason'), missing: 'Enter a reason.' },
  { input: byId('ticketId'), missing: 'Enter a ticket.' },
  { input: byId('writeReason'), missing: 'Enter what has to change.', choice: byId('changes-choice') },
])

for (const preset of document.querySelectorAll('#reason-presets button'))
  preset.addEventListener('click', () => {
    byId('reason').value = preset.textContent
    byId('reason').dispatchEvent(new Event('input'))
    byId('reason').focus()
  })

/** What it is for. */
export const VIEW = {
  titleOf: (name) => `View as ${name}`,
  what: 'You will see, read only, the orders and the profile of',
}
export const SHOP = {
  titleOf: (name) => `Open the shop as ${name}`,
  what: 'You will look at the shop, read only, as',
  mayChange: true,
}

/**
 * Resolves to `{ reason, ticketId }`, with `writeReason` if the engineer has to change things, or to `undefined` if the
 * engineer cancels. `ends` is what is open until then.
 */
export async function askReason({ id, name }, { titleOf, what, mayChange = false }, ends) {
  byId('reason-what').textContent = what
  byId('changes').hidden = !mayChange
  byId('reason-name').textContent = name
  byId('reason-lasts').textContent = lasts()
  byId('reason-ends').textContent = ends ? `This ends ${ends}.` : ''
  const given = await dialog.ask(id, titleOf(name))
  if (!given) return undefined
  const [reason, ticketId, writeReason] = given
  return { reason, ticketId, ...(mayChange && writeReason && { writeReason }) }
}

function lasts() {
  const { endsAt } = engineer()
  if (endsAt > Date.now() + VIEW_LASTS * 1000) return `for ${VIEW_LASTS / 60} minutes at most`
  return `until ${clock(endsAt / 1000)}, when your sign-in ends`
}

export const forgetReason = ({ id }) => dialog.forget(id)

export function forgetReasons() {
  dialog.forgetAll()
  for (const part of ['name', 'ends']) byId(`reason-${part}`).replaceChildren()
}

export const closeReason = () => dialog.close()
