/** The banner of the package, in front of everything else, a frame around the page, and a marked tab. */
import '../vendor/impersonation-banner.js'
import { byId, element } from '../element.js'
import { nextLasts } from '../impersonation.js'
import { GLANCE } from '../times.js'

const ICON = document.querySelector('link[rel=icon]')
const MINUTE = 60_000
/** Milliseconds for which the row says that the view is stopped. */
const STAYS = 3000

let offering

/**
 * It emits `over` when the time is up. Its button emits `end`, and in the last minute another one emits `more`. All three
 * bubble.
 */
export function showBanner(view) {
  hideBanner()
  const { customer, actor, ticketId, endsAt, claims } = view
  // The names matter more than a ticket that fills the row.
  const reason = ticketId.length > 30 ? `${ticketId.slice(0, 29)}…` : ticketId
  // What the access token says, and not what was asked for.
  const readOnly = claims.read_only === true
  const shown = { user: customer.name, actor: actor.name, reason, readOnly, until: endsAt / 1000 }
  const back = element(
    'a',
    { id: 'banner-link', href: '#viewing' },
    'Back',
    element('span', {}, ' to the view'),
  )
  const more = element('button', { id: 'banner-more', type: 'button', hidden: true })
  more.addEventListener('click', () => more.dispatchEvent(new Event('more', { bubbles: true })))
  const banner = element('impersonation-banner', { id: 'banner', ...shown }, back, more)
  offering = setInterval(() => offer(more, view), GLANCE)
  document.querySelector('header').before(banner)
  document.body.classList.add('viewing')
  ICON.href = new URL('../icon-viewing.svg', import.meta.url)
}

/** In the last minute, if the next view would last longer by a minute or more: the sign-in may end before. */
function offer(button, view) {
  const left = Math.max(0, view.endsAt - Date.now())
  const next = nextLasts(view)
  if (left > MINUTE || next - left < MINUTE) return
  const minutes = Math.floor(next / MINUTE)
  const label = minutes === 1 ? '1 more minute' : `${minutes} more minutes`
  // A button that changes while it is pressed may lose the click.
  if (button.textContent === label) return
  button.textContent = label
  button.hidden = false
}

/**
 * The view is closed, and the row stays where it is until its stop has succeeded. Returns what tells it how that goes:
 * `stopping`, `failed`, `stopped` or `over`.
 */
export function keepBanner() {
  const banner = byId('banner')
  unframe()
  banner.replaceChildren()
  return (state) => {
    if (state === 'over') return banner.remove()
    banner.state = state
    if (state === 'stopped') setTimeout(() => banner.remove(), STAYS)
  }
}

export function hideBanner() {
  unframe()
  byId('banner')?.remove()
}

function unframe() {
  clearInterval(offering)
  document.body.classList.remove('viewing')
  ICON.href = new URL('../icon.svg', import.meta.url)
}
