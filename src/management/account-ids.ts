import { callDeployment } from '../callbacks/call.ts'
import type { Seconds } from '../clock.ts'
import { isStorableName } from '../plain-json.ts'
import { findAccount } from '../provider/grants.ts'
import type { KillFilter, SubjectTokenFilter } from '../subject-tokens/store.ts'
import type { ManagementContext } from './authenticate.ts'

/** The filter of a list, extended by the accounts that its names are aliases of. */
export async function withAccounts(
  ctx: ManagementContext,
  filter: SubjectTokenFilter,
  timeLimit: Seconds,
): Promise<SubjectTokenFilter> {
  const extended = async (names: SubjectTokenFilter['userId']) => {
    if (!names) return undefined
    const account = await accountBehind(ctx, names[0], timeLimit)
    return account === undefined ? names : ([...names, account] as const)
  }
  const [userId, actorId] = await Promise.all([extended(filter.userId), extended(filter.actorId)])
  return { ...filter, ...(userId && { userId }), ...(actorId && { actorId }) }
}

/** The same kill switch for the account that its name is an alias of; `undefined` where there is none. */
export async function forAccount(
  ctx: ManagementContext,
  filter: KillFilter,
  timeLimit: Seconds,
): Promise<KillFilter | undefined> {
  if ('createdBy' in filter) return undefined
  const name = 'userId' in filter ? filter.userId : filter.actorId
  const account = await accountBehind(ctx, name, timeLimit)
  if (account === undefined) return undefined
  return 'userId' in filter ? { userId: account } : { actorId: account }
}

/**
 * The account id that `findAccount` returns for a name, where it is another one. A function that fails or takes too
 * long is as one that knows nothing, because it must not hide what the name itself finds; the operator is told.
 */
async function accountBehind(
  ctx: ManagementContext,
  name: string,
  timeLimit: Seconds,
): Promise<string | undefined> {
  try {
    const account = await callDeployment('findAccount', timeLimit, () => findAccount(ctx, name))
    const id = account?.accountId
    return id !== name && isStorableName(id) ? id : undefined
  } catch (error) {
    ctx.app.emit('error', error, ctx)
    return undefined
  }
}
