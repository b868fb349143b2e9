/** The integrator's backend. It decides; this page only asks. */
import { backendUrl } from './configuration.js'
import { engineer } from './session.js'

export class BackendError extends Error {
  constructor(status, description) {
    super(description)
    this.status = status
  }
}

/** Everybody, with whether they may be viewed and why not. */
export async function listPeople() {
  const { users } = await call('GET', '/users')
  return users
}

/** Answers `{ subjectToken, expiresIn }`. */
export const requestImpersonation = (request, send) => call('POST', '/request-impersonation', request, send)

export const endImpersonation = () => call('POST', '/end-impersonation')

export const listImpersonations = (query) => call('GET', `/impersonations?${new URLSearchParams(query)}`)

export const stopImpersonation = (id) => call('DELETE', `/impersonations/${encodeURIComponent(id)}`)

async function call(method, path, body, send = fetch) {
  const headers = { Authorization: `Bearer ${engineer()?.accessToken}` }
  if (body) headers['Content-Type'] = 'application/json'
  const response = await send(`${backendUrl}${path}`, { method, headers, body: body && JSON.stringify(body) })
  if (response.status === 204) return undefined
  const answer = await response.json().catch(() => ({}))
  if (!response.ok) throw new BackendError(response.status, answer.error_description ?? 'it failed')
  return answer
}
