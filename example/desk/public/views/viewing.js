/** The view of a customer: first what the customer sees, then how it was obtained. */
import { byId } from '../element.js'
import { attempt } from '../failures.js'
import { runningImpersonation } from '../impersonation.js'
import { show } from '../navigation.js'
import { clock } from '../times.js'
import { clearHow, showHow } from './how.js'
import { clearShop, showInvoice, showShop } from './shop.js'

/** `readInvoice` reads one, or returns `undefined` if the view has ended. */
export function showViewing(view, readInvoice) {
  const { customer, endsAt, endsWithSignIn } = view
  byId('ends').textContent = endsWithSignIn
    ? `This view ends at ${clock(endsAt / 1000)}, with your sign-in.`
    : `This view ends at ${clock(endsAt / 1000)}.`
  showShop(view, (orderId) =>
    attempt(async () => {
      const invoice = await readInvoice(orderId)
      // The view may have ended meanwhile.
      if (!invoice || runningImpersonation() !== view) return
      showInvoice(invoice)
      showHow(view)
    }),
  )
  showHow(view)
  show('viewing', `Viewing as ${customer.name}`)
}

/** Removes an ended view from the document, too. */
export function clearViewing() {
  byId('ends').replaceChildren()
  clearShop()
  clearHow()
}
