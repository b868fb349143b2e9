/** The banner of the package, in front of everything else, and a frame around the page. */
import '../vendor/impersonation-banner.js'
import { byId, element } from '../element.js'

/** Its button emits `end`, which bubbles. */
export function showBanner({ customer, actor, ticketId, endsAt }, onExpiry) {
  hideBanner()
  const shown = { user: customer.name, actor: actor.name, reason: ticketId, until: endsAt / 1000 }
  const back = element('a', { id: 'banner-link', href: '#viewing' }, 'Back to the view')
  const banner = element('impersonation-banner', { id: 'banner', ...shown }, back)
  banner.addEventListener('over', onExpiry)
  document.querySelector('header').before(banner)
  document.body.classList.add('viewing')
}

export function hideBanner() {
  byId('banner')?.remove()
  document.body.classList.remove('viewing')
}
