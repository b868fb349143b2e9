/**
 * A small authorization server that knows token exchange, and can be told to get things wrong. For tests only.
 * `handle` is all of it; `listen` puts it behind a socket.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { exchange } from './exchange.ts'
import { introspect, metadata } from './introspection.ts'
import { BadProof } from './proofs.ts'
import type { State } from './state.ts'
import { Refused } from './subject.ts'

interface NaiveRequest {
  readonly method: string
  readonly url: string
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

interface NaiveResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' }

const json = (status: number, body: unknown, headers = {}): NaiveResponse => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

async function handle(state: State, request: NaiveRequest): Promise<NaiveResponse> {
  const { pathname, searchParams } = new URL(request.url, 'http://naive')
  const isQuery = state.faults.has('query-accepted')
  const form = new URLSearchParams(request.body)
  if (isQuery) for (const [name, value] of searchParams) form.append(name, value)
  switch (`${request.method} ${pathname}`) {
    case 'GET /jwks':
      return json(200, { keys: [state.publicJwk] })
    case 'GET /metadata':
      return json(200, metadata(state))
    case 'POST /introspect':
      return introspected(state, request, form)
    case 'POST /token':
      return token(state, request, form)
    case 'GET /token':
      if (isQuery) return token(state, request, form)
  }
  return json(404, { error: 'not_found' })
}

function introspected(state: State, { headers }: NaiveRequest, form: URLSearchParams): NaiveResponse {
  const claims = introspect(state, headers, form)
  const caching = state.faults.has('introspection-cached') ? {} : NO_STORE
  return claims ? json(200, claims, caching) : json(401, { error: 'invalid_client' }, NO_STORE)
}

async function token(state: State, request: NaiveRequest, form: URLSearchParams): Promise<NaiveResponse> {
  const { faults } = state
  try {
    const body = await exchange(state, form, request.headers)
    const type = faults.has('response-form') ? { 'content-type': 'text/plain' } : {}
    const { pragma, ...withoutPragma } = NO_STORE
    const caching = faults.has('no-pragma') ? withoutPragma : { ...withoutPragma, pragma }
    return json(200, body, { ...(!faults.has('response-cached') && caching), ...type })
  } catch (error) {
    if (error instanceof BadProof) return refusal(state, form, new Refused('invalid_dpop_proof'))
    if (error instanceof Refused) return refusal(state, form, error)
    return { status: 500, headers: {}, body: String(error) }
  }
}

function refusal({ faults }: State, form: URLSearchParams, error: Refused): NaiveResponse {
  const headers = {
    ...(!faults.has('error-cached') && NO_STORE),
    ...(error.status === 401 && { 'www-authenticate': 'Basic realm="naive"' }),
  }
  if (faults.has('html-error') && error.code === 'unsupported_grant_type')
    return { status: 404, headers: { 'content-type': 'text/html' }, body: '<h1>Not found</h1>' }
  const code = codeOf(faults, error)
  const type = faults.has('error-form') ? { 'content-type': 'text/plain' } : {}
  const forbidden = faults.has('forbidden-target') && error.code === 'invalid_target'
  return json(
    forbidden ? 403 : error.status,
    { error: code, error_description: description(faults, form, error) },
    { ...headers, ...type },
  )
}

function codeOf(faults: State['faults'], { code, isToken }: Refused): string {
  if (faults.has('invalid-grant') && isToken) return 'invalid_grant'
  return faults.has('one-code') && code !== 'invalid_client' ? 'invalid_request' : code
}

function description(faults: State['faults'], form: URLSearchParams, error: Refused): string {
  if (faults.has('oracle')) return error.why
  if (faults.has('token-in-error'))
    return `invalid: ${(form.get('subject_token') ?? '').slice(0, 60).replaceAll(/[^\w-]/g, '')}`
  if (faults.has('stack-in-error')) return 'failed at Object.exchange (node_modules/naive/index.js)'
  if (faults.has('quotes-in-error')) return `"${error.code}"`
  return 'the request was refused'
}

/** Serves it on 127.0.0.1, and returns how to stop. */
export async function listen(state: State): Promise<() => Promise<void>> {
  const server = createServer(async (request, response) => {
    const { status, headers, body } = await handle(state, await read(request))
    response.writeHead(status, headers)
    response.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('not listening on a port')
  state.issuer = `http://127.0.0.1:${address.port}`
  return async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
}

async function read(request: IncomingMessage): Promise<NaiveRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const headers = Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')])
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    headers: Object.fromEntries(headers),
    body: Buffer.concat(chunks).toString(),
  }
}

/** The same server without a socket: what `fetch` would do, for the many runs of the self-test. */
export const directFetch =
  (state: State): typeof fetch =>
  async (input, init = {}) => {
    const { status, headers, body } = await handle(state, {
      method: init.method ?? 'GET',
      url: String(input),
      headers: Object.fromEntries(new Headers(init.headers)),
      body: String(init.body ?? ''),
    })
    return new Response(body, { status, headers })
  }
