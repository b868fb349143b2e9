/**
 * Times in the zone of the reader, countdowns, the page as it is now without losing the reader's place, and a word when it
 * is not. Everything else works without it.
 */

/** Milliseconds after which a look is given up, and until the next one after it has failed. */
const PATIENCE = 10_000
const SOON = 5_000
/** Looks that fail in a row, until the page says so. */
const MISSES = 2

/** @typedef {{ createPolicy(name: string, rules: object): { createHTML(text: string): unknown } }} TrustedTypes */
const { trustedTypes } = /** @type {{ trustedTypes?: TrustedTypes }} */ (window)
/** @param {string} text */
const createHTML = (text) => text
const policy = trustedTypes?.createPolicy('impersonation-console', { createHTML })
/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id))
const stale = byId('stale')
/** @type {HTMLElement | null} */
const search = document.querySelector('[type=search]')
let fresh = byId('fresh')
/** Milliseconds that the server's clock is ahead of this one. */
let ahead = 0
/** Looks in a row that failed. */
let missed = 0
/** @type {number | undefined} */
let next

/** `2026-11-21 20:10:48` in the zone of the reader. @param {Date} at */
const textOf = (at) => at.toLocaleString('sv')
const [zone = 'your time'] = /GMT\S*/.exec(String(new Date())) ?? []

/** Brings the times of this element into the zone of the reader. @param {Element} element */
function localize(element) {
  const today = textOf(new Date(Date.now() + ahead)).slice(0, 11)
  for (const time of element.querySelectorAll('time')) {
    const at = new Date(time.dateTime)
    time.textContent = textOf(at).replace(today, '')
    time.title = `${time.dateTime.replace(/[TZ]/g, ' ')}UTC`
  }
  for (const name of element.querySelectorAll('.zone')) name.textContent = zone
}

/** @param {number} left seconds */
const lengthOf = (left) =>
  new Date(left * 1000)
    .toISOString()
    .slice(11, 19)
    .replace(/^00:0?/, '')

function tick() {
  for (const element of fresh.querySelectorAll('[data-until]')) {
    const left = Number(element.getAttribute('data-until')) - Math.floor((Date.now() + ahead) / 1000)
    element.textContent = lengthOf(Math.max(0, left))
    element.classList.toggle('soon', left < 60)
    if (left <= 0) end(element)
  }
}

/** A countdown that has run out is over, whatever the last refresh brought. @param {Element} countdown */
function end(countdown) {
  countdown.removeAttribute('data-until')
  countdown.textContent = 'ended'
  const pill = countdown.previousElementSibling
  if (!pill?.matches('.live')) return
  pill.className = 'pill ended'
  pill.textContent = 'Expired'
}

/** @param {HTMLElement} element */
function show(element) {
  fresh = element
  ahead = Number(fresh.dataset.now) * 1000 - Date.now()
  localize(fresh)
  tick()
}

/** Whether the reader would lose what they have typed or selected. */
const isBusy = () =>
  !getSelection()?.isCollapsed ||
  [...fresh.querySelectorAll('input')].some((field) => field.value !== field.defaultValue)

/** @param {Document} page */
function replace(page) {
  const element = page.getElementById('fresh')
  if (!element) return
  const focused = document.activeElement ?? document.body
  const by = ['id', 'name', 'href'].find((name) => focused.hasAttribute(name)) ?? 'id'
  const place = `[${by}="${CSS.escape(focused.getAttribute(by) ?? '')}"]`
  const isLost = fresh.contains(focused)
  for (const { id } of fresh.querySelectorAll('details[open]'))
    element.querySelector(`#${id}`)?.setAttribute('open', '')
  fresh.replaceWith(element)
  if (isLost) /** @type {HTMLElement | null} */ (element.querySelector(place))?.focus({ preventScroll: true })
  const [nav, news] = [document, page].map((one) => one.querySelector('header nav'))
  if (nav && news && !nav.contains(document.activeElement)) nav.replaceWith(news)
  show(element)
}

/** The page as it is now. */
async function read() {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), PATIENCE)
  try {
    const options = /** @type {const} */ ({ cache: 'no-store', redirect: 'error', signal: abort.signal })
    const response = await fetch(location.href, options)
    // Someone who may no longer see the page is told so, unless that would cost them what they have typed.
    if (response.status >= 400 && response.status < 500 && !isBusy()) location.reload()
    if (!response.ok) throw new Error('no page')
    const text = await response.text()
    const trusted = /** @type {string} */ (policy?.createHTML(text) ?? text)
    return new DOMParser().parseFromString(trusted, 'text/html')
  } finally {
    clearTimeout(timer)
  }
}

async function look() {
  clearTimeout(next)
  if (fresh.dataset.refresh && !document.hidden) {
    try {
      const page = await read()
      missed = 0
      if (!isBusy()) replace(page)
    } catch {
      missed += 1
    }
    tell()
  }
  clearTimeout(next)
  next = setTimeout(look, missed > 0 ? SOON : Number(fresh.dataset.refresh ?? 60) * 1000)
}

/** Says that the page is older than it promises, or nothing. */
function tell() {
  if (missed < MISSES) return stale.replaceChildren()
  if (stale.firstChild) return
  const retry = document.createElement('button')
  retry.type = 'button'
  retry.textContent = 'Retry'
  retry.addEventListener('click', look)
  const since = textOf(new Date(Number(fresh.dataset.now) * 1000))
  stale.append(`Not updated since ${since} ${zone}. `, retry)
}

show(fresh)
localize(document.body)
setInterval(tick, 1000)
next = setTimeout(look, Number(fresh.dataset.refresh ?? 60) * 1000)
document.addEventListener('visibilitychange', look)
document.addEventListener('keydown', (event) => {
  const isTyping = document.activeElement?.matches('input, select')
  if (event.key !== '/' || event.ctrlKey || event.metaKey || isTyping) return
  event.preventDefault()
  search?.focus()
})
