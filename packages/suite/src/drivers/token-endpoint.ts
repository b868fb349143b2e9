import type { Client } from '../driver.ts'
import { credentials, form, type Parameters, send } from '../http.ts'

/** Gets an access token that the checks need. @throws {Error} that names the client if it gets none. */
export async function fetchAccessToken(
  tokenEndpoint: string,
  client: Client,
  parameters: Parameters,
): Promise<string> {
  const proof = await credentials(client)
  const { status, body } = await send(fetch, tokenEndpoint, {
    method: 'POST',
    headers: proof.headers,
    body: form({ ...proof.parameters, ...parameters }),
  })
  if (status !== 200 || typeof body?.access_token !== 'string')
    throw new Error(`${client.id} gets no access token: ${status} ${String(body?.error)}`)
  return body.access_token
}
