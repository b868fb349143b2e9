/** The accounts that `findAccount` of the deployment knows, and the requests in which it is asked for them. */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Context } from 'koa'
import type { Account, OIDCContext, Provider } from 'oidc-provider'

/** Makes a request one of the provider: functions of the deployment get the context that they know from its own endpoints. */
export const inProvider = (provider: Provider, ctx: Context): Context & { oidc: OIDCContext } =>
  Object.assign(ctx, { oidc: new provider.OIDCContext(ctx) })

/** A request that no one has sent. */
export function unsentRequest(provider: Provider): ReturnType<typeof inProvider> {
  const request = new IncomingMessage(new Socket())
  return inProvider(provider, provider.createContext(request, new ServerResponse(request)))
}

/** Whether it is the account of exactly this id: for an alias, `findAccount` returns the account of another one. */
export const isAccountOf = (account: Account | undefined, id: string): account is Account =>
  account?.accountId === id

/** @throws what `refused` returns, if there is no account of exactly this id. */
export async function getAccount(
  id: string,
  find: (id: string) => Promise<Account | undefined>,
  refused: () => Error,
): Promise<Account> {
  const account = await find(id)
  if (!isAccountOf(account, id)) throw refused()
  return account
}
