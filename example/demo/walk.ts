/** What every chapter of the demo uses: requests that are printed, and responses that are checked. */
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as client from 'openid-client'
import * as screen from './screen.ts'
import type { Wire } from './wire.ts'

export interface Walk {
  readonly baseUrl: string
  /** Where the shop is. */
  readonly shop: string
  readonly send: typeof fetch
  readonly wire: Wire
  /** Compares, and collects the differences. */
  check(what: string, actual: unknown, expected: unknown): void
}

/** Reads the provider's metadata. Plain HTTP is for loopback only. */
export async function connect(
  { baseUrl, send, wire }: Walk,
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
  { wire, check }: Walk,
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

/** Shows a JWT and checks its members. Verifying the signature is the resource server's task. */
export function lookInto(
  { check }: Walk,
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
