/** The frame of every page: its document, the navigation, the search and the kill switch. */

import type { Context } from 'koa'
import {
  DESIGN,
  documentsOf,
  type Html,
  html,
  KILLED_BY,
  readAsset,
  refuse,
  type Value,
} from 'oidc-provider-impersonation/inside'
import { field, type Typed } from './form.ts'
import { alarmCount } from './newest-alarms.ts'
import type { Administrator, ResolvedConsoleOptions } from './options.ts'
import { may, type Page, type Visit } from './visit.ts'
import { capital, LABELS, sentenceOf, timeOf, ZONE } from './words.ts'

const assetOf = (name: string) => readAsset(new URL(`./assets/${name}`, import.meta.url))

const script = assetOf('console.js')
const { headers, documentOf } = documentsOf({ style: DESIGN + assetOf('console.css'), script })

/** On every response, errors included. */
export function setHeaders(ctx: Context): void {
  ctx.set(headers)
  ctx.type = 'html'
}

export async function showPage(visit: Visit, page: Page): Promise<void> {
  const { ctx, now, options } = visit
  const { title, people, error, body, refresh } = page
  const alarms = may(visit, 'see') ? await alarmCount(visit) : undefined
  const refreshes = refresh !== undefined && html` data-refresh="${refresh}"`
  const asOf: Value =
    refresh !== undefined && html`<small class="as-of">Live, as of ${timeOf(now, now)}</small>`
  const whole = html`<a class="skip" href="#main">Skip to main content</a>
${headerOf(visit, page, alarms)}
<main id="main" tabindex="-1"><p id="stale" role="status"></p><div id="fresh" data-now="${now}"${refreshes}>
<p class="printed">${options.title}: ${title}, as of ${timeOf(now, now)}, for ${people.short(visit.administrator.id)}</p>
${asOf}${error && html`<p class="error" id="error" role="alert">${sentenceOf(error)}</p>`}${body}
</div></main>
<footer>Times are in ${ZONE}.<noscript> Reload to see what has changed.</noscript></footer>`
  if (error) ctx.status = error.status
  ctx.body = documentOf(`${title} · ${options.title}`, whole)
}

const PAGES = { Now: '', History: '/history', Alarms: '/alarms' }

function headerOf(visit: Visit, { title, people }: Page, alarms: string | undefined): Html {
  const { base, administrator, options } = visit
  const links = Object.entries(PAGES).map(([name, path]) => {
    const current = name === title && html` aria-current="page"`
    const count: Value =
      name === 'Alarms' &&
      alarms !== undefined &&
      html` <b class="count">${alarms}<span class="hidden"> to look into</span></b>`
    return html`<a href="${base + path || '/'}"${current}>${name}${count}</a>`
  })
  const seen =
    may(visit, 'see') &&
    html`<nav aria-label="Console">${links}</nav>
<form class="search" action="${base}/search" role="search"><input name="q" type="search" aria-label="Search" placeholder="Name, id, ticket, jti, record"></form>`
  const stopAll =
    may(visit, 'stopAll') &&
    html`<details id="all"><summary class="danger">Stop all …</summary><div class="card">${stopAllForms(visit)}</div></details>`
  return html`<header><strong>${linkTo(options.home, options.title)}</strong>${seen}${stopAll}<span class="who">${people.short(administrator.id)}</span>${options.signOut !== undefined && linkTo(options.signOut, 'Sign out')}</header>`
}

const linkTo = (address: string | undefined, text: string): Value =>
  address === undefined ? text : html`<a href="${address}">${text}</a>`

/** Ask whose impersonations are to be stopped, with what was typed. */
export const stopAllForms = ({ base }: Visit, typed: Typed = {}): readonly Html[] =>
  KILLED_BY.map((name) => {
    const label = name === 'createdBy' ? 'Backend' : `${capital(LABELS[name] ?? name)} id`
    return html`<form class="line" action="${base}/stop-all">${field(label, name, typed[name], html` required`)}<button>Stop everything for this ${LABELS[name]} …</button></form>`
  })

const ERRORS: Readonly<Record<number, readonly [title: string, text?: string]>> = {
  403: ['Not allowed'],
  404: ['Not found', 'There is no such page, or no such record.'],
  405: ['Not possible', 'This address does not take requests of this kind.'],
  500: ['This did not work', 'The operators of this service can find the reason in their log.'],
  503: ['Not available right now', 'The records cannot be read right now. Try again in a few seconds.'],
}

/** The sender of the request, as far as it is known. */
export interface Refused {
  readonly options?: Pick<ResolvedConsoleOptions, 'title' | 'home' | 'signOut'>
  readonly administrator?: Administrator | undefined
  /** Where the console is, for those who may see it. */
  readonly console?: string | undefined
}

/** For a request that reached no page. */
export function showError(ctx: Context, thrown: unknown, refused: Refused = {}): void {
  setHeaders(ctx)
  const error = refuse(ctx, thrown)
  const { options: { title, home, signOut } = { title: 'Impersonation' }, console } = refused
  const [name, text = sentenceOf(error)] = ERRORS[error.status] ?? ['This did not work']
  const links = [
    console !== undefined && html`<a href="${console || '/'}">Back to the console</a>`,
    home !== undefined && linkTo(home, 'Home'),
    signOut !== undefined && linkTo(signOut, 'Sign out'),
  ].filter((link) => link !== false)
  const body = html`<header><strong>${linkTo(home, title)}</strong></header>
<main id="main"><div id="fresh" class="card"><h1>${name}</h1><p>${text}</p>${error.status === 403 && whoOf(refused)}<p class="line">${links}</p></div></main>`
  if (error.status === 413) ctx.status = 400
  ctx.body = documentOf(`${name} · ${title}`, body)
}

/** Who one is, and who decides. */
function whoOf({ administrator, options }: Refused): Html {
  const who = administrator
    ? html`You are signed in as <code>${administrator.id}</code>.`
    : 'You are not signed in as someone who may use this console.'
  return html`<p>${who} Those who run ${options?.title ?? 'this service'} decide who may: ask them, with this address.</p>`
}
