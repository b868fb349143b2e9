const STYLE = `
@media screen{:host{all:initial!important;display:contents!important}}
:host{display:contents}
:host([hidden]),[hidden]{display:none!important}
section,dialog{--viewing:light-dark(#ffc53d, #e0a92b);--on-viewing:#241a00;--last-minute:#a3230f;--on-last-minute:#ffffff;--radius:6px;--paper:var(--viewing);--ink:var(--on-viewing);color-scheme:light dark;position:fixed;box-sizing:border-box;display:flex;gap:.75em;align-items:center;margin:0;border:0 solid var(--ink);background:var(--paper);color:var(--ink);font:max(.9375rem,15px)/1.25 system-ui,sans-serif}
section{inset:0 0 auto;width:auto;height:auto;min-height:44px;padding:0 1em;border-bottom-width:2px;overflow:visible;white-space:nowrap;-webkit-user-select:none;user-select:none}
.bottom{inset:auto 0 0;border-width:2px 0 0}
.last{--paper:var(--last-minute);--ink:var(--on-last-minute)}
p{margin:0}
section p{display:flex;flex:1;min-width:0}
section p>*{display:flex;min-width:0;direction:ltr}
p>*>*{flex:0 1 auto;min-width:0;overflow:hidden;text-overflow:ellipsis}
p>*>:nth-child(2){flex:none;max-width:50%}
p>*>:nth-child(3){flex:1 1 0}
i{font-style:normal}
b{font-variant-numeric:tabular-nums}
.may{flex:none;padding:0 .5em;border:1px solid;border-radius:var(--radius);font-size:.87em}
.changes{background:var(--last-minute);color:var(--on-last-minute)}
::slotted(a){color:inherit!important}
button{min-height:34px;padding:0 .8em;border:1px solid var(--ink);border-radius:var(--radius);background:var(--ink);color:var(--paper);font:inherit;font-weight:700;cursor:pointer}
button:focus-visible{outline:2px solid var(--ink);outline-offset:1px}
[aria-disabled=true]{opacity:.6;cursor:default}
[aria-expanded]{min-width:34px;margin-inline-start:-.25em;padding:0;background:none;color:inherit}
.folded{inset:5px auto auto 50%;translate:-50%;max-width:70vw;min-height:34px;padding:0 .3em 0 .8em;border-width:2px;border-radius:34px;cursor:pointer}
.folded.bottom{inset:auto auto 5px 50%}
.folded p::before{content:"●\\a0"}
.folded [aria-expanded]{min-width:28px;min-height:28px;border:0}
.folded :is(i,slot,.may,[role=status],p>*>:nth-child(n+2),button:not([aria-expanded])){display:none}
dialog{inset:0;width:100%;height:100%;max-width:none;max-height:none;flex-direction:column;justify-content:center;padding:1em;text-align:center}
dialog:not([open]){display:none}
@media(max-width:45em){section{gap:.5em;padding:0 .6em}i,.told b[role]{display:none}section:not(.told) [role=status]{position:absolute;clip-path:inset(50%)}section p>*{flex-direction:column}p>*>:nth-child(2){max-width:100%;font-size:.87em}.may{width:min-content;white-space:normal;text-align:center;font-size:.75em;line-height:1.1}}
@media(forced-colors:active){section{border:3px solid Highlight}.last{border:6px double}}
@media print{section{position:absolute;inset:0 0 auto;border:1px solid;background:none;color:#000;white-space:normal}section p>*,section p>*>*{display:inline;overflow:visible}section p{display:block}[role],button,slot,.may{display:none!important}}
`
const TEXTS = ['user', 'actor', 'reason', 'side', 'state']
/** @type {Record<string, string>} */
const TOLD = { stopping: 'Stopping …', failed: 'Not stopped yet' }
const SIDES = /** @type {const} */ (['top', 'bottom'])
/** Events of the page after which something may lie above the banner. */
const RAISERS = ['toggle', 'fullscreenchange']
const NAME = 'impersonation-banner'

