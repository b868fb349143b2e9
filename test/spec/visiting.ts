/** Requests of the console: each route as the browser of an administrator sends it, with one thing changed. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { DORA, type Written } from '../../fixtures/console.ts'
import { form, type HttpResponse, type Parameters, send } from '../../fixtures/http.ts'
import { unique } from '../../fixtures/unique.ts'
import type { ConsoleOptions, ConsoleRight } from '../../packages/console/src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { made, type Of } from './exchanging.ts'
import { changesNothing } from './expectations.ts'
import { functions } from './given.ts'
import {
  answer,
  type Cell,
  each,
  type Named,
  type Rule,
  rowsOf,
  type Step,
  type Steps,
  values,
} from './rule.ts'
import type { Scene } from './scene.ts'

export const REASON = 'wrong customer'

interface Visit {
  readonly method: string
  /** What follows the prefix. */
  readonly path: string
  readonly fields?: Parameters
}
interface Route {
  readonly right: ConsoleRight
  readonly visit: (scene: Scene) => Visit
}

const pageOf = (method: string, path: (scene: Scene) => string, right: ConsoleRight = 'see'): Route => ({
  right,
  visit: (scene) => ({ method, path: path(scene) }),
})
/** The same page by both methods. */
const PAGES: Readonly<
  Record<string, readonly [id: string, path: (scene: Scene) => string, right?: ConsoleRight]>
> = {
  '{prefix}': ['C1', () => ''],
  '/history': ['C2', ({ people }) => `/history?userId=${people.userId}`],
  '/history.csv': ['C3', ({ people }) => `/history.csv?userId=${people.userId}`],
  '/alarms': ['C4', () => '/alarms'],
  '/search': ['C24', ({ people }) => `/search?q=no-${people.userId}`],
  '/{id}': ['C5', ({ id }) => `/${id}`],
  '/stop-all': ['C7', ({ people }) => `/stop-all?userId=${people.userId}`, 'stopAll'],
}
const ROUTES: Readonly<Record<string, Route & { readonly id: string }>> = {
  ...Object.fromEntries(
    Object.entries(PAGES).flatMap(([name, [id, path, right]]) =>
      ['GET', 'HEAD'].map((method) => [`${method} ${name}`, { id, ...pageOf(method, path, right) }]),
    ),
  ),
  'POST /stop': {
    id: 'C6',
    right: 'stop',
    visit: ({ id }) => ({ method: 'POST', path: '/stop', fields: { id, reason: REASON } }),
  },
  'POST /acknowledge': {
    id: 'C25',
    right: 'stop',
    visit: ({ id }) => ({
      method: 'POST',
      path: '/acknowledge',
      fields: { id, replayedAt: '', note: REASON },
    }),
  },
  'POST /stop-all': {
    id: 'C8',
    right: 'stopAll',
    visit: ({ people: { userId } }) => ({
      method: 'POST',
      path: '/stop-all',
      fields: { userId, confirm: userId, reason: REASON },
    }),
  },
}
export const NAMES = Object.keys(ROUTES)
export const routeOf = (name: string) => ROUTES[name] ?? expect.fail(name)
export const isPost = (name: string) => name.startsWith('POST')

const routes = rowsOf(NAMES)
export const everyRoute = (title: string, cellOf: (name: string) => Cell): Rule =>
  routes(title, each(NAMES, cellOf))

const POSTS = ['POST /stop', 'POST /stop-all'] as const
export const everyPost = (title: string, stepsFor: (name: string) => Steps): Rule =>
  rowsOf(POSTS)(title, each(POSTS, stepsFor))

export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

