/** HTTP as the suite speaks it: what goes out, and what comes back. */
import type { Client } from './driver.ts'

/** `null` leaves a parameter out, an array repeats it. */
export type Parameters = Readonly<Record<string, string | readonly string[] | null | undefined>>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body, if it is a JSON object. How it is declared is a check of its own. */
  readonly body: Readonly<Record<string, unknown>> | undefined
}

const PATIENCE = 15_000

export async function send(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit = {},
): Promise<Answer> {
  const response = await fetch(url, {
    redirect: 'manual',
    signal: AbortSignal.timeout(PATIENCE),
    ...init,
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: jsonObject(text) }
}

function jsonObject(text: string): Answer['body'] {
  try {
    const body = JSON.parse(text)
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? body : undefined
  } catch {
    return undefined
  }
}

export function form(parameters: Parameters): URLSearchParams {
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of typeof value === 'string' ? [value] : (value ?? [])) body.append(name, one)
  }
  return body
}

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

/** The parts that a client adds to a request in order to authenticate. */
export async function credentials(
  client: Client,
): Promise<{ headers: Readonly<Record<string, string>>; parameters: Readonly<Record<string, string>> }> {
  if (client.authenticate) {
    const { headers = {}, parameters = {} } = await client.authenticate()
    return { headers, parameters }
  }
  if (client.secret === undefined) return { headers: {}, parameters: { client_id: client.id } }
  const pair = `${formEncoded(client.id)}:${formEncoded(client.secret)}`
  return {
    headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
    parameters: {},
  }
}
