import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { KoaContextWithOIDC, OIDCContext } from 'oidc-provider'
import type { Deployment } from './module.ts'

/** A context as the deployment's functions know it, of a request that no one sent. */
export function contextOf({ provider }: Deployment['inside']): KoaContextWithOIDC {
  const request = new IncomingMessage(new Socket())
  const ctx = provider.createContext(request, new ServerResponse(request))
  const oidc: OIDCContext = new provider.OIDCContext(ctx as never)
  return Object.assign(ctx, { oidc }) as unknown as KoaContextWithOIDC
}
