/** Which view is shown. The hash names it, so the browser's own back and forward work. */
import { byId } from './element.js'

const VIEWS = ['customers', 'viewing', 'record']

/** The view that the address names. Other hashes, such as the skip link's, name none. */
export function viewAsked() {
  return VIEWS.find((view) => `#${view}` === location.hash)
}

/** Shows one view under its title, and moves the focus there. */
export function show(view, title) {
  for (const section of document.querySelectorAll('[data-view]'))
    section.hidden = section.dataset.view !== view
  for (const link of byId('nav').children) {
    if (link.hash === `#${view}`) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  const back = byId('banner-link')
  if (back) back.hidden = view === 'viewing'
  byId('heading').textContent = title
  document.title = title === 'Support desk' ? title : `${title} · Support desk`
  byId('heading').focus()
}

let open

/** `listener` shows the view that the address names. */
export const onVisit = (listener) => {
  open = listener
}

export async function visit(view) {
  go(view)
  await open()
}

/** Changes the address, and nothing else. `instead` leaves no entry of the present one in the history. */
export function go(view, { instead = false } = {}) {
  if (viewAsked() === view) return
  if (instead) history.replaceState(null, '', `/#${view}`)
  else history.pushState(null, '', `/#${view}`)
}
