import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Client, OIDCContext } from 'oidc-provider'
import type { ExchangeContext } from '../../exchange/request.ts'
import type { Deployment } from './module.ts'

type Parameters = Readonly<Record<string, string | undefined>>

/** The context of a request of this client to the token endpoint, which no one sent. */
export function contextOf(
  { provider }: Deployment['inside'],
  client?: Client,
  params: Parameters = {},
): ExchangeContext {
  const request = new IncomingMessage(new Socket())
  const ctx = provider.createContext(request, new ServerResponse(request))
  const oidc: OIDCContext = new provider.OIDCContext(ctx as never)
  Object.assign(oidc, { route: 'token', params: { ...params }, body: params })
  if (client) oidc.entity('Client', client)
  return Object.assign(ctx, { oidc }) as unknown as ExchangeContext
}
