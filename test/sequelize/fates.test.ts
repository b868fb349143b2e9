/** What each driver reports about a failed statement, and what happens then. No database is needed. */
import { expect } from 'chai'
import { ConnectionAcquireTimeoutError, ConnectionRefusedError, type Sequelize } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import type { Database } from '../../src/sequelize/database/database.ts'
import type { Driver } from '../../src/sequelize/database/driver.ts'
import type { Fate } from '../../src/sequelize/database/fate.ts'
import { createMysql } from '../../src/sequelize/database/mysql/driver.ts'
import { createPostgres } from '../../src/sequelize/database/postgres/driver.ts'
import { nodeDriver, sqlite3Driver } from '../../src/sequelize/database/sqlite/driver.ts'
import { databaseOf } from '../../src/sequelize/database-of.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const postgres = createPostgres(() => {})
const failure = (members: object) => Object.assign(new Error('failed'), members)

type Failures = readonly (readonly [what: string, error: unknown, fate: Fate])[]

const postgresSays = (code: string, severity = 'ERROR') => failure({ code, severity })
const POSTGRES: Failures = [
  ['a serialization failure', postgresSays('40001'), 'rolled back'],
  ['a deadlock', postgresSays('40P01'), 'rolled back'],
  ['a prepared statement that no longer exists', postgresSays('26000'), 'turned away'],
  ['a prepared statement that another client has prepared', postgresSays('42P05'), 'turned away'],
  ['a prepared statement whose columns have changed', postgresSays('0A000'), 'turned away'],
  ['a server that only reads', postgresSays('25006', 'ERRORE'), 'turned away'],
  ['a transaction that has failed', postgresSays('25P02', 'ERRORE'), 'turned away'],
  ['a server with too many connections', postgresSays('53300', 'FATAL'), 'turned away'],
  ['a server that is starting', postgresSays('57P03', 'FATAL'), 'turned away'],
  ['a session that was idle for too long', postgresSays('57P05', 'FATAL'), 'turned away'],
  ['a duplicate key', postgresSays('23505'), 'refused'],
  ['a duplicate key, in Italian', postgresSays('23505', 'ERRORE'), 'refused'],
  ['a malformed value', postgresSays('22P02', 'ERRORE'), 'refused'],
  ['more rows than one', postgresSays('21000', 'ERRORE'), 'refused'],
  ['another rollback', postgresSays('40002', 'ERRORE'), 'refused'],
  ['a missing table', postgresSays('42P01', 'ERRORE'), 'refused'],
  ['a lock that is held for too long', postgresSays('55P03', 'ERRORE'), 'refused'],
  ['a statement that takes too long', postgresSays('57014', 'ERRORE'), 'refused'],
  ['an error of any class', postgresSays('XX000'), 'refused'],
  ['a connection that the server ends', postgresSays('57P01', 'FATAL'), 'lost'],
  ['a server that crashed', postgresSays('57P02', 'FATAL'), 'lost'],
  ['a pooler that lost its server', postgresSays('08P01'), 'lost'],
  ['a database that is dropped', postgresSays('57P04', 'FATAL'), 'lost'],
  ['a connection that broke', failure({ code: 'ECONNRESET' }), 'lost'],
  ['a connection that ended', new Error('Connection terminated unexpectedly'), 'lost'],
  ['a connection that has ended', new Error('Client was closed and is not queryable'), 'lost'],
]

