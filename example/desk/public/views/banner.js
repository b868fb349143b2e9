/** The stripe that no one overlooks: who is viewed, who is viewing, and how much time is left. */
import { byId } from '../element.js'
import { announce } from '../messages.js'
import { minutesAndSeconds, secondsUntil } from '../times.js'

const WARNING = 60

let ticking

export function showBanner({ customer, actor, endsAt }, onExpiry) {
  hideBanner()
  byId('banner-customer').textContent = customer.name
  byId('banner-actor').textContent = actor.name
  byId('banner').hidden = false
  document.body.classList.add('viewing')

  let warned = false
  const tick = () => {
    const left = secondsUntil(endsAt)
    byId('banner-remaining').textContent = minutesAndSeconds(left)
    // A screen reader that announces every second would announce nothing else.
    if (left <= WARNING && !warned) {
      warned = true
      announce(`The view of ${customer.name} ends in ${left} seconds.`)
    }
    if (left === 0) onExpiry()
  }
  tick()
  ticking = setInterval(tick, 1000)
}

export function hideBanner() {
  clearInterval(ticking)
  byId('banner').hidden = true
  document.body.classList.remove('viewing')
}
