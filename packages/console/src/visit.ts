import type { Context } from 'koa'
import type { Provider } from 'oidc-provider'
import type { RecordError, Records, Seconds } from 'oidc-provider-impersonation'
import {
  findAccount,
  type Html,
  html,
  inProvider,
  KILLED_BY,
  type Lookup,
  requestOf,
  type Service,
} from 'oidc-provider-impersonation/inside'
import { addressOf, type Typed } from './form.ts'
import type { Administrator, ConsoleRight, ResolvedConsoleOptions } from './options.ts'
import { type People, peopleFor } from './people.ts'
import { LABELS, timeOf, ZONE } from './words.ts'

/** One request of an administrator. */
export interface Visit {
  readonly ctx: Context
  readonly service: Service
  /** The management API, in process. Its stops have the cause `console`. */
  readonly records: Records
  readonly options: ResolvedConsoleOptions
  readonly administrator: Administrator
  /** The beginning of every address of the console, as the browser knows it. */
  readonly base: string
  /** The rest of the address. */
  readonly path: string
  readonly now: Seconds
  /** Tells the operator what has failed without making the page worthless. */
  report(error: unknown): void
}

/** The content of a page. The names on it were looked up before. */
export interface Page {
  readonly title: string
  readonly people: People
  /** The fault in the input, shown above it. */
  readonly error?: RecordError | undefined
  readonly body: Html
  /** Seconds between two looks at what has changed, if the page is to follow it. */
  readonly refresh?: number | undefined
}

export const may = ({ administrator }: Visit, right: ConsoleRight): boolean =>
  administrator.can.includes(right)

/** The names of these people, and of the administrator. */
export const peopleOf = (visit: Visit, ids: readonly string[]): Promise<People> =>
  peopleFor([visit.administrator.id, ...ids], visit.options, visit.report)

/** Lead to the kill switch of these, for those who may use it. */
export const stopAllLinks = (visit: Visit, whose: Typed<(typeof KILLED_BY)[number]>): readonly Html[] =>
  KILLED_BY.filter((name) => may(visit, 'stopAll') && whose[name] !== undefined).map((name) => {
    const address = addressOf(`${visit.base}/stop-all`, { [name]: whose[name] })
    return html`<a class="danger" href="${address}">Stop everything for this ${LABELS[name]} …</a>`
  })

/** Each process may answer from memory for a second, and times are whole seconds. */
const LOOK: Seconds = 2

/** When every API must have noticed a stop (protocol.md §4.1). */
export function refusal({ service, now }: Visit, stoppedAt: Seconds): Html {
  const { statusList } = service.options
  if (!statusList) return html`Opaque access tokens ended at once; a JWT ends when it expires.`
  return html`Every API refuses it from ${timeOf(stoppedAt + statusList.ttl + LOOK, now)} ${ZONE} at the latest.`
}

/** `findAccount` gets a context of the provider. */
export const lookupOf = (ctx: Context, provider: Provider): Lookup => ({
  findAccount: (name) => findAccount(inProvider(provider, Object.create(ctx)), name),
  report: (error) => void ctx.app.emit('error', error, ctx),
  request: requestOf(ctx),
})
