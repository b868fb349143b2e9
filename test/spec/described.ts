/**
 * Compares requests with openapi.json: each response is described, and the management API takes and refuses the same.
 */
import { expect } from 'chai'
import type { HttpResponse } from '../../fixtures/http.ts'
import { description, type Json } from '../../fixtures/openapi.ts'

interface Request {
  readonly method: string
  /** What follows `/api/subject-tokens`, with its query. */
  readonly path: string
  readonly body?: unknown
}

const { document, faultsOf, flat, schemaFaults } = description()

const ROUTES = Object.keys(document.paths)
  .filter((route) => route.startsWith('/subject-tokens'))
  .map((route) => ({
    route,
    pattern: new RegExp(`^${route.replace('/subject-tokens', '').replace('{id}', '[^/]+')}$`),
  }))
  // The names of paths stand before ids.
  .sort((one, other) => Number(one.route.endsWith('{id}')) - Number(other.route.endsWith('{id}')))

/** Refused before the query and the body are read. */
const UNREAD = [401, 403, 405, 413, 415]
/** What the description says in words, or what depends on the deployment. */
const BEYOND_SCHEMAS = {
  query: /must not be repeated|must not come with|is required|the query is malformed/,
  body: /the body must be JSON|clientId must be|must be the id of (another|a read-only) record|context|actorId must not be the user/,
}

/** A response of the token endpoint to an exchange. */
export function expectExchangeDescribed(response: HttpResponse): void {
  expect(faultsOf('POST', '/token', response), response.text).to.deep.equal([])
}

/** A request that the API refuses as malformed is one that the description refuses, and the other way round. */
export function expectDescribed(request: Request, response: HttpResponse): void {
  const [path = '', query = ''] = request.path.split('?')
  const { route } = ROUTES.find(({ pattern }) => pattern.test(path)) ?? {}
  if (route === undefined) return
  const { method, body } = request
  const said = `openapi.json: ${method} ${request.path} ${response.status} ${response.text}`
  expect(faultsOf(method, route, response), said).to.deep.equal([])
  const operation = document.paths[route][method === 'HEAD' ? 'get' : method.toLowerCase()]
  if (!operation || UNREAD.includes(response.status)) return
  const inPath = route.includes('{id}') ? schemaFaults('#/components/schemas/Id', path.split('/')[1]) : []
  if (inPath.length > 0) {
    expect(response.status, said).to.be.oneOf([400, 404])
    return
  }
  const { requestBody, parameters = [] } = operation
  const faults = [
    ...queryFaults(query, parameters),
    ...(requestBody ? bodyFaults(body, requestBody.content['application/json'].schema.$ref) : []),
  ]
  const [, longest] = /expiresIn must be whole seconds from 1 to (\d+)/.exec(response.text) ?? []
  const isBeyond =
    BEYOND_SCHEMAS[requestBody ? 'body' : 'query'].test(response.text) ||
    Reflect.get(Object(body), 'expiresIn') > Number(longest)
  if (faults.length > 0) expect(response.status, `${said}: ${faults}`).to.be.oneOf([400, 404])
  else if (!isBeyond) expect(response.status, said).not.to.equal(400)
}

function queryFaults(query: string, parameters: readonly Json[]): string[] {
  return [...new URLSearchParams(query)].flatMap(([name, text]) => {
    const known = parameters.find(({ $ref }) => parameterOf($ref).name === name)
    if (!known) return [`${name} is unknown`]
    const { type } = flat(parameterOf(known.$ref).schema)
    const isNumber = type === 'integer' && String(Number(text)) === text
    return schemaFaults(`${known.$ref}/schema`, isNumber ? Number(text) : text)
  })
}
const parameterOf = ($ref: string): Json => document.components.parameters[$ref.split('/').at(-1) ?? '']

/** As JSON escapes it. */
const HALF_A_CHARACTER = /\\ud[89a-f]/

function bodyFaults(body: unknown, pointer: string): string[] {
  try {
    const value: unknown = JSON.parse(typeof body === 'string' ? body : JSON.stringify(body))
    // Which no schema can say.
    if (HALF_A_CHARACTER.test(JSON.stringify(value))) return ['it has half a character']
    return schemaFaults(pointer, value)
  } catch {
    return ['it is not JSON']
  }
}
