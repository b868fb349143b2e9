/** Stops on the record, and what the person is told about each of them. */
import { DISCARDED, expired } from './endings.js'
import { dropImpersonation, runningImpersonation } from './impersonation.js'
import { tellPerson } from './messages.js'
import { viewAsked } from './navigation.js'
import { endOf } from './states.js'
import { stopUntilDone, tryNow } from './stops.js'
import { tellOtherTabs } from './tabs.js'
import { until } from './times.js'
import { hideBanner } from './views/banner.js'
import { hideOpenView, markStopping } from './views/open-view.js'
import { refreshRecord } from './views/record.js'
import { viewingOf } from './views/record-table.js'
import { askStopReason } from './views/stop-dialog.js'
import { hideUnstopped, showUnstopped } from './views/unstopped.js'
import { clearViewing } from './views/viewing.js'

/** A link to the record, for someone who does not look at it. */
export const inRecord = () =>
  viewAsked() === 'record' ? undefined : { href: '#record', text: 'See it in the record' }

/** Ends what this browser has started and this page does not show. */
export async function endOpenView(item) {
  markStopping()
  const { id, userId, names } = item
  const name = names[userId]
  const record = await stopOnRecord({ id, endsAt: stopsBefore(item), what: `Your view of ${name}` }).finally(
    hideOpenView,
  )
  tellPerson(record ? `The view of ${name} has ended.` : expired({ name }, false), inRecord())
}

/** The record of a view that this page shows. */
export const recordOf = ({ recordId, tokenEndsAt, customer }) => ({
  id: recordId,
  endsAt: tokenEndsAt,
  what: `Your view of ${customer.name}`,
})

/** By the clock of this browser, in milliseconds. */
export const stopsBefore = (item) => Date.now() + until(endOf(item) ?? item.expiresAt)

/** Resolves to the record, or to `undefined` if the token of the view has expired before a stop could succeed. */
export async function stopOnRecord({ what, ...stop }, tell = () => {}) {
  const onNews = (news) => {
    tell(news.state)
    if (news.state === 'failed') showUnstopped({ ...stop, ...news, what, stopNow: tryNow })
  }
  const record = await stopUntilDone(stop, onNews).finally(() => hideUnstopped(stop.id))
  tell(record ? 'stopped' : 'over')
  tellOtherTabs()
  await refreshRecord()
  return record
}

/**
 * Stops any recorded impersonation, no matter who started it, and returns its record as it is afterwards, or
 * `undefined` if the engineer gives no reason, or it has ended by itself.
 */
export async function stopRecorded(item, label) {
  const { id } = item
  const reason = await askStopReason(id, label)
  if (!reason) return undefined
  const what = viewingOf(item)
  const stopped = await stopOnRecord({ id, endsAt: stopsBefore(item), reason, what })
  if (runningImpersonation()?.recordId === id) {
    closeViewing()
    tellPerson(`Stopped. ${DISCARDED}`)
  } else if (!stopped) tellPerson(`${what} has ended by itself.`)
  else if (stopped.session) tellPerson('Stopped. The shop learns of it, and ends its own session.')
  else if (stopped.use) tellPerson('Stopped. The shop can no longer be opened with its subject token.')
  else if (stopped.accessToken) tellPerson('Stopped. The orders API refuses its access token within seconds.')
  else tellPerson('Stopped. Its subject token can no longer be exchanged.')
  return stopped
}

/** Removes the view from the page, and returns what was viewed. */
export function closeViewing() {
  hideBanner()
  return discardView()
}

/** The same, and the banner stays for what becomes of the stop. */
export function discardView() {
  clearViewing()
  return dropImpersonation()
}
