/** The one policy of Trusted Types. */
export const TRUSTED_TYPES_POLICY = 'impersonation-console'

/** Without the indentation. */
export const SCRIPT = source().replaceAll(/^ +/gm, '')

/** Countdowns, and the page as it is now without losing the reader's place. Everything works without it. */
function source(): string {
  return `'use strict'
{
  const fresh = document.getElementById('fresh')
  const stale = document.getElementById('stale')
  const policy = window.trustedTypes?.createPolicy('${TRUSTED_TYPES_POLICY}', { createHTML: (text) => text })
  const parse = (text) =>
    new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, 'text/html')
  let ahead = 0
  const setClock = (body) => { ahead = Number(body.dataset.now) * 1000 - Date.now() }
  setClock(document.body)

  const two = (part) => String(part).padStart(2, '0')
  const lengthOf = (left) => {
    const hours = Math.floor(left / 3600)
    const minutes = Math.floor(left / 60) % 60
    return (hours ? hours + ':' + two(minutes) : minutes) + ':' + two(left % 60)
  }
  const tick = () => {
    const now = Math.floor((Date.now() + ahead) / 1000)
    for (const element of document.querySelectorAll('[data-until]')) {
      const left = Math.max(0, Number(element.dataset.until) - now)
      element.textContent = lengthOf(left)
      element.classList.toggle('soon', left < 60)
      if (left === 0) element.removeAttribute('data-until')
    }
  }
  tick()
  setInterval(tick, 1000)

  const isBusy = () =>
    document.hidden || !getSelection().isCollapsed ||
    [...fresh.querySelectorAll('input, textarea')].some((field) => field.value !== field.defaultValue)
  const placeOf = (element) => {
    if (!fresh.contains(element)) return
    if (element.id) return '#' + CSS.escape(element.id)
    const href = element.getAttribute('href')
    return href ? '[href="' + CSS.escape(href) + '"]' : undefined
  }
  const refresh = async () => {
    if (isBusy()) return
    try {
      const response = await fetch(location.href, { cache: 'no-store', redirect: 'error' })
      if (response.status >= 500) throw new Error('no page')
      if (!response.ok) return location.reload()
      const page = parse(await response.text())
      const next = page.getElementById('fresh')
      if (!next || isBusy()) return
      const place = placeOf(document.activeElement)
      const opened = [...fresh.querySelectorAll('details[open][id]')].map(({ id }) => id)
      fresh.dataset.refresh = next.dataset.refresh ?? 60
      fresh.replaceChildren(...next.childNodes)
      for (const id of opened) document.getElementById(id)?.setAttribute('open', '')
      if (place) fresh.querySelector(place)?.focus({ preventScroll: true })
      setClock(page.body)
      tick()
      stale.textContent = ''
    } catch {
      stale.textContent = 'This page could not be updated. What it shows may be out of date.'
    }
  }
  const wait = () => setTimeout(() => refresh().finally(wait), Number(fresh.dataset.refresh) * 1000)
  if (fresh.dataset.refresh) {
    wait()
    document.addEventListener('visibilitychange', () => { if (!document.hidden) void refresh() })
  }
}
`
}
