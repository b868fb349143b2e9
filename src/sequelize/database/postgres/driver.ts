import { createHash } from 'node:crypto'
import { codeOf, type Driver, isCut } from '../driver.ts'
import type { Result } from '../text.ts'
import { postgresDialect } from './dialect.ts'
import { type Parsed, PostgresStatement } from './statement.ts'

interface Client {
  readonly connection: { readonly stream: { destroy(): void } }
  query(statement: PostgresStatement): void
}

/** Said of a prepared statement by a pooler that hands connections of the server from client to client. */
const FORGETFUL: ReadonlySet<string> = new Set(['26000', '42P05'])

/** Errors that say that the statement did not take effect and this connection would refuse it again. */
const TURNED_AWAY: ReadonlySet<string> = new Set([
  '0A000', // a prepared statement whose result columns have changed
  '25006', // read-only: a standby, or a primary that hands over
  '25P02', // inside a transaction that has failed, left open by someone else
  '26000', // a prepared statement that is gone: `DEALLOCATE ALL`, or a pooler that changed servers
  '42P05', // a prepared statement that exists: a pooler gave us a server on which another client prepared it
  '53300', // too many connections: a pooler could reach no server
  '57P03', // the server starts or shuts down: said in place of a session, also through a pooler
  '57P05', // idle for too long: said instead of reading the statement
])

/**
 * Classes of errors that the server reports in place of a result, and that roll the statement back: data,
 * constraints, rollbacks, syntax and rights, then a lock and a statement that timed out.
 */
const REFUSED = /^(2[123]|40|42|55P03|57014)/

/**
 * A connection that ended in the middle: class 08 is also what PgBouncer says when it loses its server; 57P01, 57P02
 * and 57P04 come from a signal, which may strike while the server commits.
 */
const LOST = /^(08|57P0[124])/

/** node-postgres's messages for a connection that has ended: it has no code for it. */
const ENDED = /^Connection terminated|is not queryable$/

/** Milliseconds; what mysql2 has as its default. */
const CONNECT_TIMEOUT = 10_000

const UNNAMED =
  `oidc-provider-impersonation: this pool leads to servers that do not keep prepared statements, such as a
  PgBouncer in transaction mode. From now on statements are parsed each time they run.`.replace(/\s+/g, ' ')

/** The driver of one pool, which remembers whether statements can be prepared there. */
export function createPostgres(log: (text: string) => void): Driver {
  let named = true
  const parsed = new Map<string, Parsed>()
  const giveUpNames = (error: Error) => {
    if (!named || !FORGETFUL.has(codeOf(error) ?? '')) return
    named = false
    log(UNNAMED)
  }
  return {
    ...postgres,
    run: (connection, { sql, rare }, bindings) =>
      new Promise((resolve, reject) => {
        const statement = rare ? { name: '', text: sql } : known(parsed, sql)
        const name = named ? statement.name : ''
        const done = (error: Error | null, results: readonly Result[] = []) => {
          if (!error) return resolve(results)
          giveUpNames(error)
          reject(error)
        }
        ;(connection as Client).query(new PostgresStatement(statement, name, bindings, done))
      }),
  }
}

const postgres: Omit<Driver, 'run'> = {
  dialect: postgresDialect,

  makesClients: 'Client',

  most: () => 32,

  fateOf(error) {
    const code = codeOf(error) ?? ''
    if (['40001', '40P01'].includes(code)) return 'rolled back' // serialization failure, deadlock
    if (TURNED_AWAY.has(code)) return 'turned away'
    if (LOST.test(code) || isCut(error) || ENDED.test(String(Reflect.get(Object(error), 'message'))))
      return 'lost'
    // The severity is translated into the server's language, so that codes count as well.
    const refused = Reflect.get(Object(error), 'severity') === 'ERROR' || REFUSED.test(code)
    return refused ? 'refused' : 'unknown'
  },

  /** Otherwise a connection to a server that accepts it and then says nothing would keep its place in the pool for good. */
  beforeConnect(config) {
    const given: object = Reflect.get(config, 'dialectOptions') ?? {}
    Object.assign(config, { dialectOptions: { connectionTimeoutMillis: CONNECT_TIMEOUT, ...given } })
  },
  destroy: (connection) => (connection as Client).connection.stream.destroy(),

  // An undefined table or column.
  isSchemaBehind: (error) => ['42P01', '42703'].includes(codeOf(error) ?? ''),
}

function known(parsed: Map<string, Parsed>, text: string): Parsed {
  const statement = parsed.get(text) ?? { name: nameFor(text), text }
  parsed.set(text, statement)
  return statement
}

/** One name for each text, the same in every process. */
const nameFor = (text: string): string =>
  `impersonation_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
