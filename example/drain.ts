/** Stops a server without cutting a request off: an exchange whose response is lost has spent its subject token. */
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'

/** Milliseconds; shorter than what a platform waits between the signal and the kill (Kubernetes: 30 s). */
const PATIENCE = 25_000

/** Call it before the server has other listeners. What it returns stops accepting connections, and finishes what is under way. */
export function drainable(server: Server): () => Promise<void> {
  const underWay = new Set<ServerResponse>()
  let draining = false
  server.on('request', (_request, response) => {
    if (draining) response.setHeader('Connection', 'close')
    underWay.add(response)
    response.once('close', () => underWay.delete(response))
  })
  return async () => {
    draining = true
    // Otherwise a client would send its next request on a connection that is about to close.
    for (const response of underWay) if (!response.headersSent) response.setHeader('Connection', 'close')
    const patience = setTimeout(() => server.closeAllConnections(), PATIENCE)
    server.close() // also closes idle connections
    await once(server, 'close')
    clearTimeout(patience)
  }
}
