import type { Context } from 'koa'
import type { Provider } from 'oidc-provider'
import type { Seconds } from '../clock.ts'
import type { Lookup } from '../management/account-ids.ts'
import type { SubjectTokenRecord } from '../management/inspect.ts'
import type { ManagementService } from '../management/service.ts'
import { findAccount } from '../provider/grants.ts'
import type { Revocation } from '../subject-tokens/subject-token.ts'
import type { Administrator, ResolvedConsoleOptions } from './options.ts'
import { type Names, namesOf } from './people.ts'

/** One request of an administrator, as the pages see it. */
export interface Visit {
  readonly ctx: Context
  readonly service: ManagementService
  readonly options: ResolvedConsoleOptions
  readonly administrator: Administrator
  /** What every address of the console begins with, as the browser knows it. */
  readonly base: string
  readonly now: Seconds
  readonly lookup: Lookup
}

/** `findAccount` gets a context of the provider. */
export function lookupOf(ctx: Context, provider: Provider): Lookup {
  return {
    findAccount(name) {
      const oidc = new provider.OIDCContext(ctx)
      return findAccount(Object.assign(Object.create(ctx), { oidc }), name)
    },
    report: (error) => void ctx.app.emit('error', error, ctx),
  }
}

/** Names of the people in these records, and of the administrator. */
export const namesIn = (
  { options, administrator, lookup }: Visit,
  records: readonly SubjectTokenRecord[],
  others: readonly string[] = [],
): Promise<Names> =>
  namesOf(options.nameOf, [administrator.id, ...others, ...records.flatMap(peopleOf)], lookup.report)

function peopleOf({ userId, actorId, actor, revocation }: SubjectTokenRecord): (string | undefined)[] {
  const people = [userId, actorId, revocation?.by]
  for (let link = actor as SubjectTokenRecord['actor'] | undefined; link; link = link.act)
    people.push(link.sub)
  return people
}

/** What is recorded of a stop, before the reason. */
export const byConsole = ({ administrator }: Visit): Revocation => ({
  cause: 'console',
  by: administrator.id,
})
