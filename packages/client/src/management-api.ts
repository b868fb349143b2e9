import { Call } from './call.ts'
import { invalidResponse, refusalOf } from './errors.ts'
import { type ManagementScope, managementTokens } from './management-tokens.ts'
import type { ResolvedOptions } from './options.ts'
import type { RequestToken } from './token-endpoint.ts'

interface ManagementRequest {
  readonly method?: string
  /** The part of the path after `/subject-tokens`. */
  readonly path: string
  readonly json?: string
  /** The statuses after which it is sent once more, if there is a `Retry-After`. Default: 429 and 503. */
  readonly repeated?: readonly number[]
  readonly signal?: AbortSignal | undefined
}

interface ManagementResponse {
  readonly body: unknown
  readonly location: string
}

type Manage = (scope: ManagementScope, request: ManagementRequest) => Promise<ManagementResponse>

/** Requests to the management API, with a token for the scope, and once more with another if it is refused. */
export function managementApi(options: ResolvedOptions, requestToken: RequestToken): Manage {
  const tokenOf = managementTokens(options, requestToken)
  return (scope, { method = 'GET', path, json, repeated, signal }) => {
    const call = new Call(options.timeout, signal)
    const send = (token: string) =>
      call.send(
        () =>
          options.fetch(`${options.managementUrl}/subject-tokens${path}`, {
            method,
            headers: {
              accept: 'application/json',
              authorization: `Bearer ${token}`,
              ...(json && { 'content-type': 'application/json' }),
            },
            redirect: 'manual',
            signal: call.signal,
            ...(json && { body: json }),
          }),
        repeated,
      )
    return call.run(async () => {
      const token = await tokenOf(scope).get()
      let response = await send(token)
      const other = response.status === 401 ? await tokenOf(scope).replace(token) : undefined
      if (other !== undefined) {
        response.body?.cancel().catch(() => {})
        response = await send(other)
      }
      if (!response.ok) throw await refusalOf(response, token, other)
      return { body: await bodyOf(response), location: response.headers.get('location') ?? '' }
    })
  }
}

/** `undefined` where there is none. A message of the parser would quote the body, which may hold a subject token. */
async function bodyOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    throw invalidResponse(response.status, 'not JSON')
  }
}
