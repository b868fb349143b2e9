/** Asks for the reason and the ticket: no one is viewed without them. */
import { byId } from '../element.js'
import { requiredDialog } from './required.js'

const dialog = requiredDialog('reason', [
  { input: byId('reason'), missing: 'Enter a reason.' },
  { input: byId('ticketId'), missing: 'Enter a ticket.' },
])

/** Resolves to `{ reason, ticketId }`, or to `undefined` if the engineer cancels. */
export async function askReason({ id, name }) {
  const given = await dialog.ask(id, `View as ${name}`)
  if (!given) return undefined
  const [reason, ticketId] = given
  return { reason, ticketId }
}

export const forgetReason = () => dialog.forget()

export const closeReason = () => dialog.close()
