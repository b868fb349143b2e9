/** The provider as its clients with a secret see it. The backend and the shop would each have this in a program of their own. */
import * as client from 'openid-client'

interface Registered {
  readonly client_id: string
  readonly client_secret: string
}

/** Reads its metadata once. A failure is not kept. `patience` in seconds. */
export function discoverOnce(
  issuer: string,
  { client_id: id, client_secret: secret }: Registered,
  patience: number,
): () => Promise<client.Configuration> {
  let found: Promise<client.Configuration> | undefined
  const options = { execute: [client.allowInsecureRequests], timeout: patience } // plain HTTP: for loopback only
  return () => {
    found ??= client
      .discovery(new URL(issuer), id, undefined, client.ClientSecretBasic(secret), options)
      .catch((error) => {
        found = undefined
        throw error
      })
    return found
  }
}
