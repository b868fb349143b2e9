/** Sends a request, and does not wait forever. */

/** Milliseconds. Longer than the services that are asked wait for each other. */
const PATIENCE = 15_000

/** Like `fetch`. No response in time is the same as none at all: a `TypeError`. */
export function send(url, init) {
  const controller = new AbortController()
  // It covers the body as well. When everything has arrived, it changes nothing.
  setTimeout(() => controller.abort(new TypeError('no response in time')), PATIENCE)
  return fetch(url, { ...init, signal: controller.signal })
}

/** The same, also if the page is left meanwhile. */
export const sendToTheEnd = (url, init) => send(url, { ...init, keepalive: true })

/** What a service says of a request that it did not serve: `service` is `backend` or `API`. */
export class ServiceError extends Error {
  constructor(service, status, description) {
    super(description)
    this.service = service
    this.status = status
  }
}

/** The JSON of a response, or of an error that is thrown. */
export async function bodyOf(service, response) {
  if (response.ok) return response.json()
  const { error_description } = await response.json().catch(() => ({}))
  throw new ServiceError(service, response.status, error_description ?? 'the request failed')
}
