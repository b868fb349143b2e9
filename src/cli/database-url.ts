import type { Options } from 'sequelize'
import { nodeSqlite } from '../sequelize/database/sqlite/node-sqlite.ts'
import type { DialectName } from './command-line.ts'
import { readTls, TLS_PARAMETERS } from './tls.ts'

const SCHEMES: Readonly<Record<string, DialectName>> = {
  sqlite: 'sqlite',
  postgres: 'postgres',
  postgresql: 'postgres',
  mysql: 'mysql',
  mariadb: 'mysql',
}

/** Beside those of TLS. Their names are the drivers' own. */
const PARAMETERS: Readonly<Record<'postgres' | 'mysql', readonly string[]>> = {
  postgres: ['application_name', 'host', 'options'],
  mysql: ['socketPath'],
}

/** @throws {TypeError} for a scheme that no database has. */
function dialectOf(url: string): DialectName {
  const [scheme = ''] = url.split(':', 1)
  const dialect = Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme] : undefined
  if (!dialect) throw new TypeError('DATABASE_URL must start with sqlite:, postgres:, mysql: or mariadb:')
  return dialect
}

/**
 * Returns Sequelize's options for a database URL: `sqlite:<file>`, `postgres://…`, `mysql://…` or `mariadb://…`.
 * Sequelize does not get the URL itself, whose parameters each driver reads in its own way or ignores, `ssl` of mysql2
 * included.
 *
 * @throws {TypeError} for any other URL, and for a parameter that is unknown or wrong. It never quotes the URL, which
 * may hold a password.
 */
export function readDatabaseUrl(url: string): Options {
  const dialect = dialectOf(url)
  if (dialect === 'sqlite') {
    return { dialect, dialectModule: nodeSqlite, storage: url.slice('sqlite:'.length).replace(/^\/\//, '') }
  }
  if (!URL.canParse(url)) throw new TypeError('DATABASE_URL is not a URL: is its password percent-encoded?')
  const { hostname, port, username, password, pathname, searchParams } = new URL(url)
  const parameters = readParameters(searchParams, [...TLS_PARAMETERS, ...PARAMETERS[dialect]])
  const { host = hostname.replace(/^\[(.*)\]$/, '$1'), application_name, options, socketPath } = parameters
  const ssl = readTls(parameters, dialect, host)
  return {
    dialect,
    host,
    ...(port && { port: Number(port) }),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    dialectOptions: {
      ...(application_name !== undefined && { application_name }),
      ...(options !== undefined && { options }),
      ...(socketPath !== undefined && { socketPath }),
      ...(ssl && { ssl }),
    },
  }
}

function readParameters(given: URLSearchParams, known: readonly string[]): Record<string, string> {
  for (const name of new Set(given.keys())) {
    if (!known.includes(name)) {
      throw new TypeError(`unknown parameter of DATABASE_URL: ${name} (known: ${known.join(', ')})`)
    }
    if (given.getAll(name).length > 1) throw new TypeError(`parameter of DATABASE_URL given twice: ${name}`)
  }
  return Object.fromEntries(given)
}
