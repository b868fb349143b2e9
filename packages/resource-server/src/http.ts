/** Requests to the provider: no redirect, a time limit, a bounded body, and nothing of them in an error. */
import { readUpTo, TooLong } from './bounded.ts'
import { ProviderUnavailable } from './errors.ts'
import type { VerifierOptions } from './options.ts'
import type { Seconds } from './time.ts'

interface ProviderRequest {
  /** The document that is requested, in the words of an error's `reason`. */
  readonly what: string
  readonly url: string
  readonly accept: string
  /** Longest body of the response, in bytes. */
  readonly limit: number
  readonly timeout: Seconds
  /** Makes it a POST of a form. */
  readonly form?: { readonly authorization: string; readonly body: URLSearchParams }
}

/** Resolves to the body of a 200. @throws {ProviderUnavailable} for anything else. */
export type Send = (request: ProviderRequest) => Promise<string>

export function sender(fetch: NonNullable<VerifierOptions['fetch']>): Send {
  return async (request) => {
    const signal = AbortSignal.timeout(Math.ceil(request.timeout * 1000))
    try {
      return await Promise.race([exchange(fetch, request, signal), aborted(signal)])
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw error
      throw new ProviderUnavailable(
        `${request.what}: ${signal.aborted ? 'no response in time' : reasonOf(error)}`,
      )
    }
  }
}

async function exchange(
  fetch: NonNullable<VerifierOptions['fetch']>,
  { what, url, accept, limit, form }: ProviderRequest,
  signal: AbortSignal,
): Promise<string> {
  const response = await fetch(url, {
    method: form ? 'POST' : 'GET',
    headers: { accept, ...(form && { authorization: form.authorization }) },
    // Workers know `manual` and not `error`. Where a browser's rules apply, a redirect then has status 0.
    redirect: 'manual',
    signal,
    ...(form && { body: form.body }),
  })
  if (response.status !== 200) {
    response.body?.cancel().catch(() => {})
    throw new ProviderUnavailable(`${what}: HTTP status ${response.status}`)
  }
  const bytes = response.body ? await readUpTo(limit, response.body) : new Uint8Array()
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

/** A `fetch` that does not honour its signal must not keep a request waiting either. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** Only codes of the system pass: what a `fetch` of the API's own puts into a message may hold the request. */
function reasonOf(error: unknown): string {
  if (error instanceof TooLong) return error.message
  const codes = [error, Reflect.get(Object(error), 'cause')].map((thrown) =>
    Reflect.get(Object(thrown), 'code'),
  )
  const code = codes.find((value) => typeof value === 'string' && /^[A-Z][A-Z_]{2,50}$/.test(value))
  return code === undefined ? 'the request failed' : String(code)
}
