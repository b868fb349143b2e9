import type { Account } from 'oidc-provider'
import type { Seconds } from '../base/clock.ts'
import { isStorableName } from '../base/json.ts'
import { callDeployment } from '../provider/deployment-functions.ts'
import type { KillFilter, SubjectTokenFilter } from '../tokens/store.ts'

/** How the accounts behind names are found. */
export interface Lookup {
  /** The account that the deployment knows by this name. */
  findAccount(name: string): Promise<Account | undefined>
  /** Reports a failure to the operator that does not fail the request. */
  report(error: unknown): void
  /** The request's own id, if there is a request and it has one. */
  readonly request?: string | undefined
}

/** Who asks, and whose request it is. */
export interface Caller extends Lookup {
  /** Who is named as `createdBy` of what it issues. */
  readonly id: string
}

/** The filter of a list, extended by the accounts that its names are aliases of. */
export async function withAccounts(
  lookup: Lookup,
  filter: SubjectTokenFilter,
  timeLimit: Seconds,
): Promise<SubjectTokenFilter> {
  const extended = async (names: SubjectTokenFilter['userId']) => {
    if (!names) return undefined
    const account = await accountBehind(lookup, names[0], timeLimit)
    return account === undefined ? names : ([...names, account] as const)
  }
  const [userId, actorId] = await Promise.all([extended(filter.userId), extended(filter.actorId)])
  return { ...filter, ...(userId && { userId }), ...(actorId && { actorId }) }
}

/** The kill switch for the account behind an alias; `undefined` where the name is none. */
export async function forAccount(
  lookup: Lookup,
  filter: KillFilter,
  timeLimit: Seconds,
): Promise<KillFilter | undefined> {
  if ('createdBy' in filter) return undefined
  const name = 'userId' in filter ? filter.userId : filter.actorId
  const account = await accountBehind(lookup, name, timeLimit)
  if (account === undefined) return undefined
  return 'userId' in filter ? { userId: account } : { actorId: account }
}

/**
 * The account id that `findAccount` returns for a name, where it is another one. A function that fails or takes too
 * long counts as one that knows no account, because it must not hide what the name itself finds. The operator is told.
 */
async function accountBehind(lookup: Lookup, name: string, timeLimit: Seconds): Promise<string | undefined> {
  try {
    const account = await callDeployment('findAccount', timeLimit, () => lookup.findAccount(name))
    const id = account?.accountId
    return id !== name && isStorableName(id) ? id : undefined
  } catch (error) {
    lookup.report(error)
    return undefined
  }
}
