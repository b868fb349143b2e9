/** How `DATABASE_URL` is read: what the driver of the database gets, and what is refused before it is asked. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { readDatabaseUrl } from '../../src/cli/database-url.ts'
import { nodeSqlite } from '../../src/sequelize/index.ts'

const PG = 'postgres://u:p@db.example.com/app'
const MY = 'mysql://u:p@db.example.com/app'

describe('DATABASE_URL', () => {
  for (const [url, storage] of [
    ['sqlite:data/app.sqlite', 'data/app.sqlite'],
    ['sqlite:///var/app.sqlite', '/var/app.sqlite'],
    ['sqlite:data//app.sqlite', 'data//app.sqlite'],
  ] as const) {
    it(`names the file of ${url}`, () => {
      expect(readDatabaseUrl(url)).to.deep.equal({ dialect: 'sqlite', dialectModule: nodeSqlite, storage })
    })
  }

  const read: [what: string, url: string, options: object][] = [
    [
      'a server with all that its driver takes',
      'postgres://u%40x:p%3A%2Fq@db.example.com:6432/my%20app?application_name=desk&options=-csearch_path%3Dapp',
      {
        ...{ dialect: 'postgres', host: 'db.example.com', port: 6432 },
        ...{ username: 'u@x', password: 'p:/q', database: 'my app' },
        dialectOptions: { application_name: 'desk', options: '-csearch_path=app' },
      },
    ],
    [
      'the long name of a scheme, and a socket',
      'postgresql://u:p@localhost/app?host=/var/run/db',
      {
        ...{ dialect: 'postgres', host: '/var/run/db', username: 'u', password: 'p', database: 'app' },
        dialectOptions: {},
      },
    ],
    [
      'an IPv6 address',
      'mariadb://u:p@[2001:db8::1]:3307/app',
      {
        ...{ dialect: 'mysql', host: '2001:db8::1', port: 3307 },
        ...{ username: 'u', password: 'p', database: 'app' },
        dialectOptions: {},
      },
    ],
    [
      'the path of a socket',
      'mysql://u:p@localhost/app?socketPath=/run/db.sock',
      {
        ...{ dialect: 'mysql', host: 'localhost', username: 'u', password: 'p', database: 'app' },
        dialectOptions: { socketPath: '/run/db.sock' },
      },
    ],
  ]
  for (const [what, url, options] of read) {
    it(`names ${what}`, () => {
      expect(readDatabaseUrl(url)).to.deep.equal(options)
    })
  }

  for (const [what, url, message] of [
    [
      'what only the other driver knows',
      `${MY}?application_name=desk`,
      'unknown parameter of DATABASE_URL: application_name (known: sslmode, sslrootcert, sslcert, sslkey, socketPath)',
    ],
    [
      'another scheme',
      'db.example.com/app',
      'DATABASE_URL must start with sqlite:, postgres:, mysql: or mariadb:',
    ],
    [
      'an unknown TLS mode',
      `${PG}?sslmode=prefer`,
      'sslmode must be disable, require, verify-ca, verify-full',
    ],
    [
      'a certificate without TLS',
      `${PG}?sslmode=disable&sslcert=/c.pem`,
      'sslcert needs sslmode=require, verify-ca or verify-full',
    ],
    ['a key without TLS', `${MY}?sslkey=/k.pem`, 'sslkey needs sslmode=require, verify-ca or verify-full'],
    [
      'the identity of a socket',
      `${PG}?host=/var/run/db&sslmode=verify-full`,
      'sslmode=verify-full needs the name of the host',
    ],
    [
      'a certificate that is not there',
      `${PG}?sslmode=require&sslcert=/none.pem`,
      'sslcert cannot be read: /none.pem (ENOENT)',
    ],
    [
      'a key that is not there',
      `${MY}?sslmode=require&sslkey=/none.pem`,
      'sslkey cannot be read: /none.pem (ENOENT)',
    ],
  ] as const) {
    it(`is refused with ${what}`, () => {
      expect(() => readDatabaseUrl(url)).to.throw(TypeError, message)
    })
  }

  describe('over TLS', () => {
    let folder: string
    before(() => {
      folder = mkdtempSync(path.join(tmpdir(), 'tls-'))
      for (const name of ['ca', 'cert', 'key']) writeFileSync(path.join(folder, name), `the ${name}`)
    })
    after(() => rmSync(folder, { recursive: true }))

    const file = (name: string) => encodeURIComponent(path.join(folder, name))
    /** What the driver gets for `ssl`. */
    const sslOf = (url: string): object =>
      Reflect.get(Object(readDatabaseUrl(url).dialectOptions), 'ssl') ?? expect.fail('no TLS')

    it('does without it by default, and with sslmode=disable', () => {
      for (const url of [PG, MY, `${PG}?sslmode=disable`, `${MY}?sslmode=disable`]) {
        expect(readDatabaseUrl(url).dialectOptions, url).to.deep.equal({})
      }
    })

    it('verifies nothing with sslmode=require, without a root certificate', () => {
      for (const url of [PG, MY]) {
        expect(sslOf(`${url}?sslmode=require`)).to.deep.equal({ rejectUnauthorized: false })
      }
    })

    it('has the certificate and the key of the client from their files', () => {
      for (const url of [PG, MY]) {
        expect(sslOf(`${url}?sslmode=require&sslcert=${file('cert')}&sslkey=${file('key')}`)).to.deep.equal({
          ...{ cert: 'the cert', key: 'the key' },
          rejectUnauthorized: false,
        })
      }
    })

    for (const mode of ['require', 'verify-ca', 'verify-full']) {
      it(`verifies the certificate by a root certificate with sslmode=${mode}`, () => {
        for (const url of [PG, MY]) {
          const ssl = sslOf(`${url}?sslmode=${mode}&sslrootcert=${file('ca')}`)
          expect(ssl).to.include({ ca: 'the ca', rejectUnauthorized: true })
        }
      })
    }

    for (const mode of ['verify-ca', 'verify-full']) {
      it(`verifies the certificate without a root certificate, too, with sslmode=${mode}`, () => {
        for (const url of [PG, MY]) {
          expect(sslOf(`${url}?sslmode=${mode}`)).to.include({ rejectUnauthorized: true })
        }
      })
    }

    /** As the driver would ask whether the name in the certificate is that of the host. */
    const checkOf = (url: string): unknown => Reflect.get(sslOf(url), 'checkServerIdentity')

    it('verifies the name of the host with sslmode=verify-full only', () => {
      for (const mode of [`require&sslrootcert=${file('ca')}`, 'verify-ca']) {
        const check = checkOf(`${PG}?sslmode=${mode}`)
        expect(check).to.be.a('function')
        expect((check as () => unknown)()).to.equal(undefined)
        expect(sslOf(`${MY}?sslmode=${mode}`)).to.have.all.keys(
          mode === 'verify-ca' ? ['rejectUnauthorized'] : ['ca', 'rejectUnauthorized'],
        )
      }
      expect(sslOf(`${PG}?sslmode=verify-full`)).to.deep.equal({ rejectUnauthorized: true })
      expect(sslOf(`${MY}?sslmode=verify-full`)).to.deep.equal({
        rejectUnauthorized: true,
        verifyIdentity: true,
      })
    })
  })
})