const mysqlSays = (code: string, sqlState: string) => failure({ code, sqlState })
const MYSQL: Failures = [
  ['a deadlock, or a write set of Galera that lost', mysqlSays('ER_LOCK_DEADLOCK', '40001'), 'rolled back'],
  ['a row that changed since it was read', mysqlSays('ER_CHECKREAD', 'HY000'), 'rolled back'],
  [
    'what group replication did not certify',
    mysqlSays('ER_TRANSACTION_ROLLBACK_DURING_COMMIT', '40000'),
    'rolled back',
  ],
  [
    'a session that only reads',
    mysqlSays('ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION', '25006'),
    'turned away',
  ],
  [
    'a session that was idle for too long',
    mysqlSays('ER_CLIENT_INTERACTION_TIMEOUT', 'HY000'),
    'turned away',
  ],
  ['a server with too many connections', mysqlSays('ER_CON_COUNT_ERROR', '08004'), 'turned away'],
  ['too many prepared statements', mysqlSays('ER_MAX_PREPARED_STMT_COUNT_REACHED', '42000'), 'turned away'],
  ['a prepared statement that is not renewed', mysqlSays('ER_NEED_REPREPARE', 'HY000'), 'turned away'],
  ['a server that only reads', mysqlSays('ER_OPTION_PREVENTS_STATEMENT', 'HY000'), 'turned away'],
  ['a storage engine that only reads', mysqlSays('ER_READ_ONLY_MODE', 'HY000'), 'turned away'],
  ['a node that lost its cluster', mysqlSays('ER_UNKNOWN_COM_ERROR', '08S01'), 'turned away'],
  [
    'a prepared statement that no longer exists',
    mysqlSays('ER_UNKNOWN_STMT_HANDLER', 'HY000'),
    'turned away',
  ],
  ['a commit that failed', mysqlSays('ER_ERROR_DURING_COMMIT', 'HY000'), 'unknown'],
  ['group replication that failed', mysqlSays('ER_RUN_HOOK_ERROR', 'HY000'), 'unknown'],
  ['what has no name', mysqlSays('ER_UNKNOWN_ERROR', 'HY000'), 'unknown'],
  ['a server that is about to end', mysqlSays('ER_SERVER_SHUTDOWN', '08S01'), 'lost'],
  ['a connection that was killed', failure({ errno: 1927, sqlState: '70100' }), 'lost'],
  ['a statement that was interrupted', mysqlSays('ER_QUERY_INTERRUPTED', '70100'), 'unknown'],
  ['a duplicate key', mysqlSays('ER_DUP_ENTRY', '23000'), 'refused'],
  ['a lock that is held for too long', mysqlSays('ER_LOCK_WAIT_TIMEOUT', 'HY000'), 'refused'],
  ['a missing table', mysqlSays('ER_NO_SUCH_TABLE', '42S02'), 'refused'],
  ['a server that shuts down', failure({ code: 'X', sqlState: '08S01', fatal: true }), 'lost'],
  [
    'an error with which a connection ends',
    failure({ code: 'ER_NEW_ABORTING_CONNECTION', sqlState: 'HY000', fatal: true }),
    'lost',
  ],
  ['a connection that is lost', failure({ code: 'PROTOCOL_CONNECTION_LOST', fatal: true }), 'lost'],
  ['a connection that broke', failure({ code: 'ECONNRESET' }), 'lost'],
]

const SQLITE: Failures = [
  ['a lock of another process', failure({ code: 'SQLITE_BUSY', errcode: 5 }), 'locked'],
  ['a duplicate key', failure({ code: 'SQLITE_CONSTRAINT', errcode: 1555 }), 'refused'],
  ['a disk that is full', failure({ code: 'SQLITE_FULL', errcode: 13 }), 'refused'],
]
/** The `sqlite3` package gives numbers another name, so fewer of its errors are recognised. */
const SQLITE3: Failures = [
  ['a lock of another process', failure({ code: 'SQLITE_BUSY', errno: 5 }), 'locked'],
  ['a duplicate key', failure({ code: 'SQLITE_CONSTRAINT', errno: 19 }), 'unknown'],
]

/** What both drivers of servers say, by the word of the system. */
const CONNECTIONS: Failures = [
  ['a server that answers no more, says the system', failure({ code: 'ETIMEDOUT', syscall: 'read' }), 'lost'],
  ['the end of a time limit of ours', failure({ code: 'ETIMEDOUT' }), 'unknown'],
]