export interface Changes {
  readonly method?: string
  readonly path?: string
  readonly fields?: Parameters | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** A request to the console, from a page of its own unless the headers say otherwise. */
export const visits =
  (name: string, changes: Of<Changes> = {}): Step =>
  async (scene) => {
    const given: Visit & Changes = { ...routeOf(name).visit(scene), ...(await made(changes, scene)) }
    await scene.request(() => visit(scene, given))
  }

function visit({ setting }: Scene, given: Visit & Changes): Promise<HttpResponse> {
  const { method, path, fields, headers = SAME_ORIGIN } = given
  const init = { method, headers, redirect: 'manual', ...(fields && { body: form(fields) }) } as const
  return send(setting.url + path, init)
}

/** A page by its address below the prefix. */
export const opens = (path: Text): Step => visits('GET {prefix}', (scene) => ({ path: textOf(path, scene) }))
/** What someone types into the search. */
export const searches = (text: Text): Step =>
  opens((scene) => `/search?${new URLSearchParams({ q: textOf(text, scene) })}`)

/** A record as the service writes it, of a user who has no other. */
export const written =
  (changes: Of<Written> = {}): Step =>
  async (scene) => {
    const given = { userId: unique('user'), ...(await made(changes, scene)) }
    scene.people = { ...scene.people, userId: given.userId }
    scene.id = await scene.setting.keep(given)
  }

/** Options of the console that are no functions, or that are missing. */
export const withOptions =
  (options: Partial<ConsoleOptions>): Step =>
  ({ setting, undo }) => {
    setting.change(options)
    undo.push(() => setting.change({}))
  }
export const can = (...rights: readonly ConsoleRight[]): Step =>
  functions({ authorize: () => ({ id: 'dora', can: rights }) })
/** Someone who may do everything, or no one. */
export const authorized = (isAllowed: boolean): Step =>
  functions({ authorize: () => (isAllowed ? DORA : undefined) })

export type Text = string | ((scene: Scene) => string)
const textOf = (text: Text, scene: Scene): string => (typeof text === 'function' ? text(scene) : text)

export const isAnswered = (status: number): Step =>
  answer(({ response }) => expect(response.status, response.text).to.equal(status))
export const isRefused = (status: number): Steps => [isAnswered(status), changesNothing]
export const shows = (...texts: readonly (Text | RegExp)[]): Step =>
  answer((scene) => {
    for (const text of texts)
      if (text instanceof RegExp) expect(scene.response.text).to.match(text)
      else expect(scene.response.text).to.include(textOf(text, scene))
  })
export const showsNot = (...texts: readonly Text[]): Step =>
  answer((scene) => {
    for (const text of texts) expect(scene.response.text).not.to.include(textOf(text, scene))
  })
export const itsLink = ({ id }: Scene) => `/impersonations/${id}`
export const leadsTo = (address: Text): Step =>
  answer((scene) => {
    const { status, headers, text } = scene.response
    expect(status, text).to.equal(303)
    expect(headers.get('location')).to.equal(`/impersonations${textOf(address, scene)}`)
  })

/** A page in a situation, and texts that are on it. */
type Page = readonly [given: Steps, path: Text, ...texts: (Text | RegExp)[]]
export const pagesShow = (title: string, pages: Named<Page>): Rule =>
  values(title, pages, ([given, path, ...shown]) => [given, opens(path), shows(...shown), changesNothing])
/** Texts that are not on it, where it shows something else. */
export const pagesHide = (title: string, pages: Named<Page>): Rule =>
  values(title, pages, ([given, path, ...hidden]) => [
    given,
    opens(path),
    isAnswered(200),
    showsNot(...(hidden as Text[])),
    changesNothing,
  ])

export const ofUser =
  (path: string) =>
  ({ people }: Scene): string =>
    `${path}?userId=${people.userId}`
export const HISTORY = ofUser('/history')
export const RECORD = ({ id }: Scene): string => `/${id}`

export const USE = { actor: { sub: 'sam' } }
export const used = (changes: Written = {}): Step => written({ use: USE, ...changes })
export const NEXT = 'f'.repeat(32)
/** What storage finds on each page, of the records there are. */
export const lists =
  (rows: number, next?: string): Step =>
  ({ setting, id }) => {
    const { sequelize } = setting.database
    setting.instead.set('store.list', async () => {
      const token = await createSubjectTokenStore(sequelize).find(setting.issuer, id)
      return { tokens: Array(rows).fill(token), next }
    })
  }
export const NOTHING = lists(0)

/** What operators read of the last request. */
export const forgetErrors: Step = ({ setting }) => {
  setting.errors.length = 0
}
export const reports = (...errors: readonly RegExp[]): Step =>
  answer(({ setting }) => {
    expect(setting.errors).to.have.length(errors.length)
    for (const [place, error] of errors.entries()) expect(String(setting.errors[place])).to.match(error)
  })

/** Neither the host nor the store was asked. */
export const notAsked: Step = ({ calls }) => {
  expect(calls.filter((call) => call === 'authorize' || call.startsWith('store.'))).to.deep.equal([])
}

const POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
]
const NAMED = [/^script-src 'sha256-[^' ]+'$/, /^style-src 'sha256-[^' ]+'$/, /^trusted-types [\w-]+$/]
const INLINE = { style: /<style>(.*?)<\/style>/s, script: /<script type="module">(.*?)<\/script>/s }

/** On every response. A page has the style and the script that its policy names. */
export const hasHeaders: Step = ({ response: { headers, text } }) => {
  expect(headers.get('cache-control')).to.equal('no-store')
  const policy = (headers.get('content-security-policy') ?? '').split('; ')
  expect(policy).to.include.members(POLICY)
  for (const named of NAMED) expect(policy.filter((part) => named.test(part))).to.have.length(1)
  if (!text.includes('<html')) return
  for (const [kind, pattern] of Object.entries(INLINE)) {
    const hash = createHash('sha256').update(pattern.exec(text)?.[1] ?? '')
    expect(policy).to.include(`${kind}-src 'sha256-${hash.digest('base64')}'`)
  }
}
