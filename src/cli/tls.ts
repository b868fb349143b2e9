import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

/** As libpq names them. */
export const TLS_PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey']
const MODES = ['disable', 'require', 'verify-ca', 'verify-full']

/** `ssl` as node-postgres and mysql2 take it; `undefined` for a connection without TLS. */
export function readTls(
  parameters: Readonly<Record<string, string>>,
  dialect: 'postgres' | 'mysql',
  host: string,
): object | undefined {
  const { sslmode = 'disable', sslrootcert, sslcert, sslkey } = parameters
  if (!MODES.includes(sslmode)) throw new TypeError(`sslmode must be ${MODES.join(', ')}`)
  if (sslmode === 'disable') {
    const [unused] = TLS_PARAMETERS.filter((name) => name !== 'sslmode' && parameters[name] !== undefined)
    if (unused) throw new TypeError(`${unused} needs sslmode=require, verify-ca or verify-full`)
    return undefined
  }
  const files = {
    ...(sslrootcert !== undefined && { ca: read('sslrootcert', sslrootcert) }),
    ...(sslcert !== undefined && { cert: read('sslcert', sslcert) }),
    ...(sslkey !== undefined && { key: read('sslkey', sslkey) }),
  }
  // With a root certificate `require` verifies it, as libpq does.
  if (sslmode === 'require' && sslrootcert === undefined) return { ...files, rejectUnauthorized: false }
  const verified = { ...files, rejectUnauthorized: true }
  if (sslmode !== 'verify-full') {
    return dialect === 'mysql' ? verified : { ...verified, checkServerIdentity: () => undefined }
  }
  // The drivers would compare the certificate with `localhost` instead.
  if (isIP(host) || host.startsWith('/'))
    throw new TypeError('sslmode=verify-full needs the name of the host')
  return dialect === 'mysql' ? { ...verified, verifyIdentity: true } : verified
}

function read(parameter: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const code: unknown = Reflect.get(Object(error), 'code')
    throw new TypeError(`${parameter} cannot be read: ${file} (${code})`)
  }
}
