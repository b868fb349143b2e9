/** Everything that the record says about one view. */
import { byId, element, fact } from '../element.js'
import { heardOf } from '../endings.js'
import { dayAndClock } from '../times.js'
import { mayOf, stateSaid, viewingOf } from './record-table.js'

const dialog = byId('details-dialog')

byId('details-close').addEventListener('click', () => dialog.close())

export function showDetails(item) {
  const { id, userId, actorId, context, consoleUrl } = item
  const { createdAt, revokedAt } = item
  const { reason, ticketId, writeReason } = context
  byId('details-title').textContent = viewingOf(item)
  byId('details').replaceChildren(
    ...fact('Record', id),
    ...(consoleUrl
      ? fact('Console', element('a', { href: consoleUrl }, 'Open the record in the console'))
      : []),
    ...fact('Customer', userId),
    ...fact('Engineer', actorId ?? 'not named'),
    ...fact('Reason', reason ?? '–'),
    ...fact('Ticket', ticketId ?? '–'),
    ...fact('Access', mayOf(item)),
    ...(writeReason ? fact('To change things', writeReason) : []),
    ...fact('Started', dayAndClock(createdAt)),
    ...(item.use ? factsOfShop(item) : factsOfToken(item)),
    ...(revokedAt ? fact('Over since', dayAndClock(revokedAt)) : []),
    ...fact('State', stateSaid(item)),
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
