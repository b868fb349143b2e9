/** What every chapter of the demo uses: requests that are printed, and responses that are checked. */
import { setTimeout } from 'node:timers/promises'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as client from 'openid-client'
import * as promises from './promises.ts'
import * as screen from './screen.ts'
import type { Wire } from './wire.ts'

/** How requests are sent, and what becomes of the responses. */
export interface Way {
  readonly baseUrl: string
  /** Where the shop is. */
  readonly shop: string
  readonly send: typeof fetch
  readonly wire: Wire
  /** Compares, and collects the differences. */
  check(what: string, actual: unknown, expected: unknown): void
}

/** The applications that send them, and what they are about. */
export interface Walk extends Way {
  readonly desk: client.Configuration
  readonly backend: client.Configuration
  readonly managementToken: string
  readonly who: promises.Impersonated
}

/** Reads the provider's metadata. Plain HTTP is for loopback only. */
export async function connect(
  { baseUrl, send, wire }: Way,
  clientId: string,
  authentication: client.ClientAuth,
): Promise<client.Configuration> {
  const config = await client.discovery(new URL(`${baseUrl}/oidc`), clientId, undefined, authentication, {
    execute: [client.allowInsecureRequests],
    [client.customFetch]: (url, options) => send(url, options as RequestInit),
  })
  config[client.customFetch] = wire.fetch
  return config
}

/** Sends a request and checks the raw response, no matter what the client library makes of it. */
export async function expecting<Result>(
  { wire, check }: Way,
  what: string,
  promise: object,
  send: () => Promise<Result>,
): Promise<Result> {
  try {
    return await send()
  } finally {
    check(what, wire.last(), promise)
  }
}

interface Managing {
  /** What follows `/api/subject-tokens`. */
  readonly path?: string
  readonly body?: object
}

/** The backend calls the management API. */
function manage(
  given: Walk,
  what: string,
  promise: object,
  { path = '', body }: Managing,
): Promise<Response> {
  const { baseUrl, backend, managementToken } = given
  const url = new URL(`${baseUrl}/api/subject-tokens${path}`)
  const [method, json] = body ? ['POST', JSON.stringify(body)] : ['GET']
  const headers = new Headers(body && { 'content-type': 'application/json' })
  return expecting(given, what, promise, () =>
    client.fetchProtectedResource(backend, managementToken, url, method, json, headers),
  )
}

/** Resolves to the subject token, and to the id of its record. */
export async function issue(given: Walk, what: string, promise: object, more: object = {}) {
  const { userId, actorId, clientId, reason, ticketId } = given.who
  const body = { ...more, userId, actorId, clientId, readOnly: true, context: { reason, ticketId } }
  const response = await manage(given, what, promise, { body })
  const { subjectToken } = (await response.json()) as { readonly subjectToken: string }
  return { subjectToken, id: response.headers.get('location')?.split('/').at(-1) ?? '' }
}

export const stop = (given: Walk, id: string): Promise<Response> =>
  manage(given, 'revocation response', promises.revocationResponse, {
    path: '/revocations',
    body: { id, ...promises.STOP },
  })

export const showRecord = (given: Walk, id: string, what: string, promise: object): Promise<Response> =>
  manage(given, what, promise, { path: `/${id}` })

/** Shows a JWT and checks its members. Verifying the signature is the resource server's task. */
export function lookInto(
  { check }: Way,
  what: string,
  jwt: string,
  promise: object,
  marks?: Readonly<Record<string, string>>,
): void {
  const claims = decodeJwt(jwt)
  const decoded = {
    header: decodeProtectedHeader(jwt),
    claims,
    life: Number(claims.exp) - Number(claims.iat),
  }
  screen.token(what, claims, marks)
  check(what, decoded, promise)
}

/** Asks several times a second, without showing it, for so many seconds. */
export async function until(isSo: () => Promise<boolean>, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000
  while (performance.now() < end && !(await isSo())) await setTimeout(250)
}
