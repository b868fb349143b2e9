/** Everything that the record says about one view. */
import { copyButton } from '../copy.js'
import { button, byId, element, fact } from '../element.js'
import { heardOf } from '../endings.js'
import { dayAndClock } from '../times.js'
import { neighbours, stateSaid, viewingOf } from './record-table.js'

const dialog = byId('details-dialog')

byId('details-close').addEventListener('click', () => dialog.close())

/** `onOpen` shows the details of the record of an id. */
export function showDetails(item, onOpen) {
  const { id, userId, actorId, context, consoleUrl } = item
  const { createdAt, revokedAt } = item
  const { reason, ticketId } = context
  byId('details-title').textContent = viewingOf(item)
  byId('details').replaceChildren(
    ...fact('Record', id, ' ', copyButton(id, 'the id of the record')),
    ...(consoleUrl
      ? fact('Console', element('a', { href: consoleUrl }, 'Open the record in the console'))
      : []),
    ...fact('Customer', userId),
    ...fact('Engineer', actorId ?? 'not named'),
    ...fact('Reason', reason ?? '–'),
    ...fact('Ticket', ticketId ?? '–', ...(ticketId ? [' ', copyButton(ticketId, 'the ticket')] : [])),
    ...fact('Started', dayAndClock(createdAt)),
    ...(item.use ? factsOfShop(item) : factsOfToken(item)),
    ...(revokedAt ? fact('Over since', dayAndClock(revokedAt)) : []),
    ...fact('State', stateSaid(item)),
    ...neighbours(item).flatMap(({ text, of }) => fact(text, opener(of, text, onOpen))),
  )
  if (!dialog.open) dialog.showModal()
}

const factsOfShop = ({ consumedAt, session }) => [
  ...(consumedAt ? fact('Shop opened', dayAndClock(consumedAt)) : []),
  ...(session ? fact('Ends at the latest', dayAndClock(session.endsAt)) : []),
  ...(session ? fact('The shop', heardOf(session)) : []),
]

const factsOfToken = ({ resource, scope, consumedAt, accessToken }) => [
  ...fact('API', [resource ?? 'any'].flat().join(', ')),
  ...fact('Scope', scope ?? 'any'),
  ...(consumedAt ? fact('Exchanged', dayAndClock(consumedAt)) : []),
  ...(accessToken ? fact('Token expires', dayAndClock(accessToken.expiresAt)) : []),
]

export function closeDetails() {
  dialog.close()
  byId('details').replaceChildren()
  byId('details-title').replaceChildren()
}

function opener(id, what, onOpen) {
  const ariaLabel = `Show ${what.toLowerCase()} ${id}`
  return button('Show', { className: 'copy', ariaLabel, onclick: () => onOpen(id) })
}
