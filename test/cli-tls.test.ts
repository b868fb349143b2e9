/** The command line over TLS, against a server with a certificate of a CA that nothing else trusts. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { startMariadb } from '../fixtures/mariadb.ts'
import type { OwnServer } from '../fixtures/server-process.ts'
import { connect } from '../src/cli/connect.ts'

describe('oidc-impersonation over TLS, on mysql', () => {
  let folder: string
  let server: OwnServer | undefined
  before(async function () {
    this.timeout(90_000)
    folder = mkdtempSync(path.join(tmpdir(), 'impersonation-tls-'))
    chmodSync(folder, 0o755)
    makeCertificate(folder)
    const file = (name: string) => path.join(folder, name)
    server = await startMariadb({ args: [`--ssl-cert=${file('cert.pem')}`, `--ssl-key=${file('key.pem')}`] })
    if (!server) this.skip()
  })
  after(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true })
  })

  /** The cipher of a connection, `''` without TLS, or what was thrown. */
  async function cipher(host: string, parameters: string): Promise<unknown> {
    const url = new URL(server?.url ?? '')
    url.hostname = host
    const sequelize = connect(`${url.href}${parameters}`)
    try {
      const [row] = await sequelize.query<{ Value: string }>("SHOW SESSION STATUS LIKE 'Ssl_cipher'", {
        type: QueryTypes.SELECT,
      })
      return row?.Value
    } catch (error) {
      return error
    } finally {
      await sequelize.close()
    }
  }
  const ca = () => `sslrootcert=${path.join(folder, 'cert.pem')}`

  it('is not used unless asked for', async () => {
    expect(await cipher('127.0.0.1', '')).to.equal('')
  })

  it('is used without verification where only encryption is required', async () => {
    expect(await cipher('127.0.0.1', '?sslmode=require')).to.match(/^TLS_|^ECDHE/)
  })

  for (const mode of ['verify-ca', 'verify-full']) {
    it(`verifies the certificate with ${mode}`, async () => {
      expect(await cipher('localhost', `?sslmode=${mode}&${ca()}`)).to.match(/^TLS_|^ECDHE/)
      expect(await cipher('localhost', `?sslmode=${mode}`)).to.be.an('error')
    })
  }

  it('verifies the name of the host with verify-full only', async () => {
    const other = '127.1' // resolves to this machine, and is not in the certificate
    expect(await cipher(other, `?sslmode=verify-ca&${ca()}`)).to.match(/^TLS_|^ECDHE/)
    expect(await cipher(other, `?sslmode=verify-full&${ca()}`)).to.be.an('error')
  })
})

/** For `localhost` alone, signed by itself. */
function makeCertificate(folder: string): void {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const files = ['-keyout', path.join(folder, 'key.pem'), '-out', path.join(folder, 'cert.pem')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  execFileSync('openssl', ['req', '-x509', ...key, ...subject, '-days', '1', ...files], { stdio: 'ignore' })
  chmodSync(path.join(folder, 'key.pem'), 0o644)
}
