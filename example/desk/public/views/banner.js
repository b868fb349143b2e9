/** The banner of the package, in front of everything else, a frame around the page, and a marked tab. */
import '../vendor/impersonation-banner.js'
import { byId, element } from '../element.js'
import { GLANCE } from '../times.js'

const ICON = document.querySelector('link[rel=icon]')
const MINUTE = 60_000

let offering

/**
 * It emits `over` when the time is up. Its button emits `end`, and in the last minute another one emits `more`. All three
 * bubble. A view that ends with the sign-in cannot go on.
 */
export function showBanner({ customer, actor, ticketId, lasts, endsAt, endsWithSignIn }) {
  hideBanner()
  // The names matter more than a ticket that fills the row.
  const reason = ticketId.length > 30 ? `${ticketId.slice(0, 29)}…` : ticketId
  const shown = { user: customer.name, actor: actor.name, reason, until: endsAt / 1000 }
  const back = element(
    'a',
    { id: 'banner-link', href: '#viewing' },
    'Back',
    element('span', {}, ' to the view'),
  )
  const minutes = `${Math.round(lasts / MINUTE)}`
  const words = element('span', {}, ' more minutes')
  const more = element('button', { id: 'banner-more', type: 'button', hidden: true }, minutes, words)
  more.ariaLabel = `${minutes} more minutes`
  more.addEventListener('click', () => more.dispatchEvent(new Event('more', { bubbles: true })))
  const banner = element('impersonation-banner', { id: 'banner', ...shown }, back, more)
  if (!endsWithSignIn) {
    offering = setInterval(() => {
      if (endsAt - Date.now() <= MINUTE) more.hidden = false
    }, GLANCE)
  }
  document.querySelector('header').before(banner)
  document.body.classList.add('viewing')
  ICON.href = new URL('../icon-viewing.svg', import.meta.url)
}

export function hideBanner() {
  clearInterval(offering)
  byId('banner')?.remove()
  document.body.classList.remove('viewing')
  ICON.href = new URL('../icon.svg', import.meta.url)
}
