/** The integrator's backend. It decides; this page only sends requests. */
import { backendUrl } from './configuration.js'
import { send as sendInTime, sendToTheEnd } from './send.js'
import { engineer } from './session.js'

export class BackendError extends Error {
  constructor(status, description) {
    super(description)
    this.status = status
  }
}

/** One page of people, each with the reason why they may not be viewed, if there is one. */
export async function listPeople(query) {
  return (await call('GET', `/users?${new URLSearchParams(query)}`)).json()
}

/** Returns the subject token, and the id of its record. */
export const requestImpersonation = (request, send) => requestToken('/request-impersonation', request, send)

/** The same, for a token that opens the shop. */
export const requestSession = (request) => requestToken('/request-session', request)

async function requestToken(path, request, send) {
  const response = await call('POST', path, request, send)
  const { subjectToken } = await response.json()
  return { subjectToken, recordId: response.headers.get('Location').split('/').at(-1) }
}

export async function listImpersonations(query) {
  return (await call('GET', `/impersonations?${new URLSearchParams(query)}`)).json()
}

export async function readImpersonation(id) {
  return (await call('GET', `/impersonations/${encodeURIComponent(id)}`)).json()
}

/** `{ open }`: the record of what this browser has started and not ended, if there is one. */
export async function readOpenView() {
  return (await call('GET', '/session')).json()
}

/**
 * Stops any impersonation, no matter who started it, and returns its record. The backend adds who stops it. The
 * engineer's own ends without a reason.
 */
export async function stopImpersonation(id, reason) {
  return (
    await call('POST', `/impersonations/${encodeURIComponent(id)}/stop`, { reason }, sendToTheEnd)
  ).json()
}

async function call(method, path, body, send = sendInTime) {
  const headers = { Authorization: `Bearer ${engineer()?.accessToken}` }
  if (body) headers['Content-Type'] = 'application/json'
  const response = await send(`${backendUrl}${path}`, { method, headers, body: body && JSON.stringify(body) })
  if (response.ok) return response
  const { error_description } = await response.json().catch(() => ({}))
  throw new BackendError(response.status, error_description ?? 'the request failed')
}
