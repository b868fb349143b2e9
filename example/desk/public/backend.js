/** The integrator's backend. It decides; this page only sends requests. */
import { backendUrl } from './configuration.js'
import { bodyOf, send as sendInTime, sendToTheEnd } from './send.js'
import { engineer } from './session.js'

/** One page of people, each with the reason why they may not be viewed, if there is one. */
export const listPeople = (query) => read(`/users?${new URLSearchParams(query)}`)

/** Returns the subject token, and the id of its record. */
export const requestImpersonation = (request, send) => requestToken('/request-impersonation', request, send)

/** The same, for a token that opens the shop. */
export const requestSession = (request) => requestToken('/request-session', request)

async function requestToken(path, request, send) {
  const response = await call('POST', path, request, send)
  const { subjectToken } = await bodyOf('backend', response)
  return { subjectToken, recordId: response.headers.get('Location').split('/').at(-1) }
}

export const listImpersonations = (query) => read(`/impersonations?${new URLSearchParams(query)}`)

export const readImpersonation = (id) => read(`/impersonations/${encodeURIComponent(id)}`)

/** `{ open }`: the record of what this browser has started and not ended, if there is one. */
export const readOpenView = () => read('/session')

/**
 * Stops any impersonation, no matter who started it, and returns its record. The backend adds who stops it. The
 * engineer's own ends without a reason.
 */
export async function stopImpersonation(id, reason) {
  const path = `/impersonations/${encodeURIComponent(id)}/stop`
  return bodyOf('backend', await call('POST', path, { reason }, sendToTheEnd))
}

const read = async (path) => bodyOf('backend', await call('GET', path))

function call(method, path, body, send = sendInTime) {
  const headers = { Authorization: `Bearer ${engineer()?.accessToken}` }
  if (body) headers['Content-Type'] = 'application/json'
  return send(`${backendUrl}${path}`, { method, headers, body: body && JSON.stringify(body) })
}
