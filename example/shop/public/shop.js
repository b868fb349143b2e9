/** Ends the view when the engineer presses the button, and shows when it has ended anywhere else. */
import './impersonation-banner.js'

/** Milliseconds. */
const EVERY = 2000

const banner = document.querySelector('impersonation-banner')
const isActing = banner.dataset.left !== undefined
const isOpen = document.querySelector('main[data-open]') !== null

if (isActing) banner.until = Date.now() / 1000 + Number(banner.dataset.left)

banner.addEventListener('end', async () => {
  banner.state = 'stopping'
  try {
    const { ok } = await fetch('/logout', { method: 'POST', keepalive: true })
    if (!ok) throw new Error('not signed out')
    closePage()
  } catch {
    banner.state = 'failed'
  }
})
banner.addEventListener('over', closePage)
banner.addEventListener('continue', () => location.replace('/'))
const timer = isOpen && setInterval(look, EVERY)
// Browsers slow the timers of hidden pages down, and restore old pages from their cache.
document.addEventListener('visibilitychange', look)
addEventListener('pageshow', look)

async function look() {
  if (!isOpen || document.hidden) return
  const response = await fetch('/session').catch(() => undefined)
  if (!response?.ok) return
  const { state } = await response.json()
  if (state !== 'open') closePage()
}

/** Nothing of the customer stays in the page, and the engineer sees that it is over before the shop goes on. */
function closePage() {
  clearInterval(timer)
  document.querySelector('main').replaceChildren()
  if (isActing) banner.state = 'over'
  else location.replace('/')
}
