/** `DATABASE_URL`: what `new Sequelize` makes of it, what is refused before anyone is asked, and that no password is shown. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { Sequelize } from 'sequelize'
import { run } from '../../../fixtures/commands.ts'
import { describeOn, useDatabase } from '../../../fixtures/on-database.ts'
import { connect } from '../../../src/cli/connect.ts'

describe('DATABASE_URL', () => {
  const optionsOf = (sequelize: Sequelize): object => Reflect.get(sequelize, 'options')

  for (const [url, storage] of [
    ['sqlite:data/app.sqlite', 'data/app.sqlite'],
    ['sqlite:///var/app.sqlite', '/var/app.sqlite'],
    ['sqlite:data//app.sqlite', 'data//app.sqlite'],
  ] as const) {
    it(`names the file of ${url}`, () => {
      expect(optionsOf(connect(url))).to.include({ dialect: 'sqlite', storage })
    })
  }

  const read: [url: string, dialect: string, config: object][] = [
    [
      'postgres://u%40x:p%3A%2Fq@db.example.com:6432/app',
      'postgres',
      { host: 'db.example.com', port: '6432', username: 'u@x', password: 'p:/q', database: 'app' },
    ],
    ['postgresql://u:p@localhost/app?host=/var/run/db', 'postgres', { host: '/var/run/db', database: 'app' }],
    ['mysql://u:p@db.example.com/app', 'mysql', { host: 'db.example.com', port: 3306, database: 'app' }],
    ['mariadb://u:p@[2001:db8::1]:3307/app', 'mysql', { host: '2001:db8::1', port: '3307', database: 'app' }],
  ]
  for (const [url, dialect, config] of read) {
    it(`is read from ${url}`, () => {
      const sequelize = connect(url)
      expect(sequelize.getDialect()).to.equal(dialect)
      expect(sequelize.config).to.include(config)
    })
  }

  it('sets TLS for PostgreSQL as its driver reads it', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'tls-'))
    try {
      const file = path.join(folder, 'ca.pem')
      writeFileSync(file, 'the ca')
      const { dialectOptions } = connect(`postgres://u@h/d?sslmode=verify-full&sslrootcert=${file}`).config
      expect(dialectOptions).to.have.property('ssl').that.deep.equals({ ca: 'the ca' })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  for (const parameter of ['sslmode=verify-full', 'ssl-mode=REQUIRED', 'useSSL=true', 'tls=true']) {
    it(`does not leave TLS out for MariaDB where ${parameter} would be ignored`, () => {
      for (const scheme of ['mysql', 'mariadb'])
        expect(() => connect(`${scheme}://u@h/d?a=b&${parameter}`)).to.throw(
          TypeError,
          'DATABASE_URL sets no TLS for MariaDB and MySQL: name the module of a deployment',
        )
    })
  }

  for (const parameter of ['SSLMODE=verify-full', 'ssl-mode=VERIFY_IDENTITY', 'tls=true', 'sslmode=']) {
    it(`does not leave TLS out for PostgreSQL where ${parameter} would be ignored`, () => {
      expect(() => connect(`postgres://u@h/d?a=b&${parameter}`)).to.throw(
        TypeError,
        'DATABASE_URL asks for TLS in words that would be ignored: write sslmode=verify-full',
      )
    })
  }

  // An `@` in the wrong place, or a character that ends a host, makes a part of the password something that errors name.
  const refused: Record<string, string> = {
    'a slash in its password': 'postgres://u:hunter/2SECRET@127.0.0.1:1/d',
    'a question mark in its password': 'postgres://u:12?SECRET@127.0.0.1:1/d',
    'a number sign in its password': 'mysql://u:12#SECRET@127.0.0.1:1/d',
    'a backslash in its password': 'mysql://u:12\\SECRET@127.0.0.1:1/d',
    'an @ in its password': 'postgres://u:a@SECRET@127.0.0.1:1/d',
    'a space in its password': 'postgres://u:SECRET SECRET@127.0.0.1:1/d',
    'a percent sign in its password': 'postgres://u:%SECRET@127.0.0.1:1/d',
    'a percent sign that begins no character': 'postgres://u:%ffSECRET@127.0.0.1:1/d',
    'a port that is none': 'postgres://u:SECRET@127.0.0.1:12x/d',
    'a port beyond all': 'mysql://u:SECRET@127.0.0.1:99999/d',
    'no host': 'postgres://u:SECRET',
    'a host of spaces': 'postgres://u:SECRET@a b/d',
    'three slashes': 'postgres:///u:SECRET@127.0.0.1/d',
    'no slashes': 'postgres:u:SECRET@127.0.0.1/d',
    'another scheme': 'SECRET://u:SECRET@127.0.0.1/d',
    'a parameter for TLS': 'mysql://u:SECRET@127.0.0.1:1/d?sslSECRET=1',
  }
  for (const [what, url] of Object.entries(refused)) {
    it(`is refused with ${what}, and not repeated`, async () => {
      const { code, stdout, stderr } = await run(['status'], url, { node: [] })
      expect(stderr).to.match(
        url.includes('%ff') ? /: URI malformed\n/ : /^oidc-impersonation: .*DATABASE_URL/,
      )
      expect(stdout + stderr).not.to.include('SECRET')
      expect(code).to.equal(2)
    })
  }

  const unreachable: Record<string, [url: string, name: string]> = {
    'that do not respond': ['postgres://u:SECRET@127.0.0.1:1/none', 'postgres 127.0.0.1:1/none'],
    'whose name has two addresses': ['mysql://u:SECRET@localhost:1/none', 'mysql localhost:1/none'],
    'with all that is encoded': ['mariadb://u:SECRET%2F%40%23%3F@127.0.0.1:1/d', 'mysql 127.0.0.1:1/d'],
    'with secrets as parameters': ['postgres://127.0.0.1:1/d?password=SECRET', 'postgres 127.0.0.1:1/d'],
  }
  for (const [what, [url, name]] of Object.entries(unreachable)) {
    it(`names databases ${what}, and shows no password`, async () => {
      const { code, stdout, stderr } = await run(['status'], url, { node: [] })
      expect(stderr)
        .to.match(/ECONNREFUSED/)
        .and.include(`no connection to ${name}: `)
      expect(stdout + stderr).not.to.include('SECRET')
      expect(code).to.equal(1)
    })
  }

  for (const kind of ['postgres', 'mysql'] as const) {
    describeOn(kind, `on ${kind}`, () => {
      const database = useDatabase(kind)

      it('is named by status, without a password or a user', async () => {
        const { hostname, port, pathname, username } = new URL(database.url)
        const { stdout } = await run(['status'], database.url)
        expect(stdout.split('\n')[0]).to.equal(`${kind} ${hostname}:${port}${pathname}`)
        expect(stdout).not.to.include(`${username}:`).and.not.to.include('@')
        const json = JSON.parse((await run(['status', '--json'], database.url)).stdout)
        expect(json.database).to.equal(`${kind} ${hostname}:${port}${pathname}`)
      })

      it('shows no password that the server refuses', async () => {
        const url = new URL(database.url)
        Object.assign(url, { username: 'nobody', password: 'SECRET' })
        const { code, stdout, stderr } = await run(['status'], url.href, { node: [] })
        expect(code).to.equal(1)
        expect(stderr).to.include(`no connection to ${kind} `).and.include('nobody')
        expect(stdout + stderr).not.to.include('SECRET')
      })
    })
  }
})
