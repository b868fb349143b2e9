import { createHash, X509Certificate } from 'node:crypto'

/**
 * The `x5t#S256` of a client certificate (RFC 8705 §3.1): parsed, as PEM, or as the bare base64 that proxies pass on.
 * Read the way the provider reads it when it binds a token, so that both get the same value.
 */
export function certificateThumbprint(certificate: string | X509Certificate | undefined): string | undefined {
  if (!certificate) return undefined
  const der =
    certificate instanceof X509Certificate
      ? certificate.raw
      : Buffer.from(certificate.replace(/-----(BEGIN|END) CERTIFICATE-----|\s|=/g, ''), 'base64')
  return createHash('sha256').update(der).digest('base64url')
}
