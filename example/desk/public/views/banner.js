/** The banner of the package, in front of everything else, a frame around the page, and a marked tab. */
import '../vendor/impersonation-banner.js'
import { byId, element } from '../element.js'

const ICON = document.querySelector('link[rel=icon]')

/** Its button emits `end`, which bubbles. */
export function showBanner({ customer, actor, ticketId, endsAt }, onExpiry) {
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
  const banner = element('impersonation-banner', { id: 'banner', ...shown }, back)
  banner.addEventListener('over', onExpiry)
  document.querySelector('header').before(banner)
  document.body.classList.add('viewing')
  ICON.href = new URL('../icon-viewing.svg', import.meta.url)
}

export function hideBanner() {
  byId('banner')?.remove()
  document.body.classList.remove('viewing')
  ICON.href = new URL('../icon.svg', import.meta.url)
}
