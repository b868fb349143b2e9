/** The command line over TLS, against a server with a certificate of a CA that nothing else trusts. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, rmSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { run } from '../../../fixtures/commands.ts'
import { moduleOn, useFolder } from '../../../fixtures/deployment-module.ts'
import { startMariadb } from '../../../fixtures/mariadb.ts'
import { describeOn } from '../../../fixtures/on-database.ts'
import { startPostgres } from '../../../fixtures/postgres.ts'
import { warnIfMissing } from '../../../fixtures/programs.ts'
import { IDENTITY, makeDataFolder, type OwnServer } from '../../../fixtures/server-process.ts'
import { connect } from '../../../src/cli/connect.ts'

type Start = (certificate: string, key: string) => Promise<OwnServer | undefined>

/** A server with a certificate for `localhost`. */
function overTls(kind: 'postgres' | 'mysql', start: Start, suite: (own: Own) => void): void {
  describeOn(kind, `oidc-impersonation over TLS, on ${kind}`, () => {
    const own = { folder: '', url: '' }
    let server: OwnServer | undefined
    before(async function () {
      own.folder = makeDataFolder('tls')
      makeCertificate(own.folder)
      makeCertificate(own.folder, 'other-')
      const started = await start(path.join(own.folder, 'cert.pem'), path.join(own.folder, 'key.pem'))
      server = warnIfMissing(started, `${kind} to start`)
      if (!server) return this.skip()
      own.url = server.url.replace('127.0.0.1', 'localhost')
    })
    after(async () => {
      await server?.stop()
      rmSync(own.folder, { recursive: true })
    })
    suite(own)
  })
}

/** Filled in before the tests run. */
interface Own {
  readonly folder: string
  readonly url: string
}

overTls(
  'postgres',
  (certificate, key) =>
    startPostgres({
      args: ['-c', 'ssl=on', '-c', `ssl_cert_file=${certificate}`, '-c', `ssl_key_file=${key}`],
    }),
  (own) => {
    /** The cipher of a connection, or what was thrown. */
    async function cipher(parameters: string, url = own.url): Promise<unknown> {
      const sequelize = connect(`${url}${parameters}`)
      try {
        const sql = 'SELECT cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
        const [row] = await sequelize.query<{ cipher: unknown }>(sql, { type: QueryTypes.SELECT })
        return row?.cipher
      } catch (error) {
        return error
      } finally {
        await sequelize.close()
      }
    }
    const ca = (name: string) => `sslrootcert=${path.join(own.folder, name)}`

    it('is not used unless DATABASE_URL asks for it', async () => {
      expect(await cipher('')).to.equal(null)
      expect(await cipher('?sslmode=no-verify')).to.match(/^TLS_/)
    })

    it('verifies the certificate and the name of the host', async () => {
      const full = `?sslmode=verify-full&${ca('cert.pem')}`
      expect(await cipher(full)).to.match(/^TLS_/)
      expect(await cipher('?sslmode=verify-full')).to.be.an('error')
      expect(await cipher(`?sslmode=verify-full&${ca('other-cert.pem')}`)).to.be.an('error')
      // Resolves to this machine, and is not in the certificate.
      expect(await cipher(full, own.url.replace('localhost', '127.1'))).to.be.an('error')
    })
  },
)

overTls(
  'mysql',
  (certificate, key) => startMariadb({ args: [`--ssl-cert=${certificate}`, `--ssl-key=${key}`] }),
  (own) => {
    const modules = useFolder()
    before(async () => {
      const administrator = connect(own.url)
      await administrator.query('SET GLOBAL require_secure_transport = ON')
      await administrator.close()
    })

    it('is that of the Sequelize of a deployment', async () => {
      const migrate = (ca: string) => {
        const ssl = `{ ca: readFileSync('${path.join(own.folder, ca)}'), verifyIdentity: true }`
        const options = `{ logging: false, dialectOptions: { ssl: ${ssl} } }`
        const before = `import { readFileSync } from 'node:fs'`
        const file = modules.write(moduleOn(`new Sequelize('${own.url}', ${options})`, { before }))
        return run(['migrate', file])
      }
      expect((await run(['migrate'], own.url)).stderr).to.match(/no connection to mysql .*denied/)
      expect((await migrate('other-cert.pem')).stderr).to.include('self-signed certificate')
      expect((await migrate('cert.pem')).stdout).to.equal('The tables are up to date.\n')
    })
  },
)

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
