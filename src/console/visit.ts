import type { Context } from 'koa'
import type { Provider } from 'oidc-provider'
import type { Seconds } from '../clock.ts'
import { requestOf } from '../http/doors.ts'
import type { RecordError } from '../http/errors.ts'
import { findAccount } from '../provider/grants.ts'
import type { Service } from '../provider/settings.ts'
import type { Lookup } from '../records/accounts.ts'
import type { Html } from './html.ts'
import type { Administrator, ConsoleOptions, ConsoleRight } from './options.ts'

export interface Visit {
  readonly ctx: Context
  readonly service: Service
  readonly lookup: Lookup
  readonly options: Pick<ConsoleOptions, 'nameOf' | 'ticketUrl'>
  readonly administrator: Administrator
  /** What every address of the console begins with, as the browser knows it. */
  readonly base: string
  /** What comes after it. */
  readonly path: string
  readonly now: Seconds
}

export interface Page {
  readonly title: string
  /** What was wrong with the input: said above what was typed. */
  readonly error?: RecordError | undefined
  readonly body: Html
  /** Whatever its size: of a page with rows, texts are cut until it fits. */
  readonly isWhole?: boolean
  /** Seconds between two looks at what has changed, if the page is to follow it. */
  readonly refresh?: number | undefined
}

export const may = ({ administrator }: Visit, right: ConsoleRight): boolean =>
  administrator.can.includes(right)

/** `findAccount` gets a context of the provider. */
export const lookupOf = (ctx: Context, provider: Provider): Lookup => ({
  findAccount(name) {
    const oidc = new provider.OIDCContext(ctx)
    return findAccount(Object.assign(Object.create(ctx), { oidc }), name)
  },
  report: (error) => void ctx.app.emit('error', error, ctx),
  request: requestOf(ctx),
})