/** @type {CSSStyleSheet | undefined} */
let sheet
/** @type {CSSStyleSheet | undefined} */
let room
let roomText = ''

/** The space that the page keeps free. The page may have removed our sheet since. @param {string} text */
function keepRoom(text) {
  room ??= new CSSStyleSheet()
  if (!document.adoptedStyleSheets.includes(room)) document.adoptedStyleSheets.push(room)
  if (text !== roomText) room.replaceSync(text)
  roomText = text
}

/** @param {string} name @param {(Node | string)[]} children */
function element(name, ...children) {
  const made = document.createElement(name)
  made.append(...children)
  return made
}

/** @param {string} label @param {() => void} press @param {(Node | string)[]} children */
function button(label, press, ...children) {
  const made = element('button', ...children)
  if (label) made.ariaLabel = label
  made.addEventListener('click', press)
  return made
}

let mark = false

/** Whether this tab has shown a view whose end no one has confirmed. @param {boolean} [value] */
function isMarked(value) {
  mark = value ?? mark
  try {
    if (value) sessionStorage.setItem(NAME, 'shown')
    if (value === false) sessionStorage.removeItem(NAME)
    return sessionStorage.getItem(NAME) !== null
  } catch {
    return mark // This page may not store anything.
  }
}

// Servers may import this file too.
const Element = globalThis.HTMLElement ?? Object

export class ImpersonationBanner extends Element {
  static observedAttributes = [...TEXTS, 'until', 'read-only']

  /** The banners in this document. @type {Set<ImpersonationBanner>} */
  static #shown = new Set()

