const STYLE = `
:host{all:initial;display:block;position:sticky;top:0;z-index:999}
:host([hidden]),[hidden]{display:none!important}
section{--ground:#ffc53d;--ink:#241a00;box-sizing:border-box;display:flex;gap:.75em;align-items:center;min-height:44px;padding:0 1em;border-bottom:2px solid var(--ink);background:var(--ground);color:var(--ink);font:max(.9375rem,15px)/1.25 system-ui,sans-serif;white-space:nowrap}
.last{--ground:#a3230f;--ink:#fff}
p{display:flex;flex:1;min-width:0;margin:0}
p>*{overflow:hidden;text-overflow:ellipsis;flex:0 999 auto}
p>:first-child{flex-shrink:1}
i{font-style:normal}
b{font-variant-numeric:tabular-nums}
::slotted(a){color:inherit!important}
button{min-height:34px;padding:0 .8em;border:1px solid var(--ink);border-radius:6px;background:var(--ink);color:var(--ground);font:inherit;font-weight:700;cursor:pointer}
button:focus-visible{outline:2px solid var(--ink);outline-offset:1px}
@media(max-width:45em){section{gap:.5em;padding:0 .6em}i{display:none}[role=status]{position:absolute;clip-path:inset(50%)}}
@media(prefers-color-scheme:dark){section:not(.last){--ground:#e0a92b}}
@media(forced-colors:active){section{border:3px solid Highlight}.last{border:6px double}}
@media print{:host{position:static}section{border:1px solid;background:none;color:#000;white-space:normal}[role],button,slot{display:none!important}}
`
const TEXTS = ['user', 'actor', 'reason']

/** @type {CSSStyleSheet | undefined} */
let sheet

/** @param {string} name @param {(Node | string)[]} children */
function element(name, ...children) {
  const made = document.createElement(name)
  made.append(...children)
  return made
}

// Servers may import this file too.
const Element = globalThis.HTMLElement ?? Object

export class ImpersonationBanner extends Element {
  static observedAttributes = [...TEXTS, 'until']

  #user = element('bdi')
  #actor = element('span')
  #reason = element('i')
  #who = element(
    'p',
    element('span', element('i', 'You see what '), element('b', this.#user), element('i', ' sees')),
    this.#actor,
    this.#reason,
  )
  #news = element('span')
  #left = element('b')
  #row = element('section', this.#who, this.#news, this.#left, element('slot'))
  #prefix = ''
  #over = Number.NaN
  #timer = 0
  #refresh = () => this.#tick()

  constructor() {
    super()
    const end = element('button', 'Stop', element('i', ' viewing'))
    end.addEventListener('click', () => this.dispatchEvent(new Event('end', { bubbles: true })))
    this.#news.role = 'status'
    this.#left.role = 'timer'
    this.#left.ariaLabel = 'Time left'
    this.#row.lang = 'en'
    this.#row.append(end)
    sheet ??= new CSSStyleSheet()
    sheet.replaceSync(STYLE)
    const root = this.attachShadow({ mode: 'open' })
    root.adoptedStyleSheets = [sheet]
    root.append(this.#row)
  }

  get until() {
    const text = this.getAttribute('until')?.trim()
    return text && Number.isFinite(+text) ? +text : Number.NaN
  }
  set until(seconds) {
    this.setAttribute('until', `${seconds}`)
  }

  connectedCallback() {
    // A framework may have set properties before this class was defined.
    for (const name of ImpersonationBanner.observedAttributes) {
      const value = Object.getOwnPropertyDescriptor(this, name)?.value
      Reflect.deleteProperty(this, name)
      if (value !== undefined) Reflect.set(this, name, value)
    }
    document.addEventListener('visibilitychange', this.#refresh)
    this.#show()
  }

  disconnectedCallback() {
    document.removeEventListener('visibilitychange', this.#refresh)
    clearTimeout(this.#timer)
    this.#unmark()
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#show()
  }

  #show() {
    const [user, actor, reason] = TEXTS.map((name) => this.getAttribute(name)?.trim())
    const name = user || 'someone else'
    this.#user.textContent = name
    this.#actor.replaceChildren(...(actor ? ['\u00a0· as ', element('bdi', actor)] : []))
    this.#reason.replaceChildren(...(reason ? ['\u00a0· ', element('bdi', reason)] : []))
    this.#who.title = this.#who.textContent ?? ''
    this.#row.ariaLabel = `Impersonation of ${name}`
    this.#unmark()
    this.#prefix = `● ${name.replace(/\s+/g, ' ').replace(/(.{29}).{2,}/u, '$1…')} ·`
    this.#tick()
  }

  #tick() {
    // The page may have changed its title since.
    if (!document.title.includes(this.#prefix)) document.title = `${this.#prefix} ${document.title}`
    const { until } = this
    const ms = until * 1000 - Date.now()
    const left = Math.max(0, Math.ceil(ms / 1000))
    this.#showTime(left)
    if (left > 0) this.#over = Number.NaN
    const due = left === 0 && this.#over !== until
    clearTimeout(this.#timer)
    const pass = () => {
      if (due) this.#over = until
      if (due) this.dispatchEvent(new Event('over', { bubbles: true }))
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
    this.#left.hidden = Number.isNaN(left)
    this.#left.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
    this.#row.classList.toggle('last', last)
    // Announced, unlike the time.
    const news = left === 0 ? 'Time is up' : last ? 'Last minute' : ''
    if (this.#news.textContent !== news) this.#news.textContent = news
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

const NAME = 'impersonation-banner'
if (globalThis.customElements && !customElements.get(NAME)) customElements.define(NAME, ImpersonationBanner)
