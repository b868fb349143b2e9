/** Everything that the record says about one view. */
import { copyButton } from '../copy.js'
import { byId, element } from '../element.js'
import { dayAndClock } from '../times.js'
import { peopleOf, stopped } from './record-table.js'

const dialog = byId('details-dialog')

byId('details-close').addEventListener('click', () => dialog.close())

export function showDetails(item) {
  const { id, userId, actorId, context, resource, scope } = item
  const { createdAt, consumedAt, revokedAt, accessToken } = item
  const { who, whom } = peopleOf(item)
  byId('details-title').textContent = `${who} viewing ${whom}`
  byId('details').replaceChildren(
    ...fact('Record', id, copyButton(id, 'the id of the record')),
    ...fact('Customer', userId),
    ...fact('Engineer', actorId ?? 'not named'),
    ...fact('Reason', context.reason ?? '–'),
    ...fact(
      'Ticket',
      context.ticketId ?? '–',
      ...(context.ticketId ? [copyButton(context.ticketId, 'the ticket')] : []),
    ),
    ...fact('API', [resource ?? 'any'].flat().join(', ')),
    ...fact('Scope', scope ?? 'any'),
    ...fact('Started', dayAndClock(createdAt)),
    ...(consumedAt ? fact('Exchanged', dayAndClock(consumedAt)) : []),
    ...(accessToken ? fact('Token expires', dayAndClock(accessToken.expiresAt)) : []),
    ...(revokedAt ? fact('Stopped', `${dayAndClock(revokedAt)}, ${stopped(item)}`) : []),
  )
  dialog.showModal()
}

export function closeDetails() {
  dialog.close()
  byId('details').replaceChildren()
  byId('details-title').replaceChildren()
}

const fact = (name, value, ...more) => [
  element('dt', {}, name),
  element('dd', {}, element('span', {}, value), ...more),
]
