/** Prints requests and responses, and keeps the last response as it was before a client library read it. */
import type { CustomFetch } from 'openid-client'
import * as screen from './screen.ts'

/** The parts of a response that are checked. Absent headers are left out. */
interface Received {
  readonly status: number
  readonly cacheControl?: string
  readonly location?: string
  readonly body: unknown
}

export interface Wire {
  readonly fetch: CustomFetch
  last(): Received | undefined
}

export function openWire(send: typeof fetch): Wire {
  let last: Received | undefined
  return {
    last: () => last,
    async fetch(url, { method, headers, body, redirect, signal }) {
      last = undefined
      screen.request({
        method,
        url: new URL(url),
        authorization: new Headers(headers).get('authorization') ?? undefined,
        body: body instanceof URLSearchParams || typeof body === 'string' ? body : undefined,
      })
      const response = await send(url, {
        method,
        headers,
        body: body as RequestInit['body'],
        redirect,
        signal,
      })
      last = await read(response.clone())
      screen.response(last.status, last.body)
      return response
    },
  }
}

async function read(response: Response): Promise<Received> {
  const cacheControl = response.headers.get('cache-control')
  const location = response.headers.get('location')
  return {
    status: response.status,
    ...(cacheControl !== null && { cacheControl }),
    ...(location !== null && { location }),
    body: await response.json(),
  }
}