  #user = element('bdi')
  #actor = element('span')
  #reason = element('i')
  #who = element(
    'p',
    element(
      'span',
      element('span', element('i', 'You see what '), element('b', this.#user), element('i', ' sees')),
      this.#actor,
      this.#reason,
    ),
  )
  #may = element('b')
  #news = element('span')
  #left = element('b')
  #end = button('', () => this.#press())
  #fold = button('', () => this.#folds(!this.#isFolded()))
  #row = element(
    'section',
    this.#who,
    this.#may,
    this.#news,
    this.#left,
    element('slot'),
    this.#end,
    this.#fold,
  )
  #ending = element('p')
  #go = button('', () => this.#leave())
  #cover = /** @type {HTMLDialogElement} */ (element('dialog', this.#ending, this.#go))
  #prefix = ''
  #over = Number.NaN
  #stoppedAt = ''
  #timer = 0
  #refresh = () => this.#tick()
  #sizes = new ResizeObserver(() => ImpersonationBanner.#makeRoom())
  /** An element that opens later lies above it until then. @param {any} event */
  #raise = ({ target, newState }) => {
    if (newState === 'closed' || target.localName === 'details') return
    this.#row.hidePopover()
    this.#row.showPopover()
  }

  constructor() {
    super()
    this.#news.role = 'status'
    this.#left.role = 'timer'
    this.#left.ariaLabel = 'Time left'
    this.#row.lang = this.#cover.lang = 'en'
    this.#row.popover = 'manual'
    this.#cover.addEventListener('cancel', (event) => event.preventDefault())
    this.#cover.addEventListener('close', () => this.#show())
    this.#row.addEventListener('click', ({ target }) => {
      if (this.#isFolded() && !this.#fold.contains(/** @type {Node} */ (target))) this.#folds(false)
    })
    this.#folds(false)
    sheet ??= new CSSStyleSheet()
    sheet.replaceSync(STYLE)
    const root = this.attachShadow({ mode: 'open' })
    root.adoptedStyleSheets = [sheet]
    root.append(this.#row, this.#cover)
  }

  get until() {
    const text = this.getAttribute('until')?.trim()
    return text && Number.isFinite(+text) ? +text : Number.NaN
  }
  set until(seconds) {
    this.setAttribute('until', `${seconds}`)
  }

  /** Frameworks write `read-only="false"`, too: only these two say that it is. */
  get readOnly() {
    return ['', 'true'].includes(this.getAttribute('read-only') ?? 'absent')
  }
  set readOnly(value) {
    if (value === true) this.setAttribute('read-only', '')
    else this.removeAttribute('read-only')
  }

  connectedCallback() {
    // A framework may have set properties before this class was defined.
    for (const name of [...ImpersonationBanner.observedAttributes, 'readOnly']) {
      const value = Object.getOwnPropertyDescriptor(this, name)?.value
      Reflect.deleteProperty(this, name)
      if (value !== undefined) Reflect.set(this, name, value)
    }
    document.addEventListener('visibilitychange', this.#refresh)
    for (const name of RAISERS) document.addEventListener(name, this.#raise, true)
    this.#row.showPopover()
    this.#sizes.observe(this.#row)
    ImpersonationBanner.#shown.add(this)
    this.#show()
  }

  disconnectedCallback() {
    document.removeEventListener('visibilitychange', this.#refresh)
    for (const name of RAISERS) document.removeEventListener(name, this.#raise, true)
    clearTimeout(this.#timer)
    this.#sizes.disconnect()
    ImpersonationBanner.#shown.delete(this)
    ImpersonationBanner.#makeRoom()
    this.#unmark()
    this.#cover.close()
    // Unless it only moves.
    queueMicrotask(() => this.isConnected || isMarked(false))
  }

  /** @param {string} name */
  attributeChangedCallback(name) {
    if (name === 'state') this.#changeState()
    if (this.isConnected) this.#show()
  }

  #changeState() {
    this.#folds(false)
    this.#stoppedAt = new Date().toLocaleTimeString('en-GB')
  }

  #show() {
    const [user, actor, reason, , state] = TEXTS.map((name) => this.getAttribute(name)?.trim())
    const name = user || 'someone else'
    const isOver = state === 'over'
    this.#user.textContent = name
    this.#actor.replaceChildren(...(actor ? [element('i', '\u00a0· '), 'as ', element('bdi', actor)] : []))
    this.#reason.replaceChildren(...(reason ? ['\u00a0· ', element('bdi', reason)] : []))
    this.#who.title = this.#who.textContent ?? ''
    this.#may.textContent = this.readOnly ? 'Read only' : 'Can change things'
    this.#may.className = this.readOnly ? 'may' : 'may changes'
    this.#may.hidden = state === 'stopped'
    this.#row.ariaLabel = `Impersonation of ${name}`
    this.#row.hidden = isOver
    this.#row.classList.toggle('bottom', this.#side() === 'bottom')
    this.#row.classList.toggle('told', Boolean(state))
    this.#end.ariaDisabled = `${state === 'stopping'}`
    this.#end.hidden = state === 'stopped'
    this.#end.replaceChildren(...(state === 'failed' ? ['Try now'] : ['Stop', element('i', ' viewing')]))
    this.#fold.hidden = Boolean(state)
    this.#unmark()
    this.#prefix = `● ${name.replace(/\s+/g, ' ').replace(/(.{29}).{2,}/u, '$1…')} ·`
    this.#tick()
    this.#showCover(isMarked(isOver ? undefined : true) && isOver, name, actor || 'yourself')
  }

  /** @param {boolean} isCovered @param {string} user @param {string} actor */
  #showCover(isCovered, user, actor) {
    this.#ending.replaceChildren('You no longer see what ', element('b', element('bdi', user)), ' sees.')
    this.#go.replaceChildren('Continue as ', element('bdi', actor))
    if (!isCovered) this.#cover.close()
    else if (!this.#cover.open) this.#cover.showModal()
  }

  #press() {
    if (this.getAttribute('state') !== 'stopping') this.#emit('end')
  }

  #leave() {
    isMarked(false)
    this.#cover.close()
    this.#emit('continue')
  }

  /** @param {string} name */
  #emit(name) {
    this.dispatchEvent(new Event(name, { bubbles: true }))
  }

  #side() {
    return this.getAttribute('side') === 'bottom' ? 'bottom' : 'top'
  }

  #isFolded() {
    return this.#row.classList.contains('folded')
  }

  /** @param {boolean} isFolded */
  #folds(isFolded) {
    this.#row.classList.toggle('folded', isFolded)
    this.#fold.textContent = isFolded ? '+' : '–'
    this.#fold.ariaLabel = isFolded ? 'Unfold' : 'Fold'
    this.#fold.ariaExpanded = `${!isFolded}`
    ImpersonationBanner.#makeRoom()
  }

  /** Several lie one below the other. Those that are folded take no room. */
  static #makeRoom() {
    const taken = { top: 0, bottom: 0 }
    let text = ''
    let dark = ''
    for (const banner of ImpersonationBanner.#shown) {
      const row = banner.#row
      const side = banner.#side()
      row.style.top = row.style.bottom = ''
      if (taken[side]) row.style[side] = `${taken[side]}px`
      if (!banner.#isFolded()) taken[side] += row.offsetHeight
      const colors = getComputedStyle(row).getPropertyValue('--paper').match(/#\w+/g) ?? []
      text = `--${NAME}-color:${colors[0]};`
      dark = `--${NAME}-color:${colors.at(-1)}`
    }
    for (const side of SIDES) {
      const height = `${taken[side]}px`
      if (text) text += `--${NAME}-${side}:${height};`
      if (taken[side]) text += `padding-${side}:${height}!important;scroll-padding-${side}:${height};`
    }
    keepRoom(text && `:root{${text}}@media(prefers-color-scheme:dark){:root{${dark}}}`)
  }

  #tick() {
    const isOn = !['stopped', 'over'].includes(this.getAttribute('state') ?? '')
    // The page may have changed its title since.
    if (isOn && !document.title.includes(this.#prefix)) document.title = `${this.#prefix} ${document.title}`
    const until = isOn ? this.until : Number.NaN
    const ms = until * 1000 - Date.now()
    const left = Math.max(0, Math.ceil(ms / 1000))
    this.#showTime(left)
    ImpersonationBanner.#makeRoom()
    if (left > 0) this.#over = Number.NaN
    const due = left === 0 && this.#over !== until
    clearTimeout(this.#timer)
    const pass = () => {
      if (due) this.#over = until
      if (due) this.#emit('over')
      if (this.isConnected) this.#tick()
    }
    // `over` waits a turn, so that the script that makes the banner can listen to it.
    this.#timer = setTimeout(pass, due ? 0 : (left > 0 && ms % 1000) || 1000)
  }

  #unmark() {
    document.title = document.title.replace(this.#prefix, '')
  }

  /** @param {number} left */
  #showTime(left) {
    const last = left <= 60
    const hours = Math.floor(left / 3600)
    const minutes = `${Math.floor(left / 60) % 60}`
    const seconds = `${left % 60}`.padStart(2, '0')
    this.#left.hidden = Number.isNaN(left)
    this.#left.textContent = `${hours ? `${hours}:${minutes.padStart(2, '0')}` : minutes}:${seconds}`
    this.#row.classList.toggle('last', last)
    // Announced, unlike the time.
    const news = this.#told() || (left === 0 ? 'Time is up' : last ? 'Last minute' : '')
    if (this.#news.textContent !== news) this.#news.textContent = news
  }

  #told() {
    const state = this.getAttribute('state') ?? ''
    return state === 'stopped' ? `Stopped ${this.#stoppedAt}` : TOLD[state]
  }
}

for (const name of TEXTS)
  Object.defineProperty(ImpersonationBanner.prototype, name, {
    get() {
      return this.getAttribute(name) ?? ''
    },
    set(text) {
      this.setAttribute(name, text ?? '')
    },
  })

if (globalThis.customElements && !customElements.get(NAME)) customElements.define(NAME, ImpersonationBanner)
