/** The one policy of Trusted Types. */
export const TRUSTED_TYPES_POLICY = 'impersonation-console'

/** Countdowns, and the page as it is now without losing the reader's place. Everything works without it. */
const SOURCE = `'use strict'
{
  const stale = document.getElementById('stale')
  const policy = window.trustedTypes?.createPolicy('${TRUSTED_TYPES_POLICY}', { createHTML: (text) => text })
  let fresh
  let ahead

  const lengthOf = (left) => {
    const hours = Math.floor(left / 3600)
    const rest = new Date(left * 1000).toISOString().slice(14, 19)
    return hours ? hours + ':' + rest : rest.replace(/^0/, '')
  }
  const tick = () => {
    for (const element of fresh.querySelectorAll('[data-until]')) {
      const left = Math.max(0, element.dataset.until - Math.floor((Date.now() + ahead) / 1000))
      element.textContent = lengthOf(left)
      element.classList.toggle('soon', left < 60)
    }
  }
  const show = (element) => {
    fresh = element
    ahead = fresh.dataset.now * 1000 - Date.now()
    tick()
  }

  const isBusy = () =>
    document.hidden || !getSelection().isCollapsed ||
    [...fresh.querySelectorAll('input')].some((field) => field.value !== field.defaultValue)
  const replace = (next) => {
    const focused = document.activeElement
    const by = ['id', 'name', 'href'].find((name) => focused.hasAttribute(name)) ?? 'id'
    const place = '[' + by + '="' + CSS.escape(focused.getAttribute(by)) + '"]'
    const isLost = fresh.contains(focused)
    for (const { id } of fresh.querySelectorAll('details[open]')) next.querySelector('#' + id)?.setAttribute('open', '')
    fresh.replaceWith(next)
    if (isLost) next.querySelector(place)?.focus({ preventScroll: true })
    show(next)
  }
  const refresh = async () => {
    if (!fresh.dataset.refresh || isBusy()) return
    try {
      const response = await fetch(location.href, { cache: 'no-store', redirect: 'error' })
      if (response.status >= 500) throw new Error('no page')
      if (!response.ok) return location.reload()
      const text = await response.text()
      const page = new DOMParser().parseFromString(policy?.createHTML(text) ?? text, 'text/html')
      const next = page.getElementById('fresh')
      if (!next || isBusy()) return
      replace(next)
      stale.textContent = ''
    } catch {
      stale.textContent = 'This page could not be updated. What it shows may be out of date.'
    }
  }
  const wait = () => setTimeout(() => refresh().finally(wait), (fresh.dataset.refresh ?? 60) * 1000)

  show(document.getElementById('fresh'))
  setInterval(tick, 1000)
  wait()
  document.addEventListener('visibilitychange', refresh)
}
`

export const SCRIPT = SOURCE.replaceAll(/^ +/gm, '')
