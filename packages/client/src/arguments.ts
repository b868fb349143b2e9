/** What is sent for the arguments of a method. Those that cannot be sent are a `TypeError`, which never quotes them. */
import type { ExchangeRequest, ListRequest, OnBehalfOfRequest } from './requests.ts'

/** A request as a JSON object. */
export function jsonOf(request: object): string {
  assertRequest(request)
  let json: unknown
  try {
    json = JSON.stringify(request)
  } catch {
    // A message of JSON.stringify, or of a toJSON, may quote the context.
  }
  if (typeof json !== 'string') throw new TypeError('request must be JSON')
  return json
}

/** Filters as the query of a URL. */
export function queryOf(filters: ListRequest): string {
  assertRequest(filters)
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(filters as object)) {
    if (value === undefined) continue
    if (!['string', 'number', 'boolean'].includes(typeof value))
      throw new TypeError(`${name} must be a string, a number or a boolean`)
    query.set(name, String(value))
  }
  return query.size > 0 ? `?${query}` : ''
}

/** An id as a segment of a path. URLs resolve `..` before they are sent. */
export function segmentOf(id: string): string {
  if (typeof id !== 'string' || !/^[\w-]{1,255}$/.test(id))
    throw new TypeError('id must be the id of a record')
  return id
}

/** The parameters of an exchange. An empty actor token would count as none (RFC 6749 §3.2). */
export function assertExchange(request: ExchangeRequest): void {
  assertRequest(request)
  const { subjectToken, actorToken, resource, scope } = request
  for (const [name, value] of Object.entries({ subjectToken, actorToken })) {
    if (value === undefined && name === 'actorToken') continue
    if (typeof value !== 'string' || value === '') throw new TypeError(`${name} must be a non-empty string`)
  }
  for (const [name, value] of Object.entries({ resource, scope })) {
    if (value !== undefined && typeof value !== 'string') throw new TypeError(`${name} must be a string`)
  }
}

/** The parameters of an exchange by an API, which is the actor itself. */
export function assertOnBehalfOf(request: OnBehalfOfRequest): void {
  assertExchange(request)
  if (Reflect.get(request, 'actorToken') !== undefined) throw new TypeError('onBehalfOf takes no actorToken')
  if (!request.resource) throw new TypeError('resource must be a non-empty string')
}

/** What every method takes first, except the one that takes an id. */
export function assertRequest(request: unknown): asserts request is object {
  if (typeof request !== 'object' || request === null) throw new TypeError('request must be an object')
}
