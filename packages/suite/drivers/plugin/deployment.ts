/** A deployment of this repository as the suite sees it: what does not depend on the subject token. */
import { X509Certificate } from 'node:crypto'
import type { ClientMetadata } from 'oidc-provider'
import { CERTIFICATE, introspectingClient } from '../../../../fixtures/clients.ts'
import type { Deployment, DeploymentOverrides } from '../../../../fixtures/deployment.ts'
import type { Client, Driver } from '../../src/driver.ts'

const HEADER = 'x-client-certificate'

/** As a proxy passes on the certificate that it has verified. */
const getCertificate = (ctx: { get(name: string): string }) =>
  decodeURIComponent(ctx.get(HEADER)) || undefined

export const CONFIGURATION: DeploymentOverrides['configuration'] = {
  features: { mTLS: { enabled: true, certificateBoundAccessTokens: true, getCertificate } },
}

/** The two clients that must prove a key. */
export const boundClients = (metadata: ClientMetadata): ClientMetadata[] => [
  { ...metadata, client_id: 'dpop', dpop_bound_access_tokens: true },
  { ...metadata, client_id: 'mtls', tls_client_certificate_bound_access_tokens: true },
]

export const clientOf = ({ client_id: id, client_secret: secret }: ClientMetadata): Client => ({
  id,
  ...(secret !== undefined && { secret }),
})

export function common(deployment: Deployment, main: ClientMetadata) {
  const { issuer, tokenEndpoint } = deployment
  const [dpop, mtls] = boundClients(main).map(clientOf)
  const introspecting = clientOf(introspectingClient())
  return {
    issuer,
    tokenEndpoint,
    jwksUri: `${issuer}/jwks`,
    introspectionEndpoint: `${issuer}/token/introspection`,
    metadata: `${issuer}/.well-known/openid-configuration`,
    clients: {
      main: clientOf(main),
      withoutGrant: introspecting,
      introspecting,
      ...(dpop && { dpop }),
      ...(mtls && { mtls }),
    },
    subject: 'alice',
    certificate: {
      thumbprint: Buffer.from(
        new X509Certificate(CERTIFICATE).fingerprint256.replaceAll(':', ''),
        'hex',
      ).toString('base64url'),
      fetch: withCertificate,
    },
  } satisfies Partial<Driver>
}

const withCertificate: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers)
  headers.set(HEADER, encodeURIComponent(CERTIFICATE))
  return fetch(input, { ...init, headers })
}
