/** The command line over TLS, against a server with a certificate of a CA that nothing else trusts. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, rmSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { DATABASES } from '../../fixtures/databases.ts'
import { startMariadb } from '../../fixtures/mariadb.ts'
import { startPostgres } from '../../fixtures/postgres.ts'
import { IDENTITY, makeDataFolder, type OwnServer } from '../../fixtures/server-process.ts'
import { connect } from '../../src/cli/connect.ts'

const CIPHER = /^TLS_|^ECDHE/

interface Kind {
  start(certificate: string, key: string): Promise<OwnServer | undefined>
  /** Reads the cipher of the connection. */
  readonly sql: string
  readonly without: string | null
}

const KINDS: Readonly<Record<'postgres' | 'mysql', Kind>> = {
  postgres: {
    start: (certificate, key) =>
      startPostgres({
        args: ['-c', 'ssl=on', '-c', `ssl_cert_file=${certificate}`, '-c', `ssl_key_file=${key}`],
      }),
    sql: 'SELECT cipher AS "Value" FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
    without: null,
  },
  mysql: {
    start: (certificate, key) => startMariadb({ args: [`--ssl-cert=${certificate}`, `--ssl-key=${key}`] }),
    sql: "SHOW SESSION STATUS LIKE 'Ssl_cipher'",
    without: '',
  },
}

for (const kind of DATABASES.filter((one) => one !== 'sqlite')) {
  describe(`oidc-impersonation over TLS, on ${kind}`, () => {
    const { start, sql, without } = KINDS[kind]
    let folder: string
    let server: OwnServer | undefined
    before(async function () {
      this.timeout(90_000)
      folder = makeDataFolder('tls')
      makeCertificate(folder)
      server = await start(path.join(folder, 'cert.pem'), path.join(folder, 'key.pem'))
      if (server) return
      if (process.env.CI === 'true') throw new Error(`no ${kind} to start, and CI does not skip`)
      console.warn(`no ${kind} server to start: skipped`)
      this.skip()
    })
    after(async () => {
      await server?.stop()
      rmSync(folder, { recursive: true })
    })

    /** The cipher of a connection, or what was thrown. */
    async function cipher(host: string, parameters: string): Promise<unknown> {
      const url = new URL(server?.url ?? '')
      url.hostname = host
      const sequelize = connect(`${url.href}${parameters}`)
      try {
        const [row] = await sequelize.query<{ Value: unknown }>(sql, { type: QueryTypes.SELECT })
        return row?.Value
      } catch (error) {
        return error
      } finally {
        await sequelize.close()
      }
    }
    const ca = () => `sslrootcert=${path.join(folder, 'cert.pem')}`

    it('is not used unless asked for', async () => {
      expect(await cipher('127.0.0.1', '')).to.equal(without)
    })

    it('is used without verification where only encryption is required', async () => {
      expect(await cipher('127.0.0.1', '?sslmode=require')).to.match(CIPHER)
    })

    it('verifies the certificate with require too, if there is a root certificate', async () => {
      expect(await cipher('127.0.0.1', `?sslmode=require&${ca()}`)).to.match(CIPHER)
      makeCertificate(folder, 'other-')
      const other = `sslrootcert=${path.join(folder, 'other-cert.pem')}`
      expect(await cipher('127.0.0.1', `?sslmode=require&${other}`)).to.be.an('error')
    })

    for (const mode of ['verify-ca', 'verify-full']) {
      it(`verifies the certificate with ${mode}`, async () => {
        expect(await cipher('localhost', `?sslmode=${mode}&${ca()}`)).to.match(CIPHER)
        expect(await cipher('localhost', `?sslmode=${mode}`)).to.be.an('error')
      })
    }

    it('verifies the name of the host with verify-full only', async () => {
      const other = '127.1' // resolves to this machine, and is not in the certificate
      expect(await cipher(other, `?sslmode=verify-ca&${ca()}`)).to.match(CIPHER)
      expect(await cipher(other, `?sslmode=verify-full&${ca()}`)).to.be.an('error')
    })
  })
}

/** For `localhost` alone, signed by itself. Only the server's user may read its key. */
function makeCertificate(folder: string, prefix = ''): void {
  const certificate = path.join(folder, `${prefix}cert.pem`)
  const key = path.join(folder, `${prefix}key.pem`)
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const files = ['-keyout', key, '-out', certificate]
  execFileSync('openssl', ['req', '-x509', ...algorithm, ...subject, '-days', '1', ...files], {
    stdio: 'ignore',
  })
  chmodSync(key, 0o600)
  if (IDENTITY.uid !== undefined) chownSync(key, IDENTITY.uid, IDENTITY.gid)
}
