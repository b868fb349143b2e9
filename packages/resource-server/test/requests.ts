/** What reads and what writes (docs/protocol.md §11): the same requests for APIs and for applications. */
import { rawRequest } from '../../../fixtures/raw-request.ts'
import type { NodeRequest } from '../src/index.ts'

/** The beginning of the first line, and headers. */
export type Head = readonly string[]

export const READS: readonly Head[] = ['GET', 'HEAD', 'OPTIONS'].map((method) => [`${method} /`])
export const OVERRIDES = ['X-HTTP-Method-Override: DELETE', 'x-http-method: GET', 'X-METHOD-OVERRIDE:']
export const WRITES: readonly Head[] = [
  ...['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY'].map((method) => [`${method} /`]),
  ['GET /', 'Upgrade: websocket'],
  ['GET /', 'Upgrade: h2c', 'Connection: Upgrade'],
  ...OVERRIDES.flatMap((header) => [
    ['GET /', header],
    ['HEAD /', header],
  ]),
]

/** Requests that no one sends, and that code may hand over. They write. */
export const ODD: Readonly<Record<string, Partial<NodeRequest>>> = {
  'without a method': {},
  'whose method is written small': { method: 'get' },
  'with an empty method': { method: '' },
  'with several overrides': { method: 'GET', headers: { 'x-http-method': ['GET', 'GET'] } },
}

/** Sends it with more headers. A response to HEAD has no body. */
export async function send(baseUrl: string, [start, ...headers]: Head, ...more: string[]) {
  const text = await rawRequest(baseUrl, [`${start} HTTP/1.1`, 'Host: app', ...headers, ...more])
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text, hasBody: !start?.startsWith('HEAD') }
}
