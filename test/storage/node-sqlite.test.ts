/** `nodeSqlite` as Sequelize calls it: how it opens a file, what its statements say, and how its failures are named. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { nodeSqlite } from '../../src/sequelize/database/sqlite/node-sqlite.ts'

const { Database, OPEN_CREATE, OPEN_READONLY, OPEN_READWRITE } = nodeSqlite
type Connection = InstanceType<typeof Database>

describe('nodeSqlite', () => {
  let folder: string
  let file: string
  const opened: { close(): void }[] = []
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'node-sqlite-'))
    file = path.join(folder, 'test.sqlite')
  })
  afterEach(() => {
    for (const connection of opened.splice(0)) connection.close()
    rmSync(folder, { recursive: true })
  })

  const open = (mode: number, filename = file) =>
    new Promise<Connection>((resolve, reject) => {
      const connection = new Database(filename, mode, (error) =>
        error ? reject(error) : resolve(connection),
      )
      opened.push(connection)
    })
  /** As another process would. */
  const other = () => {
    const database = new DatabaseSync(file)
    opened.push(database)
    return database
  }
  const run = (connection: Connection, sql: string, parameters: unknown[] | Record<string, unknown> = []) =>
    new Promise<{ lastID: number; changes: number }>((resolve, reject) => {
      connection.run(sql, parameters, function (error) {
        if (error) reject(error)
        else resolve({ lastID: this.lastID, changes: this.changes })
      })
    })
  const all = (connection: Connection, sql: string, parameters: unknown[] | Record<string, unknown> = []) =>
    new Promise<unknown>((resolve, reject) => {
      connection.all(sql, parameters, (error, rows) => (error ? reject(error) : resolve(rows)))
    })
  const failure = async (work: Promise<unknown>): Promise<[code: unknown, message: string]> => {
    const error = await work.then(
      () => new Error('it worked'),
      (thrown: Error) => thrown,
    )
    return [Reflect.get(error, 'code'), error.message]
  }

  /** How many statements SQLite prepares meanwhile. */
  const countPrepared = async (work: () => Promise<void>): Promise<number> => {
    const { prepare } = DatabaseSync.prototype
    let count = 0
    DatabaseSync.prototype.prepare = function (sql) {
      count += 1
      return prepare.call(this, sql)
    }
    try {
      await work()
    } finally {
      DatabaseSync.prototype.prepare = prepare
    }
    return count
  }

  describe('opens', () => {
    it('a new file to read and write, with a write-ahead log', async () => {
      const connection = await open(OPEN_READWRITE | OPEN_CREATE)
      expect(connection.filename).to.equal(file)
      expect(await all(connection, 'PRAGMA journal_mode')).to.deep.equal([{ journal_mode: 'wal' }])
      await run(connection, 'CREATE TABLE t (x)')
      expect(await run(connection, 'INSERT INTO t VALUES (7)')).to.deep.equal({ lastID: 1, changes: 1 })
    })

    it('a file to write without being asked to create it', async () => {
      other().exec('CREATE TABLE t (x)')
      const connection = await open(OPEN_READWRITE)
      expect(await run(connection, 'INSERT INTO t VALUES (7)')).to.include({ changes: 1 })
    })

    it('a file to read only', async () => {
      const writer = await open(OPEN_READWRITE | OPEN_CREATE)
      await run(writer, 'CREATE TABLE t (x)')
      await run(writer, 'INSERT INTO t VALUES (7)')
      const connection = await open(OPEN_READONLY)
      expect(await all(connection, 'SELECT x FROM t')).to.deep.equal([{ x: 7 }])
      const [code, message] = await failure(run(connection, 'INSERT INTO t VALUES (8)'))
      expect(code).to.equal('SQLITE_READONLY')
      expect(message).to.match(/^SQLITE_READONLY: /)
      expect(await all(writer, 'SELECT x FROM t')).to.deep.equal([{ x: 7 }])
    })

    it('a database in memory', async () => {
      const connection = await open(OPEN_READWRITE | OPEN_CREATE, ':memory:')
      expect(await all(connection, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }])
      expect(await all(connection, 'PRAGMA journal_mode')).to.deep.equal([{ journal_mode: 'memory' }])
    })

    it('a file to read only that keeps no write-ahead log, and leaves it so', async () => {
      const writer = other()
      writer.exec('CREATE TABLE t (x)')
      const connection = await open(OPEN_READONLY)
      expect(await all(connection, 'SELECT x FROM t')).to.deep.equal([])
      expect(writer.prepare('PRAGMA journal_mode').get()).to.include({ journal_mode: 'delete' })
    })

    it('no file to read that does not exist, and names the failure', async () =>
      expect(await failure(open(OPEN_READONLY))).to.deep.equal([
        'SQLITE_CANTOPEN',
        'SQLITE_CANTOPEN: unable to open database file',
      ]))
  })

  describe('binds', () => {
    let connection: Connection
    beforeEach(async () => {
      connection = await open(OPEN_READWRITE | OPEN_CREATE, ':memory:')
    })

    const SELECT = 'SELECT $1 AS a, $2 AS b, $3 AS c'
    const EXPECTED = [{ a: 1, b: 0, c: null }]
    it('names, truth as 1 and 0, and undefined as NULL', async () =>
      expect(await all(connection, SELECT, { $1: true, $2: false, $3: undefined })).to.deep.equal(EXPECTED))
    it('lists in the same way', async () =>
      expect(await all(connection, 'SELECT ? AS a, ? AS b, ? AS c', [true, false, undefined])).to.deep.equal(
        EXPECTED,
      ))
    it('nothing, by an empty object or none', async () => {
      expect(await all(connection, 'SELECT 1 AS a', {})).to.deep.equal([{ a: 1 }])
      for (const none of [[], [undefined]]) {
        const rows = await new Promise((resolve) => {
          const done = (_error: unknown, found: unknown) => resolve(found)
          Reflect.apply(connection.all, connection, ['SELECT 1 AS a', ...none, done])
        })
        expect(rows).to.deep.equal([{ a: 1 }])
      }
    })

    it('as many statements as it is given, and keeps the last 200 of them prepared', async () => {
      const ask = async (from: number, until: number) => {
        for (let index = from; index < until; index += 1)
          expect(await all(connection, `SELECT ${index} AS a`)).to.deep.equal([{ a: index }])
      }
      expect(await countPrepared(() => ask(0, 250))).to.equal(250)
      expect(await countPrepared(() => ask(50, 250))).to.equal(0)
      expect(await countPrepared(() => ask(49, 50))).to.equal(1)
    })
  })

  describe('names a failure by its primary code:', () => {
    let connection: Connection
    beforeEach(async () => {
      connection = await open(OPEN_READWRITE | OPEN_CREATE)
      await run(connection, 'CREATE TABLE t (x UNIQUE NOT NULL)')
      await run(connection, 'INSERT INTO t VALUES (1)')
    })

    it('a unique constraint', async () => {
      const [code, message] = await failure(run(connection, 'INSERT INTO t VALUES (1)'))
      expect(code).to.equal('SQLITE_CONSTRAINT')
      // Sequelize reads the column from the message.
      expect(message).to.equal('SQLITE_CONSTRAINT: UNIQUE constraint failed: t.x')
    })

    it('NOT NULL', async () =>
      expect(await failure(run(connection, 'INSERT INTO t VALUES (NULL)'))).to.deep.equal([
        'SQLITE_CONSTRAINT',
        'SQLITE_CONSTRAINT: NOT NULL constraint failed: t.x',
      ]))

    it('a lock that another process holds for longer than the time limit', async () => {
      await run(connection, 'PRAGMA busy_timeout = 1')
      other().exec('BEGIN IMMEDIATE')
      const [code, message] = await failure(run(connection, 'INSERT INTO t VALUES (2)'))
      expect(code).to.equal('SQLITE_BUSY')
      expect(message).to.match(/^SQLITE_BUSY: database is locked/)
    })

    it('a database that is full', async () => {
      await run(connection, 'PRAGMA max_page_count = 1')
      const [code] = await failure(run(connection, 'INSERT INTO t VALUES (?)', ['x'.repeat(1_000_000)]))
      expect(code).to.equal('SQLITE_FULL')
    })

    it('but a table that does not exist by its own message alone', async () => {
      const [, message] = await failure(run(connection, 'SELECT broken FROM nowhere'))
      // Not among those that Sequelize tells apart.
      expect(message).to.equal('no such table: nowhere')
    })

    it('several statements that share a commit', () => {
      expect(() => connection.runAll('INSERT INTO t VALUES (?)', [[2], [1]]))
        .to.throw(Error, 'SQLITE_CONSTRAINT: UNIQUE')
        .with.property('code', 'SQLITE_CONSTRAINT')
      expect(connection.runAll('SELECT x FROM t', [[]])).to.deep.equal([{ rows: [{ x: 1 }], affected: 0 }])
    })
  })

  describe('runs one statement several times', () => {
    let connection: Connection
    beforeEach(async () => {
      connection = await open(OPEN_READWRITE | OPEN_CREATE)
      await run(connection, 'CREATE TABLE t (x)')
    })

    it('and returns what each of them wrote', () => {
      const written = { rows: [], affected: 1 }
      const insert = 'INSERT INTO t VALUES (?)'
      expect(connection.runAll(insert, [[1], [2]])).to.deep.equal([written, written])
      expect(connection.runAll('SELECT x FROM t WHERE x > ?', [[1], [2]])).to.deep.equal([
        { rows: [{ x: 2 }], affected: 0 },
        { rows: [], affected: 0 },
      ])
    })

    it('or not at all, and leaves the transaction of the host as it was', async () => {
      await run(connection, 'CREATE UNIQUE INDEX once ON t (x)')
      await run(connection, 'BEGIN')
      await run(connection, 'INSERT INTO t VALUES (1)')
      expect(() => connection.runAll('INSERT INTO t VALUES (?)', [[2], [1]])).to.throw(Error, 'UNIQUE')
      await run(connection, 'COMMIT')
      expect(await all(connection, 'SELECT x FROM t')).to.deep.equal([{ x: 1 }])
    })

    it('and names the failure after which SQLite has rolled back by itself', async () => {
      await run(
        connection,
        "CREATE TRIGGER full BEFORE INSERT ON t WHEN NEW.x = 2 BEGIN SELECT RAISE(ROLLBACK, 'no more'); END",
      )
      const insert = () => connection.runAll('INSERT INTO t VALUES (?)', [[1], [2]])
      expect(insert).to.throw(Error, 'SQLITE_CONSTRAINT: no more')
      expect(await all(connection, 'SELECT x FROM t')).to.deep.equal([])
    })
  })

  describe('waits until another process has let go of its lock', () => {
    it('to open a file', async () => {
      const holder = other()
      holder.exec('CREATE TABLE t (x); BEGIN EXCLUSIVE')
      const opening = open(OPEN_READWRITE)
      holder.exec('COMMIT')
      expect(await all(await opening, 'SELECT x FROM t')).to.deep.equal([])
    })

    it('to write', async () => {
      const connection = await open(OPEN_READWRITE | OPEN_CREATE)
      const holder = other()
      holder.exec('CREATE TABLE t (x); BEGIN IMMEDIATE')
      const written = run(connection, 'INSERT INTO t VALUES (7)')
      holder.exec('COMMIT')
      expect(await written).to.include({ changes: 1 })
    })
  })

  it('blocks for twenty milliseconds at a lock, and no longer', async () => {
    const connection = await open(OPEN_READWRITE | OPEN_CREATE)
    expect(await all(connection, 'PRAGMA busy_timeout')).to.deep.equal([{ timeout: 20 }])
  })

  it('closes, and says so', async () => {
    const connection = await open(OPEN_READWRITE | OPEN_CREATE)
    opened.pop()
    expect(await all(connection, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }])
    expect(await new Promise((resolve) => connection.close(resolve))).to.equal(null)
    const [, message] = await failure(all(connection, 'SELECT 1 AS one'))
    expect(message).to.equal('database is not open')
  })
})
