/** The parameters that are sent for a method's arguments. One that cannot be sent is a `TypeError`, which never quotes it. */
import type {
  AcknowledgeRequest,
  CallOptions,
  ExchangeRequest,
  IssueRequest,
  IssueSessionRequest,
  ListRequest,
  OnBehalfOfRequest,
  StopRequest,
} from './requests.ts'

/** Every member of a request: the compiler finds one that is missing. */
type Members<Request> = Readonly<Record<keyof Request, true>>

const ISSUE: Members<IssueRequest> = {
  ...{ userId: true, context: true, clientId: true, actorId: true },
  ...{ resource: true, scope: true, readOnly: true, expiresIn: true, use: true },
}
const ISSUE_SESSION: Members<IssueSessionRequest> = {
  ...{ userId: true, actorId: true, clientId: true },
  ...{ context: true, scope: true, readOnly: true, expiresIn: true },
}
const LIST: Members<ListRequest> = {
  ...{ userId: true, actorId: true, clientId: true, createdBy: true, state: true },
  ...{ live: true, replayed: true, withoutActor: true, readOnly: true },
  ...{ createdAfter: true, createdBefore: true },
  ...{ jti: true, ticketId: true, unacknowledged: true, limit: true, cursor: true },
}
const STOP: Members<StopRequest> = {
  ...{ id: true, userId: true, actorId: true, createdBy: true },
  ...{ by: true, reason: true, cause: true, continuedBy: true },
}
const ACKNOWLEDGE: Members<AcknowledgeRequest> = { by: true, note: true, replayedAt: true }
const EXCHANGE: Members<ExchangeRequest> = {
  ...{ subjectToken: true, actorToken: true },
  ...{ resource: true, scope: true },
}

/** A subject token that is requested, as JSON. */
export const issueJson = (request: IssueRequest): string => jsonOf(request, ISSUE)

/** A subject token that opens an application, as JSON. */
export const issueSessionJson = (request: IssueSessionRequest): string =>
  jsonOf(request, ISSUE_SESSION, { use: 'session' })

/** The body of a request to stop. */
export function stopJson(request: StopRequest): string {
  const json = jsonOf(request, STOP)
  if (request.id !== undefined) assertId(request.id)
  return json
}

/** The body of an acknowledgement. */
export const acknowledgeJson = (request: AcknowledgeRequest): string => jsonOf(request, ACKNOWLEDGE)

function jsonOf(request: object, known: object, more?: object): string {
  assertRequest(request)
  assertKnown(request, known)
  let json: unknown
  try {
    json = JSON.stringify(more ? { ...request, ...more } : request)
  } catch {
    // A message of JSON.stringify, or of a toJSON, may quote the context.
  }
  if (typeof json !== 'string') throw new TypeError('request must be JSON')
  return json
}

/** Filters as the query of a URL. */
export function queryOf(filters: ListRequest): string {
  assertRequest(filters)
  assertKnown(filters, LIST)
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(filters as object)) {
    if (value === undefined) continue
    if (!['string', 'number', 'boolean'].includes(typeof value))
      throw new TypeError(`${name} must be a string, a number or a boolean`)
    query.set(name, String(value))
  }
  return query.size > 0 ? `?${query}` : ''
}

/** In a path, another text would lead elsewhere: `summary`, or `..`, which URLs resolve before they are sent. */
export function assertId(id: unknown): void {
  if (typeof id !== 'string' || !/^[0-9a-f]{32}$/.test(id))
    throw new TypeError('id must be the id of a record: 32 lower-case hexadecimal digits')
}

/** The parameters of an exchange. An empty actor token would count as none (RFC 6749 §3.2). */
export function assertExchange(request: ExchangeRequest): void {
  assertRequest(request)
  assertKnown(request, EXCHANGE)
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

/** The first argument of every method, except the one that takes an id. */
export function assertRequest(request: unknown): asserts request is object {
  if (typeof request !== 'object' || request === null) throw new TypeError('request must be an object')
}

/** The second argument of every method. */
export function signalOf(options: CallOptions = {}): AbortSignal | undefined {
  const given: unknown = options
  if (typeof given !== 'object' || given === null || given instanceof AbortSignal)
    throw new TypeError('options must be an object with the member signal')
  assertKnown(options, { signal: true }, 'option')
  return options.signal
}

/** One that is ignored would promise something. Its name is repeated if it is shorter than any token. */
function assertKnown(given: object, known: object, what = 'member'): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name))
  if (unknown === undefined) return
  throw new TypeError(/^[\w.-]{1,32}$/.test(unknown) ? `unknown ${what}: ${unknown}` : `unknown ${what}`)
}