const ANY: Failures = [
  ['a server that is down', new ConnectionRefusedError(failure({ code: 'ECONNREFUSED' })), 'unknown'],
  ['a pool that is busy', new ConnectionAcquireTimeoutError(failure({})), 'unknown'],
  ['a mistake of ours', new TypeError('not a function'), 'unknown'],
  ['a value that is not an error', 'failed', 'unknown'],
]

const DRIVERS: Readonly<Record<string, readonly [Driver, Failures]>> = {
  postgres: [postgres, [...POSTGRES, ...CONNECTIONS]],
  mysql: [createMysql(), [...MYSQL, ...CONNECTIONS]],
  nodeSqlite: [nodeDriver, SQLITE],
  sqlite3: [sqlite3Driver, SQLITE3],
}

for (const [name, [driver, failures]] of Object.entries(DRIVERS)) {
  describe(`the driver ${name}`, () => {
    for (const [what, error, fate] of [...failures, ...ANY]) {
      it(`reports ${what} as ${fate}`, () => {
        expect(driver.fateOf(error)).to.equal(fate)
      })
    }
  })
}

/** A Sequelize without a server, and a driver whose first runs have this fate. */
function failing(fate: Fate, times = 1, connect = () => {}, wait?: Promise<void>) {
  const seen: string[] = []
  const sequelize = {
    log: () => {},
    addHook: () => {},
    getDialect: () => 'postgres',
    connectionManager: {
      lib: { Client: class {} },
      getConnection: async () => {
        if (times === 0) seen.push('asked')
        connect()
        return {}
      },
      releaseConnection: () => seen.push('kept'),
      destroyConnection: async () => {},
    },
  } as unknown as Sequelize
  let failures = 0
  const driver: Partial<Driver> = {
    fateOf: () => fate,
    destroy: () => seen.push('closed'),
    async run(_connection, _sql, bindings) {
      seen.push(`run of ${bindings.length}`)
      failures += 1
      await wait
      if (failures <= times) throw failure({ code: 'X' })
      return bindings.map(() => ({ rows: [], affected: 1 }))
    },
  }
  Object.assign(driverOf(sequelize), driver)
  return { seen, sequelize, database: databaseOf(sequelize) }
}

const outcomes = async (...promises: Promise<unknown>[]) =>
  (await Promise.allSettled(promises)).map((settled) =>
    settled.status === 'fulfilled' ? settled.value : settled.reason.message,
  )

const CONSEQUENCES: Readonly<
  Record<Exclude<Fate, 'unsent'>, { repeated: boolean; split: boolean; connection: string }>
> = {
  'rolled back': { repeated: true, split: true, connection: 'kept' },
  'turned away': { repeated: true, split: true, connection: 'closed' },
  refused: { repeated: false, split: true, connection: 'kept' },
  locked: { repeated: true, split: false, connection: 'kept' },
  lost: { repeated: false, split: false, connection: 'closed' },
  unknown: { repeated: false, split: false, connection: 'closed' },
}
const FAILED = 'storage failed: Error: X'

for (const [fate, { repeated, split, connection }] of Object.entries(CONSEQUENCES)) {
  describe(`a statement whose fate is: ${fate}`, () => {
    it(`is ${repeated ? '' : 'not '}sent again, and its connection ${connection}`, async () => {
      const { seen, database } = failing(fate as Fate)
      expect(await outcomes(database.write('UPDATE', []))).to.deep.equal([repeated ? 1 : FAILED])
      expect(seen).to.deep.equal(['run of 1', connection, ...(repeated ? ['run of 1', 'kept'] : [])])
    })

    const readAgain = repeated || fate === 'lost'
    it(`is ${readAgain ? '' : 'not '}sent again, on ${connection === 'kept' ? 'any' : 'another'} connection, if it only reads`, async () => {
      for (const read of [
        (database: Database) => database.find('SELECT', []),
        (database: Database) => database.findRow({ sql: 'SELECT' }, []),
      ]) {
        const { seen, database } = failing(fate as Fate)
        const [outcome] = await outcomes(read(database))
        expect(outcome === FAILED).to.equal(!readAgain)
        expect(seen).to.deep.equal(['run of 1', connection, ...(readAgain ? ['run of 1', 'kept'] : [])])
      }
    })

    it(`${split || repeated ? 'does not fail' : 'fails'} the others of its batch`, async () => {
      const { seen, database } = failing(fate as Fate)
      const written = await outcomes(
        database.writeRow({ sql: 'UPDATE' }, [], 'a'),
        database.writeRow({ sql: 'UPDATE' }, [], 'b'),
      )
      expect(written).to.deep.equal(split || repeated ? [true, true] : [FAILED, FAILED])
      const runs = seen.filter((what) => what.startsWith('run'))
      const again = split ? ['run of 1', 'run of 1'] : repeated ? ['run of 2'] : []
      expect(runs).to.deep.equal(['run of 2', ...again])
    })
  })
}

