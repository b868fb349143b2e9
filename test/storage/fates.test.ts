/** What each driver reports about a failed statement, and what happens then. No database is needed. */
import { expect } from 'chai'
import { ConnectionAcquireTimeoutError, ConnectionRefusedError, type Sequelize } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import type { Database } from '../../src/sequelize/database/database.ts'
import type { Driver, Fate } from '../../src/sequelize/database/driver.ts'
import { createMysql } from '../../src/sequelize/database/mysql/driver.ts'
import { createPostgres } from '../../src/sequelize/database/postgres/driver.ts'
import { nodeDriver, sqlite3Driver } from '../../src/sequelize/database/sqlite/driver.ts'
import { databaseOf, driverOf } from '../../src/sequelize/drivers.ts'
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

const FAILED = 'storage failed: Error: X'

interface Consequences {
  readonly repeated: boolean
  /** Whether those that were sent together are sent again one by one. */
  readonly split: boolean
  readonly connection: 'kept' | 'closed'
  /** What is told of a statement that has failed for good; `undefined`: no one knows. */
  readonly tookEffect: false | undefined
}

const CONSEQUENCES: Readonly<Record<Exclude<Fate, 'unsent'>, Consequences>> = {
  'rolled back': { repeated: true, split: true, connection: 'kept', tookEffect: false },
  'turned away': { repeated: true, split: true, connection: 'closed', tookEffect: false },
  refused: { repeated: false, split: true, connection: 'kept', tookEffect: false },
  locked: { repeated: true, split: false, connection: 'kept', tookEffect: false },
  lost: { repeated: false, split: false, connection: 'closed', tookEffect: undefined },
  unknown: { repeated: false, split: false, connection: 'closed', tookEffect: undefined },
}

const told = async (call: Promise<unknown>) => {
  const error = await call.catch((thrown: unknown) => thrown)
  expect(error).to.be.an('error').with.property('name', 'StorageError')
  return Reflect.get(Object(error), 'tookEffect')
}

for (const [name, { repeated, split, connection, tookEffect }] of Object.entries(CONSEQUENCES)) {
  const fate = name as Fate
  describe(`a statement whose fate is: ${fate}`, () => {
    for (const [what, again, send] of [
      ['writes', repeated, (database: Database) => database.write('UPDATE', [])],
      ['finds', repeated || fate === 'lost', (database: Database) => database.find('SELECT', [])],
      [
        'finds a row',
        repeated || fate === 'lost',
        (database: Database) => database.findRow({ sql: 'SELECT' }, []),
      ],
    ] as const)
      it(`is ${again ? '' : 'not '}sent again where it ${what}, and its connection ${connection}`, async () => {
        const { seen, database } = failing(fate)
        const [outcome] = await outcomes(send(database))
        expect(outcome === FAILED).to.equal(!again)
        expect(seen).to.deep.equal(['run of 1', connection, ...(again ? ['run of 1', 'kept'] : [])])
      })

    it(`${split || repeated ? 'does not fail' : 'fails'} the others of its batch`, async () => {
      const { seen, database } = failing(fate)
      const written = await outcomes(
        database.writeRow({ sql: 'UPDATE' }, [], 'a'),
        database.writeRow({ sql: 'UPDATE' }, [], 'b'),
      )
      expect(written).to.deep.equal(split || repeated ? [true, true] : [FAILED, FAILED])
      const runs = seen.filter((what) => what.startsWith('run'))
      const again = split ? ['run of 1', 'run of 1'] : repeated ? ['run of 2'] : []
      expect(runs).to.deep.equal(['run of 2', ...again])
    })

    // What is locked would be waited for.
    if (fate !== 'locked')
      it(`is told to have ${tookEffect === false ? 'no effect' : 'an effect or none'} once it has failed`, async () => {
        expect(await told(failing(fate, 9).database.write('UPDATE', []))).to.equal(tookEffect)
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

describe('a statement that is not sent', () => {
  it('for want of a connection has no effect, and asks for one once', async () => {
    const { seen, database } = failing('rolled back', 0, () => {
      throw new ConnectionRefusedError(failure({ code: 'ECONNREFUSED' }))
    })
    const error = await database.write('UPDATE', []).catch((thrown: unknown) => thrown)
    expect(error)
      .to.have.property('message')
      .that.matches(/^storage failed: SequelizeConnectionRefusedError/)
    expect(error).to.have.property('tookEffect', false)
    expect(seen).to.deep.equal(['asked'])
  })

  const spend = (sequelize: Sequelize, act?: { sub: string }) =>
    createSubjectTokenStore(sequelize).consume(newToken(), NOW, newUse({ actor: { sub: 'bob', act } }))

  it('after the first use of an issuer has failed, which is before the spend, has no effect', async () => {
    expect(await told(spend(failing('unknown').sequelize))).to.equal(false)
  })

  it('after the further actors of a chain have failed, which are written before it, has no effect', async () => {
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
