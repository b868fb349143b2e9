/** The events of the plugin, as an audit log. They hold ids, never tokens. */
import type { Provider } from 'oidc-provider'
import { EVENTS } from '../src/index.ts' // yours: 'oidc-provider-impersonation'

export function logEvents(provider: Provider, log: (entry: object) => void): void {
  for (const event of EVENTS) provider.on(event, (payload) => log({ event, ...payload }))
  // The client only gets a bare 500; the reason is for the operator.
  provider.on('server_error', (_ctx, error) => console.error(error))
}
