/** Asks why a view is stopped: the record keeps it. */
import { byId } from '../element.js'
import { requiredDialog } from './required.js'

const dialog = requiredDialog('stop', [{ input: byId('stop-reason'), missing: 'Enter a reason.' }])

/** Resolves to the reason, or to `undefined` if the engineer cancels. `what` says what is stopped. */
export async function askStopReason(id, what) {
  const given = await dialog.ask(id, what)
  return given?.[0]
}

export const forgetStopReasons = () => dialog.forgetAll()

export const closeStopReason = () => dialog.close()
