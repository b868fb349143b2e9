import { Sequelize } from 'sequelize'
import { nodeSqlite } from '../sequelize/database/sqlite/node-sqlite.ts'

/**
 * Opens the database that a URL names, by `new Sequelize(url)` or, for SQLite, by `nodeSqlite`.
 *
 * @throws {TypeError} for a URL that names none. It never quotes the URL, which may hold a password.
 */
export function connect(url: string): Sequelize {
  if (url.startsWith('sqlite:')) {
    const storage = url.slice('sqlite:'.length).replace(/^\/\//, '')
    return new Sequelize({ dialect: 'sqlite', dialectModule: nodeSqlite, storage, logging: false })
  }
  assertServer(url)
  // The connector of that name breaks bound statements.
  return new Sequelize(url.replace(/^mariadb:/, 'mysql:'), { logging: false })
}

/** The parts of a URL that `pg` reads. */
const OF_PG = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation']

function assertServer(url: string): void {
  if (!/^(?:postgres(?:ql)?|mysql|mariadb):\/\//.test(url)) {
    throw new TypeError('DATABASE_URL must start with sqlite:, postgres://, mysql:// or mariadb://')
  }
  // A character that ends a host would make part of the password a name that errors quote. Node prints a URL with a wrong port.
  const [, user = ''] = /\/\/(.*)@/s.exec(url) ?? []
  if (/[/\\?#@\s]|%(?![\da-f]{2})/i.test(user) || !URL.canParse(url)) {
    throw new TypeError('DATABASE_URL is not a URL: in a password, percent-encode / \\ ? # @ % and spaces')
  }
  const ignored = [...new URL(url).searchParams].filter(([name]) => /ssl|tls/i.test(name) && name !== 'ssl')
  // The drivers would ignore it, and send everything unencrypted.
  if (!url.startsWith('postgres')) {
    if (ignored.length > 0)
      throw new TypeError(
        'DATABASE_URL sets no TLS for MariaDB and MySQL: name the module of a deployment, whose Sequelize does',
      )
  } else if (ignored.some(([name, value]) => !OF_PG.includes(name) || value === ''))
    throw new TypeError('DATABASE_URL asks for TLS in words that would be ignored: write sslmode=verify-full')
}
