/** Node's SQLite as Sequelize calls it: beside transactions of the same process, in each mode, and when it fails. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { createAdapter, createSubjectTokenStore, nodeSqlite } from '../../src/sequelize/index.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import { hashSecret, mintSecret } from '../../src/subject-tokens/secret.ts'

const ISSUER = 'https://id.example.com/oidc'
const newToken = () => ({
  id: mintId(),
  tokenHash: hashSecret(mintSecret()),
  issuer: ISSUER,
  userId: 'alice',
  context: {},
  createdBy: 'backend',
  createdAt: 1,
  expiresAt: 2,
})

describe('a SQLite that a transaction of this process has locked', () => {
  let database: Database
  beforeEach(async () => {
    database = await openDatabase('sqlite')
    await database.sequelize.query('CREATE TABLE host (a INTEGER)')
  })
  afterEach(() => database.close())

  /** Holds the lock while `meanwhile` is started, and lets go only in a later turn of the event loop. */
  const besideTransaction = async <Value>(meanwhile: () => Promise<Value>): Promise<Value> => {
    const { sequelize } = database
    const started: Promise<Value>[] = []
    await sequelize.transaction(async (transaction) => {
      await sequelize.query('INSERT INTO host VALUES (1)', { transaction })
      started.push(meanwhile())
      // Longer than Sequelize itself would try again.
      for (let step = 0; step < 40; step += 1) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        await sequelize.query('INSERT INTO host VALUES (2)', { transaction })
      }
    })
    return started[0] as Promise<Value>
  }

  it('takes a subject token when the transaction has ended', async () => {
    const store = createSubjectTokenStore(database.sequelize)
    const tokens = [newToken(), newToken()]
    await besideTransaction(() => Promise.all(tokens.map((token) => store.insert(token))))
    for (const { id, tokenHash } of tokens)
      expect(await store.findByHash(ISSUER, tokenHash)).to.have.property('id', id)
  })

  it('takes a model of the provider when the transaction has ended', async () => {
    const adapter = createAdapter(database.sequelize)('Session')
    await besideTransaction(() => adapter.upsert('id', { jti: 'id' }, 60))
    expect(await adapter.find('id')).to.deep.equal({ jti: 'id' })
  })

  it("takes a statement of the host's own when the transaction has ended", async () => {
    const { sequelize } = database
    await besideTransaction(() => sequelize.query('INSERT INTO host VALUES (3)'))
    const rows = await sequelize.query('SELECT DISTINCT a FROM host ORDER BY a', { type: QueryTypes.SELECT })
    expect(rows).to.deep.equal([1, 2, 3].map((a) => ({ a })))
  })

  it('is refused to a transaction that has read what another changed since', async () => {
    const { sequelize } = database
    const failed = sequelize.transaction(async (transaction) => {
      await sequelize.query('SELECT * FROM host', { transaction, type: QueryTypes.SELECT })
      await sequelize.query('INSERT INTO host VALUES (4)')
      await sequelize.query('INSERT INTO host VALUES (5)', { transaction })
    })
    const error: unknown = await failed.catch((thrown: unknown) => thrown)
    expect(String(error)).to.include('SQLITE_BUSY')
  })
})

describe('a SQLite file', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'impersonation-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  type Connection = InstanceType<typeof nodeSqlite.Database>
  const { OPEN_READONLY, OPEN_READWRITE, OPEN_CREATE } = nodeSqlite
  const open = (name: string, mode = OPEN_READWRITE | OPEN_CREATE): Promise<Connection> =>
    new Promise((resolve, reject) => {
      const connection = new nodeSqlite.Database(path.join(folder, name), mode, (error) =>
        error ? reject(error) : resolve(connection),
      )
    })
  const run = (connection: Connection, sql: string): Promise<unknown> =>
    new Promise((resolve) => {
      connection.run(sql, function (error) {
        resolve(error ? Reflect.get(error, 'code') : this.changes)
      })
    })
  const all = (connection: Connection, sql: string): Promise<unknown> =>
    new Promise((resolve) => {
      connection.all(sql, (error, rows) => resolve(error ? Reflect.get(error, 'code') : rows))
    })

  it('is made, unless it is opened to be read', async () => {
    const failure = await open('missing', OPEN_READONLY).catch((error: unknown) => error)
    expect(failure).to.be.an('error')
    expect(existsSync(path.join(folder, 'missing'))).to.equal(false)
    const connection = await open('made')
    expect(await run(connection, 'CREATE TABLE t (a INTEGER PRIMARY KEY)')).to.equal(0)
    connection.close()
  })

  it('that is opened to be read is not written, whatever its journal', async () => {
    const plain = new DatabaseSync(path.join(folder, 'plain'))
    plain.exec('CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)')
    plain.close()
    for (const name of ['plain', 'plain-ahead']) {
      const connection = await open('plain', OPEN_READONLY)
      expect(await all(connection, 'SELECT a FROM t')).to.deep.equal([{ a: 1 }])
      expect(await run(connection, 'INSERT INTO t VALUES (2)'), name).to.equal('SQLITE_READONLY')
      connection.close()
      const writing = await open('plain', OPEN_READWRITE)
      expect(await all(writing, 'PRAGMA journal_mode')).to.deep.equal([{ journal_mode: 'wal' }])
      writing.close()
    }
  })

  it('that is locked is opened when it is not any more', async () => {
    const holder = new DatabaseSync(path.join(folder, 'locked'))
    holder.exec('CREATE TABLE t (a INTEGER); BEGIN EXCLUSIVE')
    const opening = open('locked')
    await new Promise((resolve) => setTimeout(resolve, 1))
    holder.exec('COMMIT')
    holder.close()
    const connection = await opening
    expect(await all(connection, 'PRAGMA journal_mode')).to.deep.equal([{ journal_mode: 'wal' }])
    connection.close()
  })

  it('names its failures as the sqlite3 package does', async () => {
    const connection = await open('failures')
    await run(connection, 'CREATE TABLE t (a INTEGER PRIMARY KEY)')
    await run(connection, 'INSERT INTO t VALUES (1)')
    expect(await run(connection, 'INSERT INTO t VALUES (1)')).to.equal('SQLITE_CONSTRAINT')
    await run(connection, 'PRAGMA max_page_count = 2')
    expect(await run(connection, 'CREATE TABLE u (a)')).to.equal('SQLITE_FULL')
    expect(await run(connection, 'not a statement')).to.equal('ERR_SQLITE_ERROR')
    connection.close()
    writeFileSync(path.join(folder, 'other'), 'x'.repeat(5000))
    const error = await open('other').catch((thrown: unknown) => thrown)
    expect(error).to.be.an('error').with.property('message').that.includes('not a database')
  })
})