describe('a statement that is on its way', () => {
  it('keeps no process alive by its time limit', async () => {
    const { database } = failing('unknown', 0, () => {}, new Promise(() => {}))
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    await turn()
    const before = timers()
    void database.write('UPDATE', [])
    await turn()
    expect(timers()).to.equal(before)
  })
})

describe('a statement for which there is no connection', () => {
  it('is not sent, and asks once', async () => {
    const { seen, database } = failing('rolled back', 0, () => {
      throw new ConnectionRefusedError(failure({ code: 'ECONNREFUSED' }))
    })
    const [message] = await outcomes(database.write('UPDATE', []))
    expect(message).to.match(/^storage failed: SequelizeConnectionRefusedError/)
    expect(seen).to.deep.equal(['asked'])
  })
})

describe('what is told of a failure', () => {
  const told = async (call: Promise<unknown>) => {
    const error = await call.catch((thrown: unknown) => thrown)
    expect(error).to.be.an('error').with.property('name', 'StorageError')
    return Reflect.get(Object(error), 'tookEffect')
  }

  // What is locked would be waited for.
  for (const fate of Object.keys(CONSEQUENCES).filter((name) => name !== 'locked') as Fate[]) {
    const expected = ['lost', 'unknown'].includes(fate) ? undefined : false
    it(`whose fate is ${fate}: ${expected === false ? 'no effect' : 'nothing for sure'}`, async () => {
      expect(await told(failing(fate, 9).database.write('UPDATE', []))).to.equal(expected)
    })
  }

  it('when there is no connection: no effect', async () => {
    const away = () => {
      throw new Error('away')
    }
    expect(await told(failing('unknown', 0, away).database.write('UPDATE', []))).to.equal(false)
  })

  const spend = (sequelize: Sequelize, act?: { sub: string }) =>
    createSubjectTokenStore(sequelize).consume(newToken(), NOW, newUse({ actor: { sub: 'bob', act } }))

  it('of the first use of an issuer, which is before the spend: no effect', async () => {
    expect(await told(spend(failing('unknown').sequelize))).to.equal(false)
  })

  it('of the further actors of a chain, which are written before the spend: no effect', async () => {
    const known = () => {
      const { sequelize } = failing('unknown')
      const driver = driverOf(sequelize)
      const { run } = driver
      driver.run = async (connection, text, bindings) =>
        text.sql.includes('impersonation_issuers')
          ? [{ rows: [{ issuer: ISSUER }], affected: 0 }]
          : run(connection, text, bindings)
      return sequelize
    }
    expect(await told(spend(known(), { sub: 'carol' }))).to.equal(false)
    expect(await told(spend(known()))).to.equal(undefined)
  })
})

describe('a statement that is rolled back again and again', () => {
  it('is sent five times, and then fails', async () => {
    const { seen, database } = failing('rolled back', 9)
    expect(await outcomes(database.write('UPDATE', []))).to.deep.equal([FAILED])
    expect(seen.filter((what) => what === 'run of 1')).to.have.length(5)
  })
})
